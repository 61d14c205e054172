package origins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// An orchestrator is an engine over a store: programs, a runner and a Dispatcher.
type orchestrator struct {
	*testing.T
	l    *ledger.Ledger
	d    *dispatch.Dispatcher
	app  *flow.App[string, string]
	stop func()
}

// orchestrate starts an engine with a program that hands its one step out.
func orchestrate(t *testing.T, store posthouse.Store, o runs.RemoteOptions) *orchestrator {
	t.Helper()
	return orchestrateFlow(t, store, func(ctx context.Context, in string) (string, error) {
		return step.RemoteWith[string](ctx, "do", "work", in, o)
	})
}

func orchestrateFlow(t *testing.T, store posthouse.Store, fn flow.Func[string, string]) *orchestrator {
	t.Helper()
	e := &orchestrator{T: t, l: must(ledger.Open(store, &ledger.Options{Validate: gate.Validator()}))(t)}
	e.app = must(flow.New("program", fn).Open(e.l, nil))(t)
	e.d = must(dispatch.New(e.l, nil))(t)
	r := must(runner.New(e.l, &runner.Options{Programs: []posthouse.Program{e.app}}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{e.d.Run, r.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	e.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := e.l.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(e.stop)
	return e
}

// begin begins a run, which waits.
func (e *orchestrator) begin(thread, in string) {
	e.Helper()
	if res := must(e.app.Run(e.Context(), thread, in))(e); res.Status != posthouse.StatusWaiting {
		e.Fatalf("%+v", res)
	}
}

// worker starts one with a handler.
func (e *orchestrator) worker(h worker.Handler) {
	e.Helper()
	w := must(worker.New(e.d, &worker.Options{Name: "w", DrainTimeout: time.Second}))(e)
	w.HandleFunc("work", h)
	ctx, cancel := context.WithCancel(e.Context())
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	e.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			e.Error(err)
		}
	})
}

// session is that of a worker that the test plays. It sends no heartbeats.
func (e *orchestrator) session() string {
	e.Helper()
	return must(e.d.Connect(e.Context(), task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"work"}, Concurrency: 1}))(e).ID
}

// claim claims a task within a second, and returns nil if there is no task.
func (e *orchestrator) claim(session string) *task.Claim {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), time.Second)
	defer cancel()
	c, err := e.d.Claim(ctx, session)
	if err != nil && ctx.Err() == nil {
		e.Fatal(err)
	}
	return c
}

// until waits for a status of a thread, and returns its result.
func (e *orchestrator) until(thread string, want posthouse.Status) *flow.Result[string] {
	e.Helper()
	for range 10_000 {
		if res := must(e.app.Result(e.Context(), thread))(e); res.Status == want {
			return res
		}
		<-time.After(time.Second)
	}
	e.Fatalf("thread %s is not %s", thread, want)
	return nil
}

// A crash between Continue and its acknowledgement gave one iteration more. Here the same
// verdict again adds no iteration.
func TestContinueCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := orchestrate(t, memstore.New(), runs.RemoteOptions{})
		e.begin("t", "in")
		w := e.session()
		first := e.claim(w)
		next := task.Verdict{Action: task.Continue, Output: json.RawMessage(`"one"`)}
		for range 3 {
			if err := e.d.Resolve(t.Context(), first.ID, next); err != nil {
				t.Fatal(err)
			}
		}
		second := e.claim(w)
		if second == nil || second.Iteration != 1 || string(second.Continued) != `"one"` || string(second.Input) != `"in"` {
			t.Fatalf("second %+v", second)
		}
		if err := e.d.Resolve(t.Context(), first.ID, next); err != nil {
			t.Errorf("late: %v", err)
		}
		other := next
		other.Output = json.RawMessage(`"two"`)
		wantCode(t, e.d.Resolve(t.Context(), first.ID, other), posthouse.ErrConflict)
		if err := e.d.Resolve(t.Context(), second.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage(`"out"`)}); err != nil {
			t.Fatal(err)
		}
		if e.until("t", posthouse.StatusDone); e.claim(w) != nil {
			t.Error("there is another iteration")
		}
	})
}

