package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// TestRetryAfter: the next attempt begins when the handler says, by the verb or by its error,
// within the bounds, and knows why there is one.
func TestRetryAfter(t *testing.T) {
	busy := errors.New("busy")
	cases := []struct {
		end    func(t worker.Task) error
		after  time.Duration
		reason string
	}{
		{func(t worker.Task) error { return t.RetryAfter(busy, 10*time.Minute) }, 10 * time.Minute, "busy"},
		{func(worker.Task) error { return fmt.Errorf("still %w", worker.RetryAfter(busy, 20*time.Minute)) }, 20 * time.Minute, "still busy"},
		{func(t worker.Task) error { return t.RetryAfter(busy, 200*time.Hour) }, task.MaxRetry, "busy"},
		{func(worker.Task) error { return worker.RetryAfter(busy, 200*time.Hour) }, task.MaxRetry, "busy"},
		{func(t worker.Task) error { return t.RetryAfter(nil, time.Nanosecond) }, task.MinRetry, "no reason was given"},
		{func(worker.Task) error { return worker.RetryAfter(busy, -time.Hour) }, task.MinRetry, "busy"},
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: len(cases) + 1, InitialDelay: 24 * time.Hour, MaxDelay: 24 * time.Hour}}})
		var began []time.Time
		var failures []string
		s.work(s.d, "w1", func(t worker.Task) error {
			began, failures = append(began, time.Now()), append(failures, t.LastFailure())
			if n := len(began); n != t.Attempt() {
				return t.FailPermanent(fmt.Errorf("execution %d is attempt %d", n, t.Attempt()))
			}
			if len(began) > len(cases) {
				return t.Complete("done")
			}
			return cases[len(began)-1].end(t)
		})
		if out, err := s.outcome("t"); err != nil || out != "done" {
			t.Fatalf("output %v, error %v", out, err)
		}
		for i, c := range cases {
			if d := began[i+1].Sub(began[i]); d < c.after || d > c.after+2*time.Second || failures[i+1] != c.reason {
				t.Errorf("%d: the next attempt began after %s, with %q; want %s and %q", i, d, failures[i+1], c.after, c.reason)
			}
		}
		if worker.RetryAfter(nil, time.Hour) != nil || worker.Permanent(nil) != nil {
			t.Error("no error is one")
		}
	})
}

// TestHeartbeat says nil for as long as the worker has the task, however long that is, and
// then why it has it no more.
func TestHeartbeat(t *testing.T) {
	for name, c := range map[string]struct {
		limits posthouse.TaskLimits
		lose   func(s *site) error // once the handler runs
		want   error
	}{
		"the task is kept":        {want: nil},
		"the thread is cancelled": {lose: cancelled, want: worker.ErrLost},
		"the time is over":        {limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1}, Timeout: 30 * time.Second}, want: worker.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, runs.RemoteOptions{Limits: c.limits})
				begun, ended := make(chan struct{}), make(chan error, 1)
				s.work(s.d, "w1", func(t worker.Task) error {
					close(begun)
					for range 600 { // 60 s, twenty leases
						if err := t.Heartbeat(); err != nil {
							if context.Cause(t.Context()) != err {
								err = fmt.Errorf("%w, the context says %v", err, context.Cause(t.Context()))
							}
							ended <- err
							return err
						}
						<-time.After(100 * time.Millisecond)
					}
					ended <- nil
					return t.Complete(t.Attempt())
				})
				res, err := s.app.Run(t.Context(), "t", 7)
				if err != nil {
					t.Fatal(err)
				}
				<-begun
				at := time.Now()
				if c.lose != nil {
					if err := c.lose(s); err != nil {
						t.Fatal(err)
					}
				}
				if err := <-ended; err != c.want {
					t.Errorf("%v, want %v", err, c.want)
				}
				if took := time.Since(at); c.want == worker.ErrLost && took > 3*time.Second || c.want == worker.ErrTimeout && took > 31*time.Second {
					t.Errorf("it said so after %s", took)
				}
				if c.want == nil {
					if out, err := s.output(res); err != nil || fmt.Sprint(out) != "1" {
						t.Errorf("output %v, error %v", out, err)
					}
				}
			})
		})
	}
}

func cancelled(s *site) error {
	_, err := s.l.Cancel(s.Context(), "t", &ledger.CancelOptions{By: "alice"})
	return err
}

