package tasks_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/standalone"
)

// handedOut returns a server's address, its engine, and the command line's directory. Thread
// t1 has a task that worker w1 has, with 9 bytes in its slot.
func handedOut(t *testing.T) (*clitest.Dir, string, *dispatch.Dispatcher, *task.Claim) {
	t.Helper()
	return handedOutOver(t, nil)
}

// handedOutOver is handedOut over a Ledger with options.
func handedOutOver(t *testing.T, o *ledger.Options) (*clitest.Dir, string, *dispatch.Dispatcher, *task.Claim) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e := clitest.New(t)
	l, err := ledger.Open(memstore.New(), o)
	ok(err)
	f, err := flow.New("f", func(ctx context.Context, in string) (string, error) {
		return step.RemoteWith[string](ctx, "get", "fetch", in, runs.RemoteOptions{Effect: posthouse.EffectRead})
	}).Open(l, nil)
	ok(err)
	_, err = f.Run(t.Context(), "t1", "http://x")
	ok(err)
	d, err := dispatch.New(l, nil)
	ok(err)
	ts, err := tokens.Open(e.Path, nil)
	ok(err)
	_, _, err = ts.First()
	ok(err)
	alone, err := standalone.Open(l)
	ok(err)
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{f, alone.Program()}})
	ok(err)
	s, err := server.New(server.Options{Ledger: l, Tokens: ts, Tasks: d, Starter: alone})
	ok(err)
	web := httptest.NewServer(s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		ok(<-ended)
		ok(<-ended)
		ok(s.Close(context.Background()))
		web.Close()
		ok(l.Close())
	})
	session, err := d.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w1", Group: "gpu", Tasks: []string{"fetch"}, Concurrency: 4})
	ok(err)
	c, err := d.Claim(t.Context(), session.ID)
	ok(err)
	ok(d.Save(t.Context(), c.ID, 0, []byte("73 of 100")))
	return e, web.URL, d, c
}

