package step_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

var atOnce = posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}

func TestRetryWithinItsBudget(t *testing.T) {
	for _, tc := range []struct {
		failures int
		runs     string
		err      error
	}{{0, "map[a:1]", nil}, {2, "map[a:3]", nil}, {3, "map[a:3]", errBoom}} {
		h, r := newHost(t), ran{}
		err := h.run(func(ctx context.Context) error {
			v, err := step.DoWith(ctx, "a", step.Options{Retry: atOnce}, func(context.Context) (string, error) {
				if r.add("a") <= tc.failures {
					return "", errBoom
				}
				return "done", nil
			})
			if err == nil && v != "done" {
				t.Error(v)
			}
			return err
		})
		if !errors.Is(err, tc.err) || tc.err == nil && err != nil {
			t.Errorf("%d failures: %v", tc.failures, err)
		}
		r.want(t, tc.runs)
	}
}

// A budget that is spent stays spent: executed again the step has one try.
func TestRetryBudgetIsOnRecord(t *testing.T) {
	h, r := newHost(t), ran{}
	for range 2 {
		err := h.run(func(ctx context.Context) error {
			_, err := step.DoWith(ctx, "a", step.Options{Retry: atOnce}, func(context.Context) (int, error) {
				r.add("a")
				return 0, errBoom
			})
			return err
		})
		if !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
	}
	r.want(t, "map[a:4]")
}

// The step's next attempt is made when it is due, in whatever process, and not
// before.
func TestRetryWaitSurvivesARestart(t *testing.T) {
	ctx, now := context.Background(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	store, r := memstore.New(), ran{}
	attempt := func() (*session.Session, *engine.Task, *ledger.Ledger, error) {
		l, err := ledger.Open(store, &ledger.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.Begin(ctx, l, session.Options{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if s.Head() == nil {
			if _, err := s.Commit(ctx, &ledger.Draft{Checkpoint: &posthouse.Change{Status: posthouse.StatusRunning}}); err != nil {
				t.Fatal(err)
			}
		}
		task, err := engine.TaskWithKey(ctx, s, s.Key("work"), false)
		if err != nil {
			t.Fatal(err)
		}
		_, err = step.DoWith(task.With(ctx), "a", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 4, InitialDelay: time.Hour, MaxDelay: -1, Backoff: posthouse.Linear}}, func(context.Context) (int, error) {
			if r.add("a") < 3 {
				return 0, errBoom
			}
			return 7, nil
		})
		return s, task, l, err
	}
	for _, wait := range []time.Duration{time.Hour, 2 * time.Hour} {
		s, task, _, err := attempt()
		if !errors.Is(err, posthouse.ErrWaiting) || len(task.Gates().New()) != 1 {
			t.Fatal(err)
		}
		q := task.Gates().New()[0]
		if q.Kind != posthouse.GateTimer || !q.ExpiresAt.Equal(now.Add(wait)) {
			t.Fatalf("%+v", q)
		}
		if _, err := s.Commit(ctx, &ledger.Draft{
			Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: task.Gates().New(),
		}); err != nil {
			t.Fatal(err)
		}
		s.End(ctx)
		now = now.Add(wait - time.Millisecond)
		s, task, _, err = attempt()
		if !errors.Is(err, posthouse.ErrWaiting) || len(task.Gates().Open()) != 1 {
			t.Fatal("it did not wait on:", err)
		}
		s.End(ctx)
		now = now.Add(time.Millisecond)
	}
	s, _, _, err := attempt()
	if err != nil {
		t.Fatal(err)
	}
	s.End(ctx)
	r.want(t, "map[a:3]")
}

// Steps recorded within a step are not repeated: its next attempt finds them, in
// the same process as after a restart.
func TestRetryKeepsNestedSteps(t *testing.T) {
	for _, restart := range []bool{false, true} {
		h, r := newHost(t), ran{}
		program := func(ctx context.Context) error {
			v, err := step.DoWith(ctx, "a", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: -1}, RetryOn: func(error) bool { return !restart }}, func(ctx context.Context) (int, error) {
				sum := 0
				for range 2 {
					n, err := step.Do(ctx, "charge", func(context.Context) (int, error) { return r.add("charge"), nil })
					if err != nil {
						return 0, err
					}
					sum = sum*10 + n
				}
				if r.add("a") == 1 {
					return 0, errBoom
				}
				return sum, nil
			})
			if err == nil && v != 12 {
				t.Errorf("the charges are %d", v)
			}
			return err
		}
		err := h.run(program)
		if restart {
			if !errors.Is(err, errBoom) {
				t.Fatal(err)
			}
			err = h.run(program)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.want(t, "map[a:2 charge:2]")
	}
}

func TestRetryOnlyWhatIsWorthIt(t *testing.T) {
	for name, fn := range map[string]func(context.Context) (int, error){
		"panic":   func(context.Context) (int, error) { panic("no") },
		"invalid": func(context.Context) (int, error) { return 0, &posthouse.Error{Code: posthouse.CodeInvalid} },
		"waiting": func(ctx context.Context) (int, error) {
			task, _ := engine.From(ctx)
			_, err := task.Gates().Ask(ctx, posthouse.Gate{Name: "ok"})
			return 0, err
		},
	} {
		h, r := newHost(t), ran{}
		err := h.run(func(ctx context.Context) error {
			_, err := step.DoWith(ctx, "a", step.Options{Retry: atOnce}, func(ctx context.Context) (int, error) {
				r.add("a")
				return fn(ctx)
			})
			return err
		})
		if err == nil {
			t.Error(name, "is no error")
		}
		r.want(t, "map[a:1]")
	}
}

func TestTimeoutEndsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, r := newHost(t), ran{}
		release := make(chan struct{})
		for _, tc := range []struct {
			name      string
			fn        func(context.Context) (int, error)
			abandoned bool
		}{
			{"heeds", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }, false},
			{"does not heed", func(context.Context) (int, error) { <-release; return 1, nil }, true},
		} {
			err := h.run(func(ctx context.Context) error {
				_, err := step.DoWith(ctx, tc.name, step.Options{Timeout: time.Minute, Retry: atOnce}, func(ctx context.Context) (int, error) {
					r.add(tc.name)
					return tc.fn(ctx)
				})
				return err
			})
			var late *step.TimeoutError
			if !errors.As(err, &late) || late.Abandoned != tc.abandoned || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tc.name) {
				t.Errorf("tc.name %v, error %v", tc.name, err)
			}
		}
		close(release)
		r.want(t, "map[does not heed:3 heeds:3]")
	})
}

func TestBadRetry(t *testing.T) {
	if err := newHost(t).run(func(ctx context.Context) error {
		for _, o := range []step.Options{{Retry: posthouse.RetryPolicy{MaxAttempts: -1}}, {Retry: posthouse.RetryPolicy{Jitter: 2}}} {
			if _, err := step.DoWith(ctx, "a", o, func(context.Context) (int, error) { return 1, nil }); !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("%+v: %v", o, err)
			}
		}
		long := strings.Repeat("n", 195)
		_, err := step.DoWith(ctx, long, step.Options{Retry: atOnce}, func(context.Context) (int, error) { return 1, nil })
		if err != nil {
			t.Error("there is room for the names of its attempts:", err)
		}
		_, err = step.Do(ctx, strings.Repeat("m", 195), func(context.Context) (int, error) { return 1, nil })
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
