package coord_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A blocking agent tells when it was called and answers when it is cancelled.
func blocking(name string, began chan<- struct{}) coord.Agent {
	return coord.Agent{Name: name, Skills: map[string]coord.Skill{"do": func(ctx context.Context, c coord.Call) (coord.Result, error) {
		close(began)
		<-ctx.Done()
		return coord.Result{}, context.Cause(ctx)
	}}}
}

func withAgents(tb testing.TB, w *world, name string, more ...coord.Agent) *coord.Fleet {
	tb.Helper()
	return must.Get(coord.NewFleet(append(more, coord.Agent{Name: name, Skills: map[string]coord.Skill{"do": w.skill(name)}})...))(tb)
}

// cancelled is the reply to a request that is cancelled once an agent has begun.
func cancelled(t *testing.T, c *coord.Coordinator, h *coord.Handle, began chan struct{}, cancel func() error) *coord.Reply {
	t.Helper()
	failed := make(chan error)
	go func() {
		<-began
		failed <- cancel()
	}()
	p, err := c.Handle(t.Context(), "refund", &coord.HandleOptions{Thread: "order-1", Handle: h})
	must.Fail(t, err, posthouse.ErrCancelled)
	if e := <-failed; e != nil {
		t.Fatal(e)
	}
	return p
}

// TestCancelledRequestLeavesNothing if no agent completed, whoever cancels it.
func TestCancelledRequestLeavesNothing(t *testing.T) {
	for name, cancel := range map[string]func(*ledger.Ledger, *coord.Handle) error{
		"by its handle": func(_ *ledger.Ledger, h *coord.Handle) error { h.Cancel(); return nil },
		"by its thread": func(l *ledger.Ledger, _ *coord.Handle) error {
			_, err := l.Cancel(context.Background(), "order-1", nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, h, began := newLedger(t), coord.NewHandle(), make(chan struct{})
			f := withAgents(t, &world{}, "other", blocking("analyzer", began))
			c := coordinator(t, l, f, func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
				_, err := call(ctx, f, "analyzer", m)
				return err
			})
			p := cancelled(t, c, h, began, func() error { return cancel(l, h) })
			if p.Status != posthouse.StatusCancelled || p.Checkpoint != "" {
				t.Errorf("the reply is %+v", p)
			}
			<-h.Done()
			if _, err := l.Thread(t.Context(), "order-1"); !errors.Is(err, posthouse.ErrNotFound) {
				t.Errorf("something is on record: %v", log(t, l, "order-1"))
			}
			// The thread is free for another request.
			must.Get(l.Claim(t.Context(), "order-1", "r"))(t)
		})
	}
}

// TestCancelledRequestKeepsWhatCompleted, ends its branch and stays ended.
func TestCancelledRequestKeepsWhatCompleted(t *testing.T) {
	for name, cancel := range map[string]func(*ledger.Ledger, *coord.Handle) error{
		"by its handle": func(_ *ledger.Ledger, h *coord.Handle) error { h.Cancel(); h.Cancel(); return nil },
		"by its thread": func(l *ledger.Ledger, _ *coord.Handle) error {
			_, err := l.Cancel(context.Background(), "order-1", &ledger.CancelOptions{Reason: "enough", By: "alice"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, h, began := newLedger(t), coord.NewHandle(), make(chan struct{})
			w := &world{}
			c := coordinator(t, l, withAgents(t, w, "analyzer", blocking("approver", began)), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
				if _, err := call(ctx, f, "analyzer", m); err != nil {
					return err
				}
				_, err := call(ctx, f, "approver", m)
				return err
			})
			p := cancelled(t, c, h, began, func() error { return cancel(l, h) })
			if p.Status != posthouse.StatusCancelled || p.Checkpoint == "" {
				t.Errorf("the reply is %+v", p)
			}
			list := checkpoints(t, l, posthouse.Query{Thread: "order-1"})
			if n := len(list); n < 2 || list[n-1] != "cancel analyzer cancelled <"+string(rune('0'+n-2)) {
				t.Errorf("checkpoints: %q", list)
			}
			again := must.Get(c.Resume(t.Context(), "order-1", nil))(t)
			if again.Status != posthouse.StatusCancelled || again.Checkpoint != p.Checkpoint || len(w.calls) != 1 {
				t.Errorf("resumed to %+v after %v", again, w.calls)
			}
		})
	}
}