// TestWorkerCommand handles a task with a command, and ends when it is asked to.
func TestWorkerCommand(t *testing.T) {
	e, url, d, c := handedOut(t)
	if err := d.Disconnect(t.Context(), workerOf(t, d)); err != nil { // the task is free
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out clitest.Buffer
	ended := make(chan int)
	go func() {
		ended <- e.Start(ctx, &out, "worker", "--plain", "--name", "w2", "--task", "fetch=cat", "--server", url)
	}()
	for decided := false; !decided; {
		i, err := d.Task(t.Context(), c.ID.Gate)
		if err != nil {
			t.Fatal(err)
		}
		decided = i.Decision != nil
		if decided && (i.Decision.By != "worker:operator" || string(i.Decision.Value) != `"http://x"`) {
			t.Errorf("i.Decision %+v", i.Decision)
		}
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
	if s := out.String(); !strings.Contains(s, "handling fetch of "+url) || !strings.Contains(s, "handled") {
		t.Error(s)
	}
	for _, bad := range [][]string{{}, {"--task", "fetch"}, {"--task", "=cat"}, {"--task", "fetch=no-such-program-anywhere"}, {"--task", "a=cat", "--task", "a=cat"}, {"--task", "a=cat", "--at-once", "-1"}} {
		if out := e.Run(2, append(append([]string{"worker"}, bad...), "--server", url)...); !strings.Contains(out, "error:") {
			t.Errorf("%q: output %s", bad, out)
		}
	}
}

func workerOf(t *testing.T, d *dispatch.Dispatcher) string {
	t.Helper()
	ws, err := d.Workers(t.Context())
	if len(ws) != 1 || err != nil {
		t.Fatalf("%+v, %v", ws, err)
	}
	return ws[0].Session
}

// TestTaskCommands list, show, clear and resume what a worker had.
func TestTaskCommands(t *testing.T) {
	e, url, d, c := handedOut(t)
	run := func(code int, args ...string) string { return e.Run(code, append(args, "--server", url)...) }
	lacks := func(out string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(out, want) {
				t.Errorf("it lacks %q:\n%s", want, out)
			}
		}
	}
	gate := string(c.ID.Gate)
	lacks(run(0, "task", "list"), gate, "fetch", "claimed", "w1", "t1")
	lacks(run(0, "worker", "list"), "w1", "gpu", "fetch", "1 of 4")
	lacks(run(0, "worker", "list", "--json"), `"claims"`, gate)
	lacks(run(0, "task", "show", gate), "claimed", "w1", "9 bytes", `"http://x"`)
	lacks(run(0, "task", "slot", gate), "73 of 100")
	if out := run(4, "task", "resume", gate); !strings.Contains(out, "worker w1 has the task") {
		t.Error(out)
	}
	run(4, "task", "clear", gate, "--yes")

	if err := d.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Pause, Name: "cool down", Delay: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	lacks(run(0, "task", "show", gate), "decided", "next: posthouse task show gate-")
	paused := ""
	for i, err := range d.Tasks(t.Context(), task.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		paused = string(i.ID)
	}
	lacks(run(0, "task", "list", "--task", "fetch", "--thread", "t1"), paused, "paused until ")
	lacks(run(0, "task", "list", "--task", "other"), "no task is open")
	lacks(run(0, "task", "clear", paused, "--dry-run"), "task "+paused+" has saved ", "nothing was cleared")
	lacks(run(0, "task", "clear", paused, "--yes"), "nothing is saved for task "+paused)
	lacks(run(0, "task", "slot", paused), "nothing is saved")
	lacks(run(0, "task", "resume", paused), "goes on as gate-")
	lacks(run(0, "task", "list", "--json"), `"state": "ready"`, `"handlers": 1`)
	if out := run(0, "task", "list"); strings.Contains(out, "no worker") {
		t.Error(out)
	}
	if err := d.Disconnect(t.Context(), workerOf(t, d)); err != nil {
		t.Fatal(err)
	}
	lacks(run(0, "task", "list"), "ready, no worker")
	lacks(run(0, "worker", "list"), "no worker is connected")
	lacks(run(3, "task", "show", "gate-x"), `there is no task "gate-x"`, "posthouse task list")
	lacks(run(4, "task", "pause", gate), "posthouse task show "+paused)
}

// TestStartTask starts tasks by themselves, waits for them, and retries, pauses and purges
// what fails.
func TestStartTask(t *testing.T) {
	e, url, d, c := handedOut(t)
	run := func(code int, args ...string) string { return e.Run(code, append(args, "--server", url)...) }
	wants := func(out string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(out, want) {
				t.Errorf("it lacks %q:\n%s", want, out)
			}
		}
	}
	if err := d.Resolve(t.Context(), c.ID, task.Verdict{Action: task.FailPermanent, Reason: "no film"}); err != nil {
		t.Fatal(err)
	}
	session := workerOf(t, d)
	handle := func(v task.Verdict) {
		t.Helper()
		c, err := d.Claim(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Resolve(t.Context(), c.ID, v); err != nil {
			t.Fatal(err)
		}
	}
	wants(run(0, "task", "start", "fetch", `{"n":1}`, "--key", "k1"), "is waiting in thread task-k1", "next: posthouse task show gate-")
	handle(task.Verdict{Action: task.Complete, Output: []byte(`{"page":1}`)})
	wants(run(0, "task", "start", "fetch", `{"n":1}`, "--key", "k1", "--wait"), `{"page":1}`)
	wants(run(4, "task", "start", "fetch", "--key", "k1"), `key "k1"`, "another --key")
	run(2, "task", "start", "fetch", "{")
	run(2, "task", "start")

	run(0, "task", "start", "fetch", "--key", "k2")
	handle(task.Verdict{Action: task.FailPermanent, Reason: "no film"})
	wants(run(1, "task", "start", "fetch", "--key", "k2", "--wait"), "thread task-k2 failed", "no film", "next: posthouse task list --failed --thread task-k2")
	failed := ""
	for i, err := range d.Tasks(t.Context(), task.Query{Failed: true, Thread: "task-k2"}) {
		if err != nil {
			t.Fatal(err)
		}
		failed = string(i.ID)
	}
	wants(run(0, "task", "list", "--failed"), failed, "failed", "next: posthouse task show "+failed)
	wants(run(0, "task", "show", failed), "failed", "no film", "next: posthouse task retry "+failed)
	wants(run(0, "task", "purge", failed, "--dry-run"), "task "+failed+" would be given up", "branch main of thread task-k2")
	again := run(0, "task", "retry", failed, "--json")
	wants(again, `"state": "ready"`)
	for i, err := range d.Tasks(t.Context(), task.Query{Thread: "task-k2"}) {
		if err != nil {
			t.Fatal(err)
		}
		wants(run(0, "task", "pause", string(i.ID), "--for", "2h"), "waits until", "next: posthouse task resume gate-")
	}
	wants(run(4, "task", "purge", failed, "--dry-run"), "posthouse task list --failed")
	wants(run(4, "task", "purge", failed, "--yes"), "posthouse task list --failed")
}

// TestStartTaskWithItsEffect: the class of what a task does is on record with it. Where effects need
// approvals, one that acts on the world, or does not say what it does, is not started.
func TestStartTaskWithItsEffect(t *testing.T) {
	e, url, d, _ := handedOutOver(t, &ledger.Options{RequireGrants: true})
	run := func(code int, args ...string) string { return e.Run(code, append(args, "--server", url)...) }
	for _, args := range [][]string{{}, {"--effect", "external"}} {
		out := run(6, append([]string{"task", "start", "fetch", "--key", "k"}, args...)...)
		if !strings.Contains(out, "acts on the world without a grant") || !strings.Contains(out, "--effect") {
			t.Errorf("%q: output %s", args, out)
		}
	}
	if out := run(2, "task", "start", "fetch", "--effect", "tiny"); !strings.Contains(out, "tiny") || !strings.Contains(out, "pure, read, write, external") {
		t.Error(out)
	}
	for _, class := range []posthouse.Effect{posthouse.EffectPure, posthouse.EffectRead, posthouse.EffectWrite} {
		key := "k-" + class.String()
		out := run(0, "task", "start", "fetch", "--key", key, "--effect", class.String())
		if !strings.Contains(out, "is waiting in thread task-"+key) {
			t.Error(out)
		}
		for i, err := range d.Tasks(t.Context(), task.Query{Thread: "task-" + key}) {
			if err != nil {
				t.Fatal(err)
			}
			if out := run(0, "gate", "show", string(i.ID), "--json"); !strings.Contains(out, `"effect": "`+class.String()+`"`) {
				t.Error(out)
			}
		}
	}
}