// TestRestartedOrchestratorDoesNotReplayHistory: a new process hands out what is open, and
// nothing that was done.
func TestRestartedOrchestratorDoesNotReplayHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		e := orchestrate(t, store, runs.RemoteOptions{})
		for i := range 20 {
			thread := fmt.Sprint("t", i)
			e.begin(thread, thread)
			c := e.claim(e.session())
			if err := e.d.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Complete, Output: c.Input}); err != nil {
				t.Fatal(err)
			}
			e.until(thread, posthouse.StatusDone)
		}
		e.begin("open", "mine")
		e.stop()

		e = orchestrate(t, store, runs.RemoteOptions{})
		c := e.claim(e.session())
		if c == nil || c.Thread != "open" || string(c.Input) != `"mine"` || c.Attempt != 1 {
			t.Fatalf("%+v", c)
		}
		if again := e.claim(e.session()); again != nil {
			t.Errorf("again %+v", again)
		}
		if err := e.d.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Complete, Output: c.Input}); err != nil {
			t.Fatal(err)
		}
		if res := e.until("open", posthouse.StatusDone); res.Output != "mine" {
			t.Errorf("result %+v", res)
		}
	})
}

// TestDLQReplay_PreservesOriginalBody: input, metadata, key and slot of a task that failed for
// good are those of its retry.
func TestReplayOfAFailedTaskKeepsItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := orchestrate(t, memstore.New(), runs.RemoteOptions{Metadata: map[string]string{"tenant": "42"}, Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1}}})
		var seen []string
		e.worker(func(t worker.Task) error {
			state, err := t.LoadCheckpoint()
			if err != nil {
				return err
			}
			seen = append(seen, fmt.Sprintf("%s %v %s %s", t.Input(), t.Metadata(), t.Key(), state))
			if len(seen) == 1 {
				return errors.Join(t.Checkpoint([]byte("half")), t.Fail(errors.New("no route")))
			}
			return t.Complete("out")
		})
		e.begin("t", "body")
		e.until("t", posthouse.StatusFailed)
		for i, err := range e.d.Tasks(t.Context(), task.Query{Failed: true}) {
			must(i, err)(t)
			must(e.d.Retry(t.Context(), i.ID, "alice"))(t)
		}
		if res := e.until("t", posthouse.StatusDone); res.Output != "out" || len(seen) != 2 || seen[1] != seen[0]+"half" {
			t.Errorf("result %+v, seen %q", res, seen)
		}
	})
}

// Tasks of a cancelled run were skipped and acknowledged. Here no worker gets one.
func TestTasksOfACancelledRunAreNotHandedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := orchestrate(t, memstore.New(), runs.RemoteOptions{})
		e.begin("t", "in")
		must(e.l.Cancel(t.Context(), "t", &ledger.CancelOptions{By: "alice"}))(t)
		if c := e.claim(e.session()); c != nil {
			t.Errorf("%+v", c)
		}
	})
}

// The step's timeout is of one iteration; many may follow.
func TestTimeoutIsOfOneIteration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := orchestrate(t, memstore.New(), runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1}, Timeout: 10 * time.Second}})
		e.worker(func(t worker.Task) error {
			<-time.After(8 * time.Second)
			if t.Iteration() < 5 {
				return t.Continue(nil)
			}
			return t.Complete("out")
		})
		e.begin("t", "in")
		e.until("t", posthouse.StatusDone)
	})
}