// TestHandlerKnowsItsTaskAndAttempt: which task it has, the same in all its attempts, pauses and
// iterations, and which of these it is.
func TestHandlerKnowsItsTaskAndAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meta, trace := map[string]string{"tenant": "42"}, map[string]string{"traceparent": "00-1-2-01"}
		s := newSite(t, runs.RemoteOptions{Metadata: meta, Trace: trace})
		var which, same []string
		s.work(s.d, "w1", func(t worker.Task) error {
			same = append(same, fmt.Sprintf("%s %s %s %s %s %v %v %v", t.TaskName(), t.RunID(), t.StepID(), t.Key(), t.Input(), t.Metadata(), t.Trace(), t.Context().Err()))
			which = append(which, fmt.Sprintf("%d.%d %q %q %s", t.Iteration(), t.Attempt(), t.Resumed(), t.LastFailure(), t.Continued()))
			switch len(which) {
			case 1:
				return t.Fail(errors.New("no route"))
			case 2:
				return t.Pause("nap", time.Minute)
			case 3:
				return t.Continue([]int{1})
			case 4:
				return t.Fail(errors.New("again"))
			}
			return t.Complete("done")
		})
		if out, err := s.outcome("thread-1"); err != nil || out != "done" {
			t.Fatalf("output %v, error %v", out, err)
		}
		if want := []string{`0.1 "" "" `, `0.2 "" "no route" `, `0.2 "nap" "no route" `, `1.1 "" "" [1]`, `1.2 "" "again" [1]`}; !slices.Equal(which, want) {
			t.Errorf("%q, want %q", which, want)
		}
		if want := "work thread-1 1/f/do gate-"; !strings.HasPrefix(same[0], want) || !strings.HasSuffix(same[0], " 7 map[tenant:42] map[traceparent:00-1-2-01] <nil>") {
			t.Errorf("same[0] %q", same[0])
		}
		if len(slices.Compact(same)) != 1 {
			t.Errorf("they differ: %q", same)
		}
	})
}

// TestVerbsThatAreRefused name what does not fit, and the handler may go on.
func TestVerbsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		said := map[string]error{}
		s.work(s.d, "w1", func(t worker.Task) error {
			said["name"] = t.Pause("", time.Minute)
			said["delay of nothing"] = t.Pause("nap", 0)
			said["delay before now"] = t.Pause("nap", -time.Minute)
			said["delay for ever"] = t.Pause("nap", task.MaxPause+1)
			said["delay of an attempt"] = t.RetryAfter(errors.New("x"), -time.Minute)
			said["output"] = t.Continue(make(chan int))
			said["slot"] = t.Checkpoint(make([]byte, task.MaxSlot+1))
			said["chunk"] = t.Stream(strings.Repeat("x", task.MaxChunk))
			said["name of a signal"] = t.SendSignal("t", "$cancel", 1)
			if err := t.Checkpoint(make([]byte, task.MaxSlot)); err != nil {
				return worker.Permanent(err)
			}
			return t.Complete("done")
		})
		if out, err := s.outcome("t"); err != nil || out != "done" {
			t.Errorf("output %v, error %v", out, err)
		}
		for what, err := range said {
			field, _, _ := strings.Cut(what, " ")
			var e *posthouse.Error
			if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid && e.Code != posthouse.CodeTooLarge || e.Field != field {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestSlotsThatAreEmpty: an empty state is a state, a missing one is not.
func TestSlotsThatAreEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		var loaded []string
		s.work(s.d, "w1", func(t worker.Task) error {
			state, err := t.LoadCheckpoint()
			if err != nil {
				return err
			}
			loaded = append(loaded, fmt.Sprintf("%q %v", state, state == nil))
			switch t.Iteration() {
			case 0:
				err = t.Checkpoint(nil)
			case 1:
				err = t.Checkpoint([]byte("x"))
			case 2:
				err = t.Checkpoint([]byte{})
			default:
				return t.Complete("done")
			}
			return errors.Join(err, t.Continue(nil))
		})
		if out, err := s.outcome("t"); err != nil || out != "done" {
			t.Errorf("output %v, error %v", out, err)
		}
		if want := []string{`"" true`, `"" false`, `"x" false`, `"" false`}; !slices.Equal(loaded, want) {
			t.Errorf("%q, want %q", loaded, want)
		}
	})
}

