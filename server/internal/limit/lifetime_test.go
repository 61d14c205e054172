package limit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
)

// TestCloseWaitsForWhatEntered: Close ends Context at once and Work with its own context, and
// returns once all is over. After it nothing enters.
func TestCloseWaitsForWhatEntered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLifetime()
		leave, err := l.Enter()
		if err != nil {
			t.Fatalf("entering: %v", err)
		}
		l.Go(func() { <-l.Work().Done() })
		bound, stop := l.Bound(t.Context())
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		closed := make(chan error, 1)
		go func() { closed <- l.Close(ctx) }()
		synctest.Wait()
		if l.Context().Err() == nil || bound.Err() == nil {
			t.Error("Close did not end the context")
		}
		if l.Work().Err() != nil {
			t.Error("Close ended the work before its time was over")
		}
		if _, err := l.Enter(); !errors.Is(err, posthouse.ErrClosed) {
			t.Errorf("entering after Close: %v, want closed", err)
		}
		l.Go(func() { t.Error("something was started after Close") })
		cancel()
		synctest.Wait()
		if l.Work().Err() == nil {
			t.Error("the work goes on after Close's time is over")
		}
		if len(closed) != 0 {
			t.Error("Close did not wait for what entered")
		}
		leave()
		if err := <-closed; !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v, want the error of its context", err)
		}
	})
}
