package coord

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/runs"
)

func ended(h *Handle) bool {
	select {
	case <-h.Done():
		return true
	default:
		return false
	}
}

// TestHandle are the cases of Atmosphere's ExecutionHandleTest.
func TestHandle(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name   string
		do     func(h *Handle)
		reason runs.Reason
		err    error
		native int // how often what is in flight is told to stop
	}{
		{"nothing yet", func(*Handle) {}, runs.Running, nil, 0},
		{"cancel", func(h *Handle) { h.Cancel() }, runs.Cancelled, nil, 1},
		{"cancel twice", func(h *Handle) { h.Cancel(); h.Cancel() }, runs.Cancelled, nil, 1},
		{"complete", func(h *Handle) { h.finish(nil) }, runs.Done, nil, 0},
		{"fail", func(h *Handle) { h.finish(boom) }, runs.Failed, boom, 0},
		{"cancel what is done", func(h *Handle) { h.finish(nil); h.Cancel() }, runs.Done, nil, 0},
		{"cancel what failed", func(h *Handle) { h.finish(boom); h.Cancel() }, runs.Failed, boom, 0},
		{"complete late", func(h *Handle) { h.Cancel(); h.finish(nil) }, runs.Cancelled, nil, 1},
		{"fail late", func(h *Handle) { h.Cancel(); h.finish(boom) }, runs.Cancelled, nil, 1},
		{"the first failure", func(h *Handle) { h.finish(boom); h.finish(nil) }, runs.Failed, boom, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := NewHandle()
				ctx, free := h.bind(t.Context())
				defer free()
				var native atomic.Int32
				context.AfterFunc(ctx, func() {
					if session.IsCancelled(ctx) {
						native.Add(1)
					}
				})
				c.do(h)
				synctest.Wait()
				if h.Reason() != c.reason || !errors.Is(h.Err(), c.err) || ended(h) != (c.reason != runs.Running) {
					t.Errorf("reason %q, error %v, ended %v", h.Reason(), h.Err(), ended(h))
				}
				if n := int(native.Load()); n != c.native {
					t.Errorf("told to stop %d times, want %d", n, c.native)
				}
			})
		})
	}
}

// TestHandleHasOneReason, whoever races for it.
func TestHandleHasOneReason(t *testing.T) {
	for range 200 {
		h := NewHandle()
		var first atomic.Int32
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				if i%2 == 0 {
					h.Cancel()
				} else if h.finish(nil) {
					first.Add(1)
				}
			})
		}
		wg.Wait()
		if want := map[runs.Reason]int32{runs.Done: 1, runs.Cancelled: 0}[h.Reason()]; first.Load() != want || !ended(h) {
			t.Fatalf("%q, and %d completions were told they were first", h.Reason(), first.Load())
		}
	}
}

// TestHandleCancelledBeforeItBegan keeps it from beginning.
func TestHandleCancelledBeforeItBegan(t *testing.T) {
	h := NewHandle()
	h.Cancel()
	ctx, free := h.bind(t.Context())
	defer free()
	if !session.IsCancelled(ctx) || !errors.Is(context.Cause(ctx), posthouse.ErrCancelled) {
		t.Error(context.Cause(ctx))
	}
	var none *Handle
	ctx, free = none.bind(t.Context())
	defer free()
	if ctx != t.Context() || none.finish(nil) {
		t.Error("nobody's handle did something")
	}
}
