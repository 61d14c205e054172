package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// An answered is what a call of Claim returned.
type answered struct {
	claim *task.Claim
	err   error
	after time.Duration
}

// claimLater claims a task, and says so.
func (h *host) claimLater(session string) <-chan answered {
	out := make(chan answered, 1)
	begun := time.Now()
	go func() {
		c, err := h.d.Claim(h.Context(), session)
		out <- answered{c, err, time.Since(begun)}
	}()
	synctest.Wait()
	return out
}

// TestClaimsOfASessionAreBounded: the oldest ends when there is one more than the worker has
// room for, because its answer may not be heard.
func TestClaimsOfASessionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		w, other := h.connectFor("w1", 2), h.connectFor("w2", 1_000)
		first, second, third := h.claimLater(w), h.claimLater(w), h.claimLater(w)
		select {
		case a := <-first:
			if a.claim != nil || !errors.Is(a.err, posthouse.ErrUnavailable) || a.after != 0 {
				t.Errorf("call: %+v", a)
			}
		default:
			t.Error("the oldest claim still waits")
		}
		if len(second)+len(third) > 0 {
			t.Error("a newer claim has ended")
		}
		const most = 100
		calls := make([]<-chan answered, most+1)
		for i := range calls {
			calls[i] = h.claimLater(other)
		}
		for i, c := range calls {
			if ended := len(c) == 1; ended != (i == 0) {
				t.Errorf("call %d of %d has ended: %v", i, len(calls), ended)
			}
		}
		for i := range most + 2 {
			h.run(fmt.Sprint("t", i))
		}
		synctest.Wait()
		for _, c := range append(calls[1:], second, third) {
			if a := <-c; a.claim == nil || a.err != nil {
				t.Errorf("call: %+v", a)
			}
		}
	})
}

// TestWaitingClaimsEndWithTheirSession, whether it is ended or silent.
func TestWaitingClaimsEndWithTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, memstore.New(), runs.RemoteOptions{})
		w := h.connect("w1")
		left := h.claimLater(w)
		time.Sleep(time.Second)
		if err := h.d.Disconnect(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		silent := h.claimLater(h.connect("w2"))
		time.Sleep(5 * time.Second)
		for what, c := range map[string]<-chan answered{"left": left, "silent": silent} {
			select {
			case a := <-c:
				if a.claim != nil || !errors.Is(a.err, posthouse.ErrNotFound) {
					t.Errorf("%s: %+v", what, a)
				}
			default:
				t.Errorf("the claim of a worker that is %s still waits", what)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		h.run("t")
		if c, err := h.d.Claim(ctx, h.connect("w3")); c != nil || !errors.Is(err, gone) {
			t.Errorf("a call that nobody waits for: %+v, %v", c, err)
		}
	})
}
