package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/standalone"
)

// handOut opens a task in each thread, which the Dispatcher of the test server has found.
func (h *testServer) handOut(threads ...string) *flow.App[string, string] {
	h.t.Helper()
	app, err := flow.New("f", func(ctx context.Context, in string) (string, error) {
		return step.Remote[string](ctx, "get", "fetch", in)
	}).Open(h.ledger, nil)
	must.Do(h.t, err)
	for _, thread := range threads {
		_, err := app.Run(h.t.Context(), thread, "http://x")
		must.Do(h.t, err)
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	ended := make(chan error)
	go func() { ended <- h.tasks.Run(ctx) }()
	h.t.Cleanup(func() { cancel(); must.Do(h.t, <-ended) })
	return app
}

// list returns the open tasks.
func (h *testServer) list(query string) (tasks []Task) {
	h.t.Helper()
	h.get("/api/tasks" + query).want(http.StatusOK).into(&tasks)
	return tasks
}

// TestTasksOverHTTP lists, shows, clears and resumes what workers have and had.
func TestTasksOverHTTP(t *testing.T) {
	h := open(t, nil)
	h.handOut("t1", "t2", "t3")
	if l := h.list("?order=asc"); len(l) != 3 || l[0].Thread != "t1" || l[0].State != task.Ready || l[0].Call.Task != "fetch" || string(l[0].Input) != `"http://x"` {
		t.Errorf("%+v", l)
	}
	if a := h.get("/api/tasks?limit=2"); a.header.Get("X-Next-Cursor") == "" {
		t.Error("there is no next page")
	} else if l := h.list("?limit=2&cursor=" + a.header.Get("X-Next-Cursor")); len(l) != 1 || l[0].Thread != "t1" {
		t.Errorf("the next page: %+v", l)
	}
	if l := h.list("?task=other"); len(l) != 0 {
		t.Errorf("%+v", l)
	}

	s, err := h.tasks.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w1", Tasks: []string{"fetch"}, Concurrency: 1})
	must.Do(t, err)
	c, err := h.tasks.Claim(t.Context(), s.ID)
	must.Do(t, err)
	must.Do(t, h.tasks.Save(t.Context(), c.ID, 0, []byte("mine")))
	path := "/api/tasks/" + string(c.ID.Gate)
	var one task.Info
	h.get(path).want(http.StatusOK).into(&one)
	if one.State != task.Claimed || one.Worker != "w1" || one.Saved != 4 {
		t.Errorf("one %+v", one)
	}
	var ws []task.WorkerInfo
	h.get("/api/workers").want(http.StatusOK).into(&ws)
	if len(ws) != 1 || ws[0].Worker != "w1" || len(ws[0].Claims) != 1 {
		t.Errorf("%+v", ws)
	}
	for _, a := range []ask{{method: "DELETE", path: path + "/slot"}, {method: "POST", path: path + "/resume"}} {
		h.send(a).refused(posthouse.CodeConflict)
		a.as = tokens.Approver
		h.send(a).refused(posthouse.CodeForbidden)
	}

	must.Do(t, h.tasks.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Pause, Name: "cool down", Delay: 1 << 40}))
	paused := h.list("?thread=" + c.Thread)
	if len(paused) != 1 || paused[0].State != task.Paused {
		t.Fatalf("paused %+v", paused)
	}
	path = "/api/tasks/" + string(paused[0].ID)
	var slot TaskSlot
	h.get(path + "/slot").want(http.StatusOK).into(&slot)
	if !slot.Saved || string(slot.Value) != "mine" {
		t.Errorf("slot %+v", slot)
	}
	h.send(ask{method: "DELETE", path: path + "/slot"}).want(http.StatusNoContent)
	slot = TaskSlot{}
	if h.get(path + "/slot").want(http.StatusOK).into(&slot); slot.Saved {
		t.Errorf("slot %+v", slot)
	}
	h.send(ask{method: "POST", path: path + "/resume"}).want(http.StatusOK).into(&one)
	if one.State != task.Ready || one.ID == paused[0].ID {
		t.Errorf("one %+v", one)
	}
	if g, err := h.ledger.Gate(t.Context(), paused[0].ID); err != nil || g.Decision == nil || g.Decision.By != "operator-token" {
		t.Errorf("%+v, %v", g, err)
	}
	h.send(ask{method: "POST", path: path + "/resume"}).refused(posthouse.CodeConflict)
}

// TestTasksWithDamagedSlots are listed beside the others, with what is wrong.
func TestTasksWithDamagedSlots(t *testing.T) {
	h := open(t, nil)
	h.handOut("t1", "t2")
	first := h.list("?order=asc")[0]
	op := posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("nonsense"), Revision: posthouse.AnyRevision}
	_, err := h.store.Slot(t.Context(), posthouse.SlotKey{Thread: "t1", Step: first.Step}, op)
	must.Do(t, err)
	if l := h.list("?order=asc"); len(l) != 2 || l[0].Error == nil || l[0].Error.Code != posthouse.CodeCorrupt || l[0].ID != first.ID || l[1].Error != nil {
		t.Errorf("%+v", l)
	}
}