// TestCancelledCallIsAFailure that the handler sees and may go on from; it is
// the same when the request is executed again.
func TestCancelledCallIsAFailure(t *testing.T) {
	l, w := newLedger(t), &world{}
	began := make(chan struct{})
	h := coord.NewHandle()
	var seen []string
	c := coordinator(t, l, withAgents(t, w, "fallback", blocking("slow", began)), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		res, err := f.Agent("slow").CallWith(ctx, "do", nil, &coord.CallOptions{Handle: h})
		if err != nil {
			return err
		}
		seen = append(seen, res.Text)
		if res.Success {
			t.Error("a cancelled call is a success")
		}
		res, err = call(ctx, f, "fallback", m)
		if err != nil {
			return err
		}
		if d, err := ask(ctx, "ok?"); err != nil || d.Verdict != posthouse.Approve {
			return err
		}
		return coord.Conclude(ctx, res)
	})
	go func() {
		<-began
		h.Cancel()
	}()
	p := must.Get(c.Handle(t.Context(), "refund", &coord.HandleOptions{Thread: "order-1"}))(t)
	if h.Reason() != runs.Cancelled || p.Status != posthouse.StatusWaiting {
		t.Fatalf("%q, %+v", h.Reason(), p)
	}
	decide(t, l, p.Gate, posthouse.Approve, "alice")
	p = must.Get(c.Resume(t.Context(), "order-1", nil))(t)
	if p.Status != posthouse.StatusDone {
		t.Errorf("%+v", p)
	}
	wantList(t, "what the handler saw", seen, "the call was cancelled", "the call was cancelled")
	wantList(t, "agents that ran", w.calls, "fallback")
}

// TestHandleTellsTheEnd of what was not cancelled.
func TestHandleTellsTheEnd(t *testing.T) {
	l, w := newLedger(t), &world{fail: map[string]error{"bad": errors.New("no")}}
	c := coordinator(t, l, w.fleet(t, "good", "bad"), func(ctx context.Context, m string, f *coord.Fleet, s *coord.Session) error {
		calls := map[string]runs.Reason{"good": runs.Done, "bad": runs.Failed}
		for _, agent := range []string{"good", "bad"} {
			h := coord.NewHandle()
			if _, err := f.Agent(agent).CallWith(ctx, "do", nil, &coord.CallOptions{Handle: h}); err != nil {
				return err
			}
			if h.Cancel(); h.Reason() != calls[agent] {
				t.Errorf("%s ended %q", agent, h.Reason())
			}
		}
		if m == "fail" {
			return errors.New("as asked")
		}
		return coord.Conclude(ctx, coord.Result{Text: "fine"})
	})
	for message, want := range map[string]runs.Reason{"go": runs.Done, "fail": runs.Failed} {
		h := coord.NewHandle()
		_, err := c.Handle(t.Context(), message, &coord.HandleOptions{Handle: h})
		if h.Reason() != want || (err != nil) != (want == runs.Failed) || h.Err() != err {
			t.Errorf("%s ended %q with %v", message, h.Reason(), err)
		}
	}
	h := coord.NewHandle()
	h.Cancel()
	_, err := c.Handle(t.Context(), "go", &coord.HandleOptions{Handle: h})
	must.Fail(t, err, posthouse.ErrCancelled)
	if n := len(w.calls); n != 4 {
		t.Errorf("%d calls: a cancelled request began", n)
	}
}
