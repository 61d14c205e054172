package threads

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
)

// TestResumeWaits for a thread that is busy, for as long as it is told to.
func TestResumeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := time.Now().Add(10 * time.Second)
		resume := func() error {
			if time.Now().Before(free) {
				return &posthouse.Error{Code: posthouse.CodeBusy, Message: "busy"}
			}
			return nil
		}
		for _, wait := range []time.Duration{0, 5 * time.Second} {
			begun := time.Now()
			if err := untilFree(t.Context(), wait, resume); !errors.Is(err, posthouse.ErrBusy) || time.Since(begun) != wait {
				t.Errorf("%s: %v after %s", wait, err, time.Since(begun))
			}
		}
		if err := untilFree(t.Context(), time.Minute, resume); err != nil || time.Since(free) > time.Second {
			t.Errorf("%v at %s", err, time.Now())
		}
		ctx, cancel := context.WithCancel(t.Context())
		free = time.Now().Add(time.Hour)
		time.AfterFunc(time.Second, cancel)
		if err := untilFree(ctx, time.Hour, resume); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := untilFree(t.Context(), -1, resume); !errors.Is(err, posthouse.ErrInvalid) {
			t.Error(err)
		}
	})
}