// TestFailedTasksOverHTTP lists, retries and purges tasks that failed, and has one wait.
func TestFailedTasksOverHTTP(t *testing.T) {
	h := open(t, nil)
	app := h.handOut("t1")
	s, err := h.tasks.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w1", Tasks: []string{"fetch"}, Concurrency: 1})
	must.Do(t, err)
	fail := func() string {
		t.Helper()
		c, err := h.tasks.Claim(t.Context(), s.ID)
		must.Do(t, err)
		must.Do(t, h.tasks.Resolve(t.Context(), c.ID, task.Verdict{Action: task.FailPermanent, Reason: "no such page"}))
		if _, err := app.Resume(t.Context(), "t1"); err == nil {
			t.Fatal("it did not fail")
		}
		l := h.list("?failed=true")
		if len(l) != 1 || l[0].ID != c.ID.Gate || l[0].State != task.Failed || l[0].Decision.Reason != "no such page" {
			t.Fatalf("%+v", l)
		}
		return "/api/tasks/" + string(c.ID.Gate)
	}
	path := fail()
	for _, a := range []ask{{method: "POST", path: path + "/retry"}, {method: "DELETE", path: path}, {method: "POST", path: path + "/pause", body: `{"for":1000000000}`}} {
		a.as = tokens.Approver
		h.send(a).refused(posthouse.CodeForbidden)
	}
	var one task.Info
	h.send(ask{method: "POST", path: path + "/retry"}).want(http.StatusOK).into(&one)
	if one.State != task.Ready || one.Thread != "t1" || len(h.list("?failed=true")) != 0 {
		t.Errorf("one %+v", one)
	}
	open := "/api/tasks/" + string(one.ID)
	for _, a := range []ask{{method: "POST", path: open + "/retry"}, {method: "DELETE", path: open}} {
		h.send(a).refused(posthouse.CodeConflict)
	}
	h.send(ask{method: "POST", path: open + "/pause", body: `{"for":0}`}).refused(posthouse.CodeInvalid)
	h.send(ask{method: "POST", path: open + "/pause", body: `{"for":3600000000000}`}).want(http.StatusOK).into(&one)
	if one.State != task.Delayed {
		t.Errorf("one %+v", one)
	}
	var thread Thread
	if h.get("/api/threads/t1").want(http.StatusOK).into(&thread); !strings.HasPrefix(thread.Now, "task fetch is paused by operator-token until ") {
		t.Errorf("now is %q", thread.Now)
	}
	h.send(ask{method: "POST", path: "/api/tasks/" + string(one.ID) + "/resume"}).want(http.StatusOK)
	path = fail()
	h.send(ask{method: "DELETE", path: path}).want(http.StatusNoContent)
	if l := h.list("?failed=true"); len(l) != 0 {
		t.Errorf("%+v", l)
	}
}

// TestForkOfAFailedTaskOverHTTP: its plan says that the task is handed out again and why it failed, and so it is, once.
func TestForkOfAFailedTaskOverHTTP(t *testing.T) {
	h := open(t, nil)
	app := h.handOut("t1")
	s, err := h.tasks.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w1", Tasks: []string{"fetch"}, Concurrency: 1})
	must.Do(t, err)
	c := must.Get(h.tasks.Claim(t.Context(), s.ID))(t)
	must.Do(t, h.tasks.Resolve(t.Context(), c.ID, task.Verdict{Action: task.FailPermanent, Reason: "no such page"}))
	if _, err := app.Resume(t.Context(), "t1"); err == nil {
		t.Fatal("it did not fail")
	}
	var thread posthouse.ThreadInfo
	h.get("/api/threads/t1").want(http.StatusOK).into(&thread)
	path := "/api/checkpoints/" + string(thread.Branches[0].Head) + "/fork"
	plan := h.post(path, `{"dryRun":true}`).want(http.StatusOK).checkpoint().Plan
	if len(plan.Asks) != 1 || plan.Asks[0].Gate != c.ID.Gate || plan.Asks[0].Kind != posthouse.GateTask || plan.Asks[0].Failed != "no such page" || len(plan.Decided) != 0 {
		t.Errorf("the plan asks %+v, and answered is %+v", plan.Asks, plan.Decided)
	}
	fork := h.post(path, `{}`).want(http.StatusOK).checkpoint()
	for range 2 {
		must.Get(app.Resume(t.Context(), "t1", flow.RunOptions{Branch: fork.Branch}))(t)
	}
	again := must.Get(h.tasks.Claim(t.Context(), s.ID))(t)
	if l := h.list("?thread=t1"); len(l) != 1 || l[0].ID != again.ID.Gate || l[0].ID == c.ID.Gate || l[0].Branch != fork.Branch {
		t.Errorf("open tasks are %+v", l)
	}
	if _, err := app.Resume(t.Context(), "t1"); err == nil {
		t.Error("the source goes on")
	}
}

