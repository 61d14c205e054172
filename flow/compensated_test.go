package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// A saga is what the program of a test does after ship failed.
type saga struct {
	ran    []string
	broken bool
}

func (s *saga) do(ctx context.Context, name string, o ...step.Options) error {
	_, err := step.DoWith(ctx, name, slices.Concat(o, []step.Options{{}})[0], func(context.Context) (string, error) {
		s.ran = append(s.ran, name)
		if name == "ship" && s.broken {
			return "", errBoom
		}
		return name, nil
	})
	return err
}

func (s *saga) want(t *testing.T, want string) {
	t.Helper()
	if got := fmt.Sprint(s.ran); got != want {
		t.Fatalf("ran %s, want %s", got, want)
	}
}

// TestCompensatedStands: a failure after which the program recorded something is not made again,
// whatever error ended the run.
func TestCompensatedStands(t *testing.T) {
	for name, after := range map[string]func(context.Context, *saga, error) error{
		"returned": func(_ context.Context, _ *saga, err error) error { return err },
		"wrapped":  func(_ context.Context, _ *saga, err error) error { return fmt.Errorf("order: %w", err) },
		"another":  func(context.Context, *saga, error) error { return errors.New("refunded") },
	} {
		t.Run(name, func(t *testing.T) {
			w, s := newWorld(t), &saga{broken: true}
			a := app(w, func(ctx context.Context, _ int) (string, error) {
				if err := s.do(ctx, "charge"); err != nil {
					return "", err
				}
				if err := s.do(ctx, "ship"); err != nil {
					if err := s.do(ctx, "refund"); err != nil {
						return "", err
					}
					return "", after(ctx, s, err)
				}
				return "shipped", nil
			}, nil)
			if _, err := a.Run(t.Context(), "t", 1); err == nil {
				t.Fatal("it did not fail")
			}
			s.broken = false
			for range 3 {
				plan := must.Get(ledger.PlanResume(t.Context(), w.ledger(), "t", ""))(t)
				if len(plan.Stands) != 1 || plan.Stands[0].Name != "ship" || !plan.Stands[0].Ended || plan.Stands[0].Error != "boom" || len(plan.Stands[0].Behind) != 1 || plan.Stands[0].Behind[0].Name != "refund" {
					t.Fatalf("the plan: %+v", plan.Stands)
				}
				if got := fmt.Sprintln(len(plan.Kept), plan.Kept[0].Name, plan.Kept[1].Name, len(plan.Tried)); got != "2 charge refund 0\n" {
					t.Fatal(got)
				}
				_, err := a.Resume(t.Context(), "t")
				if err == nil {
					t.Fatal("it was done again")
				}
				if f, ok := errors.AsType[*runs.Failure](err); name != "another" && (!ok || f.Step != "ship") {
					t.Fatal(err)
				}
			}
			s.want(t, "[charge ship refund]")
		})
	}
}

// TestLastFailureIsMadeAgain: with no more than notes and results of class read after it, the
// last failure on record of a failed run does not stand.
func TestLastFailureIsMadeAgain(t *testing.T) {
	w, s := newWorld(t), &saga{broken: true}
	a := app(w, func(ctx context.Context, _ int) (string, error) {
		if err := s.do(ctx, "ship"); err != nil {
			if err := s.do(ctx, "look", step.Options{Effect: posthouse.EffectRead}); err != nil {
				return "", err
			}
			if err := step.Note(ctx, posthouse.Note{Line: "no carrier"}); err != nil {
				return "", err
			}
			return "", err
		}
		return "shipped", nil
	}, nil)
	if _, err := a.Run(t.Context(), "t", 1); err == nil {
		t.Fatal("it did not fail")
	}
	s.broken = false
	res, err := a.Resume(t.Context(), "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	s.want(t, "[ship look ship]")
}

// TestOnlyTheCodeThatHadTheError: what runs beside a failed step, or in another item, does not
// follow it. The code after the items does.
func TestOnlyTheCodeThatHadTheError(t *testing.T) {
	for _, after := range []bool{false, true} {
		w, s := newWorld(t), &saga{broken: true}
		a := app(w, func(ctx context.Context, _ int) (string, error) {
			_, err := step.Map(ctx, "item", []string{"a", "ship", "b"}, func(ctx context.Context, name string) (string, error) {
				return name, s.do(ctx, name)
			}, step.GroupOptions{Concurrency: 1})
			if err != nil && after {
				return "", errors.Join(err, s.do(ctx, "refund"))
			}
			return "", err
		}, nil)
		if _, err := a.Run(t.Context(), "t", 1); err == nil {
			t.Fatal("it did not fail")
		}
		s.broken = false
		_, err := a.Resume(t.Context(), "t")
		if (err != nil) != after {
			t.Fatal(after, err)
		}
		if want := map[bool]string{false: "[a ship b ship]", true: "[a ship b refund]"}[after]; fmt.Sprint(s.ran) != want {
			t.Fatalf("ran %v, want %s", s.ran, want)
		}
	}
}

// TestCompensatedWithinAStep: within a step, its Retry ends with the failure at once.
func TestCompensatedWithinAStep(t *testing.T) {
	w, s := newWorld(t), &saga{broken: true}
	a := app(w, func(ctx context.Context, _ int) (string, error) {
		return step.DoWith(ctx, "order", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 5, InitialDelay: time.Hour}}, func(ctx context.Context) (string, error) {
			if err := s.do(ctx, "ship"); err != nil {
				return "", errors.Join(err, s.do(ctx, "refund"))
			}
			return "shipped", nil
		})
	}, nil)
	_, err := a.Run(t.Context(), "t", 1)
	if !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	s.broken = false
	if _, err := a.Resume(t.Context(), "t"); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	s.want(t, "[ship refund]")
}

