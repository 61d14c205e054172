package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// freezeLease is the lease under which workers and engines are frozen.
const freezeLease = 300 * time.Millisecond

// TestFrozenWorkers freezes workers, and engines in the middle of a write, for longer than
// the lease, 1,000 times, or 300 with -short. Once another worker has the task, nothing counts that a worker
// that was frozen still does.
func TestFrozenWorkers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	freezes := 1000
	if testing.Short() {
		freezes = 300
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFreezer(t, seed, freezes, false)
		f.run()
		for _, v := range f.violations {
			t.Error(v)
		}
		t.Logf("%d of %d freezes were overtaken; %d executions of %d runs, %d late calls refused", f.cycles, f.frozen, f.claims, f.begun, f.refused)
	})
}

// TestFrozenWorkersOverACarelessStore: where slots ignore fences and revisions, the same
// test fails.
func TestFrozenWorkersOverACarelessStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFreezer(t, rand.Uint64(), 5000, true)
		f.run()
		if len(f.violations) == 0 {
			t.Error("no late write was found")
		}
	})
}

// A freezer runs tasks on two engines with workers that freeze.
type freezer struct {
	*testing.T
	engines []*dispatch.Dispatcher
	app     *flow.App[string, string]

	mu         sync.Mutex
	rnd        *rand.Rand
	goal       int                      // cycles
	cycles     int                      // workers that thawed when another had the task
	frozen     int                      // workers that froze for longer than the lease
	claims     int                      // that workers were given
	refused    int                      // calls under a claim that was overtaken
	newest     map[posthouse.ID]uint64  // the highest fence given out, by call
	saves      map[posthouse.ID][]*save // in the order in which they began
	outputs    map[string]string        // that were accepted, by thread
	begun      int                      // runs
	violations []string
}

// A save is a value that a worker tried to save.
type save struct {
	value string
	acked bool
}

func newFreezer(t *testing.T, seed uint64, goal int, careless bool) *freezer {
	f := &freezer{
		T: t, rnd: rand.New(rand.NewPCG(seed, 1)), goal: goal,
		newest: map[posthouse.ID]uint64{}, saves: map[posthouse.ID][]*save{}, outputs: map[string]string{},
	}
	store := memstore.New()
	program := flow.New("work", func(ctx context.Context, in string) (string, error) {
		return step.RemoteWith[string](ctx, "work", "work", in, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 1000}}})
	})
	led := f.open(store)
	app, err := program.Open(led, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.app = app
	for range 2 {
		d, err := dispatch.New(f.open(&stalling{Store: store, f: f, careless: careless}), &dispatch.Options{Poll: 50 * time.Millisecond, Wait: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		f.engines = append(f.engines, d)
	}
	return f
}

func (f *freezer) open(store posthouse.Store) *ledger.Ledger {
	led, err := ledger.Open(store, &ledger.Options{LeaseTTL: freezeLease})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = led.Close() })
	return led
}

// run runs workers until enough of them were overtaken, and compares what is on record.
func (f *freezer) run() {
	ctx, stop := context.WithCancel(f.Context())
	var engines, workers sync.WaitGroup
	for _, d := range f.engines {
		engines.Go(func() { _ = d.Run(ctx) })
	}
	for range 3 { // fewer than workers, so that one is waiting
		f.begin()
	}
	for i := range 4 {
		workers.Go(func() { (&freezing{freezer: f, name: fmt.Sprint("w", i)}).work(ctx) })
	}
	workers.Wait()
	stop()
	engines.Wait()
	for thread, want := range f.outputs {
		if r, err := f.app.Resume(f.Context(), thread); err != nil || r.Output != want {
			f.violate("run %s: %+v, %v, want %s", thread, r, err, want)
		}
	}
}

// begin begins another run, up to its task.
func (f *freezer) begin() {
	f.mu.Lock()
	f.begun++
	thread := fmt.Sprint("run-", f.begun)
	f.mu.Unlock()
	if _, err := f.app.Run(f.Context(), thread, ""); err != nil {
		f.Error(err)
	}
}

func (f *freezer) violate(format string, a ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.violations = append(f.violations, fmt.Sprintf(format, a...))
}

func (f *freezer) chance(percent int) bool { return f.upTo(100) < percent }

func (f *freezer) upTo(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rnd.IntN(n)
}

// stall freezes an engine.
func (f *freezer) stall() { <-time.After(time.Duration(f.upTo(int(3 * freezeLease)))) }