// TestPagesOfFailedTasks: pages go on after a thread that cannot be read, and after one
// that was deleted between two pages.
func TestPagesOfFailedTasks(t *testing.T) {
	var store *damagedStore
	var d *dispatch.Dispatcher
	h := open(t, func(o *Options) {
		store = damaged(t, o)
		var err error
		d, err = dispatch.New(o.Ledger, nil)
		must.Do(t, err)
		o.Tasks = d
	})
	h.tasks = d
	threads := []string{"t1", "t2", "t3", "t4"}
	app := h.handOut(threads...)
	s, err := d.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w1", Tasks: []string{"fetch"}, Concurrency: 1})
	must.Do(t, err)
	for range threads {
		c, err := d.Claim(t.Context(), s.ID)
		must.Do(t, err)
		must.Do(t, d.Resolve(t.Context(), c.ID, task.Verdict{Action: task.FailPermanent, Reason: "no such page"}))
		if _, err := app.Resume(t.Context(), c.Thread); err == nil {
			t.Fatal("it did not fail")
		}
	}
	store.thread.Store(&threads[1])
	for _, gone := range []string{"", "t3"} { // a thread that is deleted once it was listed
		var seen []string
		for cursor := ""; len(seen) < 10; {
			var page []Task
			a := h.get("/api/tasks?failed=true&order=asc&limit=1&cursor=" + url.QueryEscape(cursor))
			a.want(http.StatusOK).into(&page)
			if len(page) != 1 || (page[0].Error != nil) != (page[0].Thread == "t2") {
				t.Fatalf("behind %q: %+v", cursor, page)
			}
			seen = append(seen, page[0].Thread)
			if page[0].Thread == gone {
				_, err := retain.DeleteThread(t.Context(), h.ledger, gone, nil)
				must.Do(t, err)
			}
			cursor = a.header.Get("X-Next-Cursor")
			if cursor == "" {
				break
			}
		}
		if !slices.Equal(seen, threads) {
			t.Errorf("with %q deleted: %q", gone, seen)
		}
	}
	h.get("/api/tasks?failed=true&cursor=gate-1").refused(posthouse.CodeInvalid)
	h.get("/api/tasks?cursor=gate-1@t1").refused(posthouse.CodeInvalid)
	h.get("/api/tasks?cursor=%20").refused(posthouse.CodeInvalid)
}

// TestStandaloneTasksOverHTTP starts a task once under its key, and shows its output.
func TestStandaloneTasksOverHTTP(t *testing.T) {
	var alone *standalone.Starter
	h := open(t, func(o *Options) {
		var err error
		alone, err = standalone.Open(o.Ledger)
		must.Do(t, err)
		o.Starter = alone
	})
	h.handOut()
	s, err := h.tasks.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w1", Tasks: []string{"echo"}, Concurrency: 1})
	must.Do(t, err)
	const body = `{"task":"echo","input":{"n":1},"key":"k1"}`
	var first, again task.Started
	h.send(ask{method: "POST", path: "/api/tasks", body: body}).want(http.StatusOK).into(&first)
	h.send(ask{method: "POST", path: "/api/tasks", body: body}).want(http.StatusOK).into(&again)
	if first.Thread != "task-k1" || first.Gate == "" || first.Status != posthouse.StatusWaiting || again.Gate != first.Gate {
		t.Errorf("first %+v, again %+v", first, again)
	}
	h.send(ask{method: "POST", path: "/api/tasks", body: `{"task":"echo","key":"k1"}`}).refused(posthouse.CodeExists)
	h.send(ask{method: "POST", path: "/api/tasks", body: `{"task":""}`}).refused(posthouse.CodeInvalid)
	h.send(ask{method: "POST", path: "/api/tasks", body: `{"task":"echo","more":1}`}).refused(posthouse.CodeInvalid)
	h.send(ask{method: "POST", path: "/api/tasks", body: body, as: tokens.Approver}).refused(posthouse.CodeForbidden)
	c, err := h.tasks.Claim(t.Context(), s.ID)
	must.Do(t, err)
	must.Do(t, h.tasks.Resolve(t.Context(), c.ID, task.Verdict{Action: task.Complete, Output: c.Input}))
	must.Do(t, alone.Program().Advance(t.Context(), "task-k1", posthouse.MainBranch))
	var done task.Started
	h.get("/api/standalone/task-k1").want(http.StatusOK).into(&done)
	if done.Status != posthouse.StatusDone || string(done.Output) != `{"n":1}` {
		t.Errorf("done %+v", done)
	}
	h.get("/api/standalone/none").refused(posthouse.CodeNotFound)
}

// TestNoStarter says that nothing is started where nothing can be.
func TestNoStarter(t *testing.T) {
	h := open(t, nil)
	h.send(ask{method: "POST", path: "/api/tasks", body: `{"task":"echo"}`}).refused(posthouse.CodeUnsupported)
	h.get("/api/standalone/none").refused(posthouse.CodeUnsupported)
}