// TestFailureBehindAFallback: the run that failed later, in a step without anything after it,
// makes that step again, and not the one with the fallback.
func TestFailureBehindAFallback(t *testing.T) {
	w, s := newWorld(t), &saga{broken: true}
	finish := 0
	a := app(w, func(ctx context.Context, _ int) (string, error) {
		if err := s.do(ctx, "ship"); err != nil {
			if err := s.do(ctx, "fallback"); err != nil {
				return "", err
			}
		}
		return step.Do(ctx, "finish", func(context.Context) (string, error) {
			if finish++; finish == 1 {
				return "", errBoom
			}
			return "done", nil
		})
	}, nil)
	if _, err := a.Run(t.Context(), "t", 1); err == nil {
		t.Fatal("it did not fail")
	}
	plan := must.Get(ledger.PlanResume(t.Context(), w.ledger(), "t", ""))(t)
	if len(plan.Stands) != 1 || plan.Stands[0].Ended {
		t.Fatalf("%+v", plan.Stands)
	}
	s.broken = false
	res, err := a.Resume(t.Context(), "t")
	wantStatus(t, res, err, posthouse.StatusDone)
	s.want(t, "[ship fallback]")
}

// TestRestartOfACompensated: the way out is a restart of the step, which lists what stays done, or a
// fork. An effect that stays after the failure has to be agreed to.
func TestRestartOfACompensated(t *testing.T) {
	for _, class := range []posthouse.Effect{posthouse.EffectUnset, posthouse.EffectExternal} {
		w, s := newWorld(t), &saga{broken: true}
		a := app(w, func(ctx context.Context, _ int) (string, error) {
			if err := s.do(ctx, "charge"); err != nil {
				return "", err
			}
			if err := s.do(ctx, "ship"); err != nil {
				return "", errors.Join(err, s.do(ctx, "refund", step.Options{Effect: class}))
			}
			return "shipped", nil
		}, nil)
		if _, err := a.Run(t.Context(), "t", 1); err == nil {
			t.Fatal("it did not fail")
		}
		l := w.ledger()
		head := must.Get(l.Latest(t.Context(), ledger.LatestQuery{Thread: "t"}))(t)
		kept := class == posthouse.EffectExternal
		_, err := l.RestartStep(t.Context(), head.ID, &ledger.RestartStepOptions{DryRun: true})
		if errors.Is(err, posthouse.ErrConflict) != kept {
			t.Fatal(class, err)
		}
		plan := must.Get(l.RestartStep(t.Context(), head.ID, &ledger.RestartStepOptions{DryRun: true, KeepDone: kept}))(t)
		if plan.Checkpoint != nil || len(plan.Stands) != 1 || plan.Stands[0].Name != "ship" || plan.Stands[0].Error != "boom" || plan.Stands[0].Behind[0].Name != "refund" {
			t.Fatalf("%+v", plan)
		}
		// So says the plan of a fork from before it.
		for c, err := range a.History(t.Context(), "t") {
			if err != nil {
				t.Fatal(err)
			}
			if c.Node != "charge" {
				continue
			}
			p := must.Get(ledger.PlanFork(t.Context(), l, c.ID, nil))(t)
			if len(p.Stands) != 1 || p.Stands[0].Name != "ship" || len(p.Stands[0].Behind) != 1 || p.Stands[0].Error != "boom" {
				t.Fatalf("%+v", p.Stands)
			}
		}
		must.Get(l.RestartStep(t.Context(), head.ID, &ledger.RestartStepOptions{KeepDone: kept}))(t)
		s.broken = false
		res, err := a.Resume(t.Context(), "t")
		wantStatus(t, res, err, posthouse.StatusDone)
		want := "[charge ship refund charge ship]"
		s.want(t, want)
	}
}

// TestQuestionBehindAFailure: a question, a wait and a sleep are something after it, too.
func TestQuestionBehindAFailure(t *testing.T) {
	for name, wait := range map[string]func(context.Context) error{
		"question": func(ctx context.Context) error {
			_, err := gate.Ask[any](ctx, gate.Question{Name: "what now"})
			return err
		},
		"sleep": func(ctx context.Context) error { return step.Sleep(ctx, "rest", time.Hour) },
		"signal": func(ctx context.Context) error {
			_, err := step.Signal[string](ctx, "stock", step.SignalOptions{Timeout: time.Hour})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := newWorld(t), &saga{broken: true}
			a := app(w, func(ctx context.Context, _ int) (string, error) {
				if err := s.do(ctx, "ship"); err != nil {
					if err := wait(ctx); errors.Is(err, posthouse.ErrWaiting) {
						return "", err
					}
					return "", err
				}
				return "shipped", nil
			}, nil)
			res := must.Get(a.Run(t.Context(), "t", 1))(t)
			if name == "question" {
				approve(t, w.ledger(), res.Waiting[0].ID)
			}
			w.advance(2 * time.Hour)
			s.broken = false
			for range 2 {
				if _, err := a.Resume(t.Context(), "t"); err == nil {
					t.Fatal("it was done again")
				}
			}
			s.want(t, "[ship]")
		})
	}
}