func (f *freezer) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cycles >= f.goal || len(f.violations) > 0
}

// engine is the one that a call reaches.
func (f *freezer) engine() *dispatch.Dispatcher { return f.engines[f.upTo(len(f.engines))] }

// overtaken reports whether another worker was given the task since.
func (f *freezer) overtaken(c *task.Claim) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest[c.Call] > c.ID.Fence
}

// A freezing is a worker that does not heed its lease.
type freezing struct {
	*freezer
	name    string
	session string

	lock sync.Mutex
	have []task.ClaimID
	thaw time.Time // it sends no heartbeats before
}

func (w *freezing) work(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	w.connect(ctx)
	group.Go(func() { w.heartbeats(ctx) })
	for !w.over() {
		w.lock.Lock()
		session := w.session
		w.lock.Unlock()
		c, err := w.engine().Claim(ctx, session)
		switch {
		case errors.Is(err, posthouse.ErrNotFound):
			w.connect(ctx)
		case err != nil:
			w.violate("claim: %v", err)
		case c != nil:
			w.execute(ctx, c)
		}
	}
}

func (w *freezing) connect(ctx context.Context) {
	s, err := w.engine().Connect(ctx, task.Hello{Protocol: task.Protocol, Worker: w.name, Tasks: []string{"work"}, Concurrency: 1})
	if err != nil {
		w.violate("connect: %v", err)
		return
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.session = s.ID
}

func (w *freezing) heartbeats(ctx context.Context) {
	tick := time.NewTicker(freezeLease / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		w.lock.Lock()
		session, have, asleep := w.session, w.have, time.Now().Before(w.thaw)
		w.lock.Unlock()
		if !asleep {
			_, _ = w.engine().Heartbeat(ctx, session, have) // what it says of lost claims is not heeded
		}
	}
}

// execute handles a task, and freezes in the middle.
func (w *freezing) execute(ctx context.Context, c *task.Claim) {
	w.mu.Lock()
	w.claims++
	w.newest[c.Call] = max(w.newest[c.Call], c.ID.Fence)
	w.mu.Unlock()
	w.lock.Lock()
	w.have = []task.ClaimID{c.ID}
	w.lock.Unlock()
	e := &frozenExecution{freezing: w, c: c}
	if !e.begin(ctx) {
		return
	}
	for n := range 1 + w.upTo(4) {
		if w.chance(50) {
			w.freeze(c)
		}
		e.save(ctx, n)
		e.load(ctx)
		e.record(ctx, n)
		e.try("stream", func() error { return w.engine().Stream(ctx, c.ID, json.RawMessage(`1`)) })
		if w.chance(10) {
			signal := posthouse.Signal{Name: "x", Value: json.RawMessage(`1`)}
			e.try("signal", func() error { return w.engine().Signal(ctx, c.ID, c.Thread, signal) })
		}
	}
	if w.chance(50) {
		w.freeze(c)
	}
	e.complete(ctx)
}

// freeze stops everything that the worker does, for a while around the lease or longer.
func (w *freezing) freeze(c *task.Claim) {
	d := w.silence()
	<-time.After(d)
	overtaken := w.overtaken(c)
	w.mu.Lock()
	defer w.mu.Unlock()
	if d > freezeLease {
		w.frozen++
	}
	if overtaken {
		w.cycles++
	}
}

// silence begins a while without heartbeats.
func (w *freezing) silence() time.Duration {
	d := freezeLease/2 + time.Duration(w.upTo(int(4*freezeLease)))
	w.lock.Lock()
	defer w.lock.Unlock()
	w.thaw = time.Now().Add(d)
	return d
}

// A frozenExecution is what a worker does for one claim.
type frozenExecution struct {
	*freezing
	c     *task.Claim
	value string // of the slot
}

// try makes a call, and reports whether it was accepted. It must not be if another worker
// was given the task before.
func (e *frozenExecution) try(what string, call func() error) bool {
	if e.chance(20) {
		e.silence() // it freezes while the engine has the call
	}
	late := e.overtaken(e.c)
	err := call()
	lost := errors.Is(err, posthouse.ErrConflict) || errors.Is(err, posthouse.ErrNotFound)
	switch {
	case err != nil && !lost:
		e.violate("%s: %v", what, err)
	case late && !lost:
		e.violate("%s of %+v was accepted, and the task was another's", what, e.c.ID)
	case late:
		e.mu.Lock()
		e.refused++
		e.mu.Unlock()
	}
	return err == nil
}

// begin loads the slot's value: the last one saved, or one still without an answer to its
// worker.
func (e *frozenExecution) begin(ctx context.Context) bool {
	e.mu.Lock()
	had := e.lastAcked()
	e.mu.Unlock()
	var value []byte
	if !e.try("load", func() (err error) { value, err = e.engine().Load(ctx, e.c.ID); return err }) {
		return false
	}
	e.value = string(value)
	e.mu.Lock()
	at := -1
	for i, s := range e.saves[e.c.Call] {
		if s.value == e.value {
			at = i
		}
	}
	e.mu.Unlock()
	if at < had || at < 0 && e.value != "" {
		e.violate("%+v begins with %q, which is save %d; %d was acknowledged", e.c.ID, e.value, at, had)
	}
	return true
}

// lastAcked is the place of the last value that was acknowledged. Callers hold mu.
func (e *frozenExecution) lastAcked() int {
	for i := len(e.saves[e.c.Call]) - 1; i >= 0; i-- {
		if e.saves[e.c.Call][i].acked {
			return i
		}
	}
	return -1
}

func (e *frozenExecution) save(ctx context.Context, n int) {
	value := fmt.Sprintf("%s/%d/%d", e.c.Call, e.c.ID.Fence, n)
	s := &save{value: value}
	e.mu.Lock()
	e.saves[e.c.Call] = append(e.saves[e.c.Call], s)
	e.mu.Unlock()
	if e.try("save", func() error { return e.engine().Save(ctx, e.c.ID, uint64(n)+1, []byte(value)) }) {
		e.mu.Lock()
		s.acked, e.value = true, value
		e.mu.Unlock()
	}
}

// record puts a step on record.
func (e *frozenExecution) record(ctx context.Context, n int) {
	var have *task.Records
	if e.try("records", func() (err error) { have, err = e.engine().Records(ctx, e.c.ID, ""); return err }) {
		s := task.StepResult{Name: fmt.Sprintf("%s>%d/%d", have.Within, e.c.ID.Fence, n), Value: posthouse.Value{Codec: "json", Data: []byte(`1`)}}
		e.try("record", func() error { return e.engine().Record(ctx, e.c.ID, s) })
	}
}

// load checks that the slot is as this worker knows it, if it has the task.
func (e *frozenExecution) load(ctx context.Context) {
	var value []byte
	if e.try("load", func() (err error) { value, err = e.engine().Load(ctx, e.c.ID); return err }) && string(value) != e.value {
		e.violate("%+v has the slot %q, want %q", e.c.ID, value, e.value)
	}
}

func (e *frozenExecution) complete(ctx context.Context) {
	output := fmt.Sprintf("%s/%d", e.c.ID.Gate, e.c.ID.Fence)
	text, err := json.Marshal(output)
	if err != nil {
		e.violate("%v", err)
	}
	v := task.Verdict{Action: task.Complete, Output: text}
	if !e.try("resolve", func() error { return e.engine().Resolve(ctx, e.c.ID, v) }) {
		return
	}
	e.mu.Lock()
	before := e.outputs[e.c.Thread]
	e.outputs[e.c.Thread] = output
	e.mu.Unlock()
	if before != "" {
		e.violate("run %s is complete twice, with %s and %s", e.c.Thread, before, output)
	}
	e.freezer.begin()
}

// A stalling is a store at which an engine is frozen: before a slot of a task is written, or
// once it is read, which is between the look at a claim and what is done for it.
type stalling struct {
	posthouse.Store
	f        *freezer
	careless bool
}

// Slot implements [posthouse.Store].
func (s *stalling) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	stall := key.Thread != posthouse.ProcessThread && s.f.chance(3)
	if stall {
		defer s.f.stall()
		if op.Verb != posthouse.SlotGet {
			s.f.stall()
		}
	}
	slot, err := s.Store.Slot(ctx, key, op)
	if s.careless && (errors.Is(err, posthouse.ErrFenced) || errors.Is(err, posthouse.ErrConflict)) {
		have, err := s.Store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
		if err != nil {
			return have, err
		}
		op.Fence, op.Revision = max(op.Fence, have.Fence), posthouse.AnyRevision
		return s.Store.Slot(ctx, key, op)
	}
	return slot, err
}
