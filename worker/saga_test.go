package worker_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/worker"
)

var errNoStock = errors.New("no stock")

// shipOrRefund charges, ships and, if that fails, refunds. It returns the error of ship.
func shipOrRefund(c *tally) worker.Handler {
	return func(t worker.Task) error {
		ctx := t.Context()
		if _, err := c.do(ctx, "charge"); err != nil {
			return err
		}
		_, err := step.Do(ctx, "ship", func(context.Context) (int, error) {
			if c.add("ship") > 1 {
				return 1, nil
			}
			return 0, errNoStock
		})
		if err == nil {
			return t.Complete("shipped")
		}
		if _, failed := c.do(ctx, "refund"); failed != nil {
			return failed
		}
		return err
	}
}

func quickly() runs.RemoteOptions {
	return runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: time.Millisecond}}}
}

// TestCompensatedSagaIsNotDoneAgain: what the handler acted after stands, and no attempt follows.
func TestCompensatedSagaIsNotDoneAgain(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) posthouse.Store{
		"memory": func(*testing.T) posthouse.Store { return memstore.New() },
		"sqlite": func(t *testing.T) posthouse.Store {
			s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiteOver(t, open(t), quickly())
			var c tally
			s.work(s.d, "w1", shipOrRefund(&c))
			_, err := s.outcome("t")
			var failed *runs.RemoteError
			if !errors.As(err, &failed) || failed.Attempts != 1 || !strings.Contains(failed.Reason, errNoStock.Error()) {
				t.Errorf("the program has %v", err)
			}
			if c.of("charge") != 1 || c.of("ship") != 1 || c.of("refund") != 1 {
				t.Errorf("it charged, shipped and refunded %d, %d and %d times", c.of("charge"), c.of("ship"), c.of("refund"))
			}
		})
	}
}

// TestFailureThatNothingFollowsIsTriedAgain: the step is made again in the next attempt, also where
// only something was read after it, or what followed failed itself.
func TestFailureThatNothingFollowsIsTriedAgain(t *testing.T) {
	for name, after := range map[string]func(context.Context) error{
		"nothing": func(context.Context) error { return nil },
		"a look": func(ctx context.Context) error {
			_, err := step.DoWith(ctx, "look", step.Options{Effect: posthouse.EffectRead}, func(context.Context) (int, error) { return 1, nil })
			return err
		},
		"a failed refund": func(ctx context.Context) error {
			_, _ = step.Do(ctx, "refund", func(context.Context) (int, error) { return 0, errors.New("busy") })
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, quickly())
				var c tally
				s.work(s.d, "w1", func(w worker.Task) error {
					ctx := w.Context()
					_, err := step.Do(ctx, "ship", func(context.Context) (int, error) {
						if c.add("ship") < 3 {
							return 0, errNoStock
						}
						return 7, nil
					})
					if err != nil {
						return errors.Join(err, after(ctx))
					}
					return w.Complete("shipped")
				})
				if out, err := s.outcome("t"); err != nil || out != "shipped" || c.of("ship") != 3 {
					t.Errorf("%v, %v after %d calls", out, err, c.of("ship"))
				}
			})
		})
	}
}

// TestFailureStandsInTheNextAttempt: a worker that goes on after a failure and then fails otherwise is
// given that failure again.
func TestFailureStandsInTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, quickly())
		var c tally
		s.work(s.d, "w1", func(w worker.Task) error {
			ctx := w.Context()
			_, err := step.Do(ctx, "ship", func(context.Context) (int, error) { return c.add("ship"), errNoStock })
			if !errors.Is(err, errNoStock) {
				t.Errorf("attempt %d has the error %v", w.Attempt(), err)
			}
			if _, err := c.do(ctx, "by mail"); err != nil {
				return err
			}
			_, err = step.Do(ctx, "tell", func(context.Context) (int, error) {
				if c.add("tell") == 1 {
					return 0, errors.New("busy")
				}
				return 1, nil
			})
			if err != nil {
				return err
			}
			return w.Complete("by mail")
		})
		if out, err := s.outcome("t"); err != nil || out != "by mail" || c.of("ship") != 1 || c.of("by mail") != 1 || c.of("tell") != 2 {
			t.Errorf("%v, %v: %v", out, err, c.n)
		}
	})
}