// TestPauseWithoutASlot: a pause needs no slot.
func TestPauseWithoutASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{Limits: posthouse.TaskLimits{NoSlot: true}})
		s.work(s.d, "w1", func(t worker.Task) error {
			if t.Resumed() == "" {
				return t.Pause("nap", time.Hour)
			}
			return t.Complete(t.Attempt())
		})
		begun := time.Now()
		if out, err := s.outcome("t"); err != nil || fmt.Sprint(out) != "1" || time.Since(begun) < time.Hour {
			t.Errorf("%v, %v after %s", out, err, time.Since(begun))
		}
	})
}

// TestChunks: chunks come in their order, with thread and step, and end with the
// execution.
func TestChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		var got []string
		d, err := dispatch.New(s.l, &dispatch.Options{Stream: func(_ context.Context, thread, step string, chunk []byte) {
			got = append(got, fmt.Sprint(thread, " ", step, " ", string(chunk)))
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.start(d.Run)
		var late error
		s.work(d, "w1", func(t worker.Task) error {
			for i := range 3 {
				if err := t.Stream(map[string]int{"row": i}); err != nil {
					return err
				}
			}
			err := t.Complete("done")
			late = t.Stream("late")
			return err
		})
		if out, err := s.outcome("t"); err != nil || out != "done" {
			t.Errorf("output %v, error %v", out, err)
		}
		synctest.Wait() // for the handler, which goes on after its verdict
		if want := []string{`t 1/f/do {"row":0}`, `t 1/f/do {"row":1}`, `t 1/f/do {"row":2}`}; !slices.Equal(got, want) || !errors.Is(late, posthouse.ErrConflict) {
			t.Errorf("%q and %v, want %q", got, late, want)
		}
	})
}

// TestRoles: a handler that asks for less than a Task is a handler.
func TestRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, runs.RemoteOptions{})
		simple := func(t worker.SimpleTask) json.RawMessage { return t.Input() }
		keep := func(t worker.CheckpointTask) error { return t.Checkpoint(simple(t)) }
		loop := func(t worker.LoopTask) (bool, error) {
			if t.Iteration() == 2 {
				return true, nil
			}
			return false, errors.Join(keep(t), t.Continue(t.Iteration()))
		}
		stream := func(t worker.StreamTask) error { return t.Stream(string(simple(t))) }
		signal := func(t worker.SignalTask) error { return t.SendSignal(t.RunID(), "turn", 1) }
		s.work(s.d, "w1", func(t worker.Task) error {
			if over, err := loop(t); err != nil || !over {
				return err
			}
			if err := errors.Join(stream(t), signal(t)); err != nil {
				return err
			}
			turn, err := t.WaitSignal("turn", 0)
			if err != nil {
				return err
			}
			return t.Complete(fmt.Sprint(string(turn), string(t.Continued())))
		})
		if out, err := s.outcome("t"); err != nil || out != "11" {
			t.Errorf("output %v, error %v", out, err)
		}
	})
}

// TestFailAroundAWaitParks: a verb of failure around a wait that is not over parks the task, as in
// the handlers that report each error.
func TestFailAroundAWaitParks(t *testing.T) {
	for name, fail := range map[string]func(worker.Task, error) error{
		"Fail":          func(w worker.Task, err error) error { return w.Fail(fmt.Errorf("no signal: %w", err)) },
		"FailPermanent": func(w worker.Task, err error) error { return w.FailPermanent(err) },
		"RetryAfter":    func(w worker.Task, err error) error { return w.RetryAfter(err, time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, runs.RemoteOptions{})
				attempts := []int{}
				s.work(s.d, "w1", func(w worker.Task) error {
					attempts = append(attempts, w.Attempt())
					v, err := w.WaitSignal("paid", 0)
					if err != nil {
						return fail(w, err)
					}
					return w.Complete(v)
				})
				go func() {
					<-time.After(time.Second)
					if _, err := s.l.Signal(t.Context(), "t", posthouse.Signal{Name: "paid", Value: []byte("7")}); err != nil {
						t.Error(err)
					}
				}()
				out, err := s.outcome("t")
				if err != nil || fmt.Sprint(out) != "7" || fmt.Sprint(attempts) != "[1 1]" {
					t.Errorf("output %v, error %v, attempts %v", out, err, attempts)
				}
			})
		})
	}
}
