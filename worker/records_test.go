package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/worker"
)

// A tally counts what handlers did, by name.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
	return c.n[what]
}

func (c *tally) of(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[what]
}

// do is a recorded step that counts how often it is done.
func (c *tally) do(ctx context.Context, name string) (int, error) {
	return step.Do(ctx, name, func(context.Context) (int, error) { return c.add(name), nil })
}

// TestRecordedSteps come back in the next attempt, also at another worker. Each iteration has
// steps of its own, and two calls of one name are two steps.
func TestRecordedSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{InitialDelay: time.Millisecond}}})
		var c tally
		s.work(s.d, "w1", func(w worker.Task) error {
			first, err := c.do(w.Context(), "plan")
			if err != nil {
				return err
			}
			second, err := c.do(w.Context(), "plan")
			if err != nil {
				return err
			}
			if c.add("execution")%2 == 1 {
				return errors.New("no route")
			}
			if w.Iteration() < 2 {
				return w.Continue(second)
			}
			return w.Complete([]int{first, second})
		})
		out, err := s.outcome("t")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(out); got != "[5 6]" || c.of("plan") != 6 || c.of("execution") != 6 {
			t.Errorf("%s; %v", got, c.n)
		}
	})
}

// TestAQuestionInAHandler parks the task. The answer runs the handler again, with its slot and
// its steps, and an answered question is not asked again.
func TestAQuestionInAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		var c tally
		s.work(s.d, "w1", func(w worker.Task) error {
			c.add("execution")
			if _, err := c.do(w.Context(), "plan"); err != nil {
				return err
			}
			if _, _, err := worker.Load[int](w); err != nil {
				return err
			}
			if err := worker.Save(w, c.of("execution")); err != nil {
				return err
			}
			a, err := gate.Ask[struct{}](w.Context(), gate.Question{Name: "ship", Text: "Ship it?", Expires: time.Hour})
			if err != nil {
				return err
			}
			b, err := gate.Ask[struct{}](w.Context(), gate.Question{Name: "ship", Text: "Really?"})
			if err != nil {
				return err
			}
			saved, _, err := worker.Load[int](w)
			if err != nil {
				return err
			}
			return w.Complete(fmt.Sprint(a.By, b.By, saved))
		})
		decided := make(chan struct{})
		go func() {
			defer close(decided)
			for _, by := range []string{"alice", "bob"} {
				var g *posthouse.Gate
				for g == nil {
					<-time.After(50 * time.Millisecond)
					for o, err := range s.l.Gates(t.Context(), ledger.GateQuery{Thread: "t"}) {
						if err != nil {
							t.Error(err)
							return
						}
						g = o
					}
				}
				if by == "alice" {
					if left := time.Until(g.ExpiresAt); g.Text != "Ship it?" || left > time.Hour || left < 59*time.Minute {
						t.Errorf("%+v", g)
					}
				}
				if _, err := s.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: by}); err != nil {
					t.Error(err)
					return
				}
			}
		}()
		out, err := s.outcome("t")
		<-decided
		if err != nil || out != "alicebob3" || c.of("plan") != 1 || c.of("execution") != 3 {
			t.Errorf("%v, %v; %v", out, err, c.n)
		}
	})
}

// TestWaitSignal takes signals that come while the task is parked, and those that came before.
func TestWaitSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		s.work(s.d, "w1", func(w worker.Task) error {
			first, err := w.WaitSignal("paid", 0)
			if err != nil {
				return err
			}
			second, err := step.Signal[int](w.Context(), "paid", step.SignalOptions{})
			if err != nil {
				return err
			}
			_, err = w.WaitSignal("never", time.Minute)
			if !errors.Is(err, posthouse.ErrExpired) {
				return err
			}
			return w.Complete(fmt.Sprint(string(first), second))
		})
		go func() {
			<-time.After(time.Second)
			for n := range 2 {
				if _, err := s.l.Signal(t.Context(), "t", posthouse.Signal{Name: "paid", Value: []byte(fmt.Sprint(n + 1))}); err != nil {
					t.Error(err)
				}
			}
		}()
		if out, err := s.outcome("t"); err != nil || out != "1 2" && out != "12" {
			t.Errorf("output %v, error %v", out, err)
		}
	})
}

// TestBadRecordsOfHandlersAreRefused: each is refused with a reason, and fails no thread.
func TestBadRecordsOfHandlersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		once := func(context.Context) (int, error) { return 1, nil }
		var said []error
		s.work(s.d, "w1", func(w worker.Task) error {
			_, named := step.Do(w.Context(), "a>b", once)
			_, retried := step.DoWith(w.Context(), "a", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 3}}, once)
			_, nested := step.Do(w.Context(), "a", func(ctx context.Context) (int, error) { return step.Do(ctx, "b", once) })
			_, auto := gate.Ask[int](w.Context(), gate.Question{Name: "q", Text: "?", Auto: &gate.Auto{}})
			said = []error{named, retried, nested, auto}
			return w.Complete(nil)
		})
		if _, err := s.outcome("t"); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"step", "retry", "step", "Auto"} {
			var e *posthouse.Error
			if !errors.As(said[i], &e) || e.Field != want || e.Code != posthouse.CodeUnsupported && e.Code != posthouse.CodeInvalid {
				t.Errorf("%s: said[i] %v", want, said[i])
			}
		}
	})
}

// TestAQuestionThatDoesNotFit fails the attempt, with the reason.
func TestAQuestionThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1}}})
		s.work(s.d, "w1", func(w worker.Task) error {
			_, err := gate.Ask[int](w.Context(), gate.Question{Name: "q", Text: "?"}) // no validator here
			return err
		})
		_, err := s.outcome("t")
		var failed *runs.RemoteError
		if !errors.As(err, &failed) || !strings.Contains(failed.Reason, "schema") {
			t.Errorf("%v", err)
		}
	})
}