// A latched signal is there for each that waits for it, in a handler, too: the newest,
// any number of times. A wait without a signal ends with its timeout.
func TestLatchedSignalInAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := orchestrate(t, memstore.New(), runs.RemoteOptions{})
		e.worker(func(t worker.Task) error {
			var read []int
			for range 2 {
				v, err := step.Signal[int](t.Context(), "limit", step.SignalOptions{Latch: true})
				if err != nil {
					return err
				}
				read = append(read, v)
			}
			_, err := t.WaitSignal("never", time.Hour)
			if !errors.Is(err, posthouse.ErrExpired) {
				return err
			}
			return t.Complete(fmt.Sprint(read))
		})
		for _, v := range []string{"10", "20"} {
			must(e.l.Signal(t.Context(), "t", posthouse.Signal{Name: "limit", Value: json.RawMessage(v), Early: true}))(t)
		}
		begun := time.Now()
		e.begin("t", "in")
		if res := e.until("t", posthouse.StatusDone); res.Output != "[20 20]" || time.Since(begun) < time.Hour {
			t.Errorf("%+v after %s", res, time.Since(begun))
		}
	})
}

// A signal to a run that is over was refused. Here it is on record, and the thread's next
// run finds it.
func TestSignalToARunThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := orchestrateFlow(t, memstore.New(), func(ctx context.Context, in string) (string, error) {
			return step.Signal[string](ctx, "go", step.SignalOptions{})
		})
		e.begin("t", "first")
		send := func(v string) {
			must(e.l.Signal(t.Context(), "t", posthouse.Signal{Name: "go", Value: json.RawMessage(v)}))(t)
		}
		send(`"one"`)
		e.until("t", posthouse.StatusDone)
		send(`"two"`)
		if res := must(e.app.Result(t.Context(), "t"))(t); res.Status != posthouse.StatusDone || res.Output != "one" {
			t.Errorf("the run that is over: %+v", res)
		}
		must(e.app.Run(t.Context(), "t", "second"))(t)
		if res := e.until("t", posthouse.StatusDone); res.Output != "two" {
			t.Errorf("the next run: %+v", res)
		}
	})
}

// The approval step: approved it goes on with what was sent, rejected or too late the run
// fails, if the program says so. Without a deadline it waits.
func TestApprovalStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := orchestrateFlow(t, memstore.New(), func(ctx context.Context, in string) (string, error) {
			q := gate.Question{Name: "ship", Verdicts: []posthouse.Verdict{posthouse.Respond, posthouse.Reject}}
			if in == "with a deadline" {
				q.Expires = time.Hour
			}
			a, err := gate.Ask[string](ctx, q)
			switch {
			case err != nil:
				return "", err
			case a.Verdict != posthouse.Respond:
				return "", fmt.Errorf("approval: %s", a.Verdict)
			}
			return step.Do(ctx, "downstream", func(context.Context) (string, error) { return "with " + a.Value, nil })
		})
		ids := map[string]posthouse.ID{}
		for thread, in := range map[string]string{"approved": "", "rejected": "", "late": "with a deadline", "open": ""} {
			e.begin(thread, in)
			for g, err := range e.l.Gates(t.Context(), ledger.GateQuery{Thread: thread}) {
				ids[thread] = must(g, err)(t).ID
			}
		}
		answer := posthouse.Decision{Verdict: posthouse.Respond, By: "alice", Value: json.RawMessage(`"40"`)}
		must(e.l.Decide(t.Context(), ids["approved"], answer))(t)
		decide(t, e.l, ids["rejected"], posthouse.Reject)
		if res := e.until("approved", posthouse.StatusDone); res.Output != "with 40" {
			t.Errorf("result %+v", res)
		}
		for thread, want := range map[string]string{"rejected": "approval: reject", "late": "approval: expire"} {
			if res := e.until(thread, posthouse.StatusFailed); res.Error != want {
				t.Errorf("%s: result %+v", thread, res)
			}
		}
		for thread, want := range map[string]error{"approved": posthouse.ErrDecided, "rejected": posthouse.ErrDecided, "late": posthouse.ErrExpired} {
			_, err := e.l.Decide(t.Context(), ids[thread], posthouse.Decision{Verdict: posthouse.Reject, By: "bob"})
			wantCode(t, err, want)
		}
		<-time.After(3 * time.Hour)
		if res := must(e.app.Result(t.Context(), "open"))(t); res.Status != posthouse.StatusWaiting {
			t.Errorf("result %+v", res)
		}
	})
}
