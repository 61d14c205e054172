package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
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
	"github.com/posthouse/posthouse/worker"
)

// TestDeliveries: calls that come twice, late, in another order, to another engine, or
// with lost answers leave the same as calls that come once. POSTHOUSE_LONG=1 delivers 1,000,000,
// in a few minutes, and -record puts a line about them on record.
func TestDeliveries(t *testing.T) {
	goal := int64(20_000)
	switch {
	case os.Getenv("POSTHOUSE_LONG") != "":
		goal = 1_000_000
	case testing.Short():
		goal = 2_000
	}
	line := &deliveries{}
	if *recordDeliveries {
		line.begin(t)
	}
	begun := time.Now()
	want, wrong := deliverRound(t, &post{rnd: rand.New(rand.NewPCG(0, 1))})
	line.Seed = rand.Uint64N(1 << 32)
	t.Logf("seed %d", line.Seed)
	p := &post{rnd: rand.New(rand.NewPCG(line.Seed, 1)), twice: 45, late: 30, mute: 5}
	for p.delivered.Load() < goal && len(wrong) == 0 {
		var have map[string]delivered
		have, wrong = deliverRound(t, p)
		for thread, w := range want {
			if have[thread] != w {
				wrong = append(wrong, fmt.Sprintf("%s: %+v, want %+v", thread, have[thread], w))
			}
		}
		line.Tasks += len(want)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	line.Calls, line.Deliveries, line.Lost = p.calls.Load(), p.delivered.Load(), p.lost.Load()
	line.Wrong, line.Seconds = len(wrong), int(time.Since(begun).Seconds())
	t.Logf("%d calls, %d deliveries, %d of them again", line.Calls, line.Deliveries, line.again())
	if 100*line.again() < 30*line.Deliveries {
		t.Errorf("%d of %d deliveries are duplicates only", line.again(), line.Deliveries)
	}
	if *recordDeliveries {
		line.end(t)
	}
}

// TestDeliveriesOfSavesWithoutNumbers: a late save overwrites a later one.
func TestDeliveriesOfSavesWithoutNumbers(t *testing.T) {
	if unnumberedSaves(t) == 0 {
		t.Error("no late save was found")
	}
}

// unnumberedSaves is the control arm of TestDeliveries. It returns how many executions did
// not begin with what was saved.
func unnumberedSaves(t *testing.T) int {
	t.Helper()
	_, wrong := deliverRound(t, &post{rnd: rand.New(rand.NewPCG(rand.Uint64(), 1)), twice: 45, late: 30, unnumbered: true})
	return len(wrong)
}

// A delivered is what a run leaves.
type delivered struct {
	output  int
	slot    string
	entries uint64
}

// deliverRound runs 200 programs to their end, with calls that p carries.
func deliverRound(t *testing.T, p *post) (left map[string]delivered, wrong []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRound(t, p)
		for i := range 200 {
			thread := fmt.Sprint("t", i)
			res, err := r.app.Run(t.Context(), thread, i)
			if err != nil || res.Status != posthouse.StatusWaiting {
				t.Fatalf("Run: %+v, error %v", res, err)
			}
			r.gate[thread] = res.Waiting[0].ID
		}
		r.wait()
		left, wrong = r.left(), r.wrong
	})
	return left, wrong
}

// A round is two engines and a worker, which reach each other by post.
type round struct {
	*testing.T
	led  *ledger.Ledger
	app  *flow.App[int, int]
	ends []*dispatch.Dispatcher
	gate map[string]posthouse.ID // the last one of each thread

	mu    sync.Mutex
	wrong []string // executions that did not begin with what was saved
}

func newRound(t *testing.T, p *post) *round {
	t.Helper()
	store := memstore.New()
	r := &round{T: t, gate: map[string]posthouse.ID{}}
	ctx, stop := context.WithCancel(t.Context())
	working, rest := context.WithCancel(t.Context())
	var engines, workers sync.WaitGroup
	t.Cleanup(func() {
		rest()
		workers.Wait()
		p.last.Wait()
		stop()
		engines.Wait()
	})
	for range 2 {
		led, err := ledger.Open(store, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = led.Close() })
		d, err := dispatch.New(led, &dispatch.Options{Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		engines.Go(func() { _ = d.Run(ctx) })
		r.led, r.ends = led, append(r.ends, d)
	}
	program := flow.New("count", func(ctx context.Context, n int) (int, error) {
		return step.RemoteWith[int](ctx, "count", "count", n, runs.RemoteOptions{})
	})
	var err error
	r.app, err = program.Open(r.led, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.ends = r.ends
	w, err := worker.New(p, &worker.Options{Name: "w", Concurrency: 50})
	if err != nil {
		t.Fatal(err)
	}
	worker.Handle(w, "count", r.count)
	workers.Go(func() {
		if err := w.Run(working); err != nil {
			t.Error(err)
		}
	})
	return r
}

// count saves three times in each of three iterations, records a step, and fails once in the
// second.
func (r *round) count(t worker.Task, n int) (int, error) {
	done, _, err := worker.Load[int](t)
	if err != nil {
		return 0, err
	}
	want := 3 * t.Iteration()
	if t.Attempt() == 2 {
		want += 3
	}
	if done != want {
		r.mu.Lock()
		r.wrong = append(r.wrong, fmt.Sprintf("%s, iteration %d, attempt %d begins with %d, want %d (%s)", t.RunID(), t.Iteration(), t.Attempt(), done, want, t.LastFailure()))
		r.mu.Unlock()
	}
	for ; done < 3*t.Iteration()+3; done++ {
		if err := worker.Save(t, done+1); err != nil {
			return 0, err
		}
	}
	if err := t.Stream(done); err != nil && !errors.Is(err, posthouse.ErrUnavailable) {
		return 0, err
	}
	if err := t.SendSignal(t.RunID(), "done", done); err != nil {
		return 0, err
	}
	if _, err := step.Do(t.Context(), "done", func(context.Context) (int, error) { return done, nil }); err != nil {
		return 0, err
	}
	switch {
	case t.Iteration() == 1 && t.Attempt() == 1:
		return 0, errors.New("once more")
	case t.Iteration() < 2:
		return 0, t.Continue(done)
	}
	return n + done, nil
}

// wait waits until no task is open.
func (r *round) wait() {
	for open := 1; open > 0; {
		<-time.After(time.Second)
		open = 0
		for g, err := range r.led.Gates(r.Context(), ledger.GateQuery{Kind: posthouse.GateTask}) {
			if err != nil {
				r.Fatal(err)
			}
			r.gate[g.Thread] = g.ID
			open++
		}
	}
}

// left ends the runs, and reads what is left of them.
func (r *round) left() map[string]delivered {
	all := map[string]delivered{}
	for thread, gate := range r.gate {
		res, err := r.app.Resume(r.Context(), thread)
		if err != nil {
			r.Fatal(err)
		}
		info, err := r.led.Thread(r.Context(), thread)
		if err != nil {
			r.Fatal(err)
		}
		slot, err := r.ends[0].Slot(r.Context(), gate)
		if err != nil {
			r.Fatal(err)
		}
		all[thread] = delivered{output: res.Output, slot: string(slot), entries: info.Tail.Seq}
	}
	return all
}

// A post carries calls to engines as a bad network does. It is a [task.Engine].
type post struct {
	twice, late, mute int  // percent of calls
	unnumbered        bool // saves

	ends             []*dispatch.Dispatcher
	calls, delivered atomic.Int64
	lost             atomic.Int64   // answers
	last             sync.WaitGroup // of deliveries that no call waits for

	mu  sync.Mutex
	rnd *rand.Rand
}

var _ task.Engine = (*post)(nil)

func (p *post) chance(percent int) bool { return p.upTo(100) < percent }

func (p *post) upTo(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rnd.IntN(n)
}

// late is for how long a delivery is on its way.
func (p *post) delay() time.Duration {
	if !p.chance(p.late) {
		return 0
	}
	return time.Duration(p.upTo(int(500 * time.Millisecond)))
}

// carry delivers a call once or twice, and returns the first answer. It may lose that
// answer, and drops the other.
func carry[T any](ctx context.Context, p *post, mute int, call func(context.Context, task.Engine) (T, error)) (none T, err error) {
	type answer struct {
		v   T
		err error
	}
	copies := 1
	if p.chance(p.twice) {
		copies++
	}
	p.calls.Add(1)
	lost := p.chance(mute)
	answers := make(chan answer, copies)
	for range copies {
		d, end := p.delay(), p.ends[p.upTo(len(p.ends))]
		p.last.Go(func() {
			if d > 0 {
				<-time.After(d)
			}
			p.delivered.Add(1)
			v, err := call(context.WithoutCancel(ctx), end)
			answers <- answer{v, err}
		})
	}
	select {
	case a := <-answers:
		if !lost {
			return a.v, a.err
		}
		p.lost.Add(1)
		return none, &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "no answer"}
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// tell is carry for calls that return nothing.
func tell(ctx context.Context, p *post, call func(context.Context, task.Engine) error) error {
	_, err := carry(ctx, p, p.mute, func(ctx context.Context, e task.Engine) (struct{}, error) { return struct{}{}, call(ctx, e) })
	return err
}

func (p *post) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	return carry(ctx, p, p.mute, func(ctx context.Context, e task.Engine) (*task.Session, error) { return e.Connect(ctx, h) })
}

func (p *post) Claim(ctx context.Context, session string) (*task.Claim, error) {
	return carry(ctx, p, p.mute, func(ctx context.Context, e task.Engine) (*task.Claim, error) { return e.Claim(ctx, session) })
}

// Heartbeat loses no answer: without three of them the worker is cut off, and makes another
// attempt.
func (p *post) Heartbeat(ctx context.Context, session string, have []task.ClaimID) (*task.Pulse, error) {
	return carry(ctx, p, 0, func(ctx context.Context, e task.Engine) (*task.Pulse, error) { return e.Heartbeat(ctx, session, have) })
}

func (p *post) Load(ctx context.Context, id task.ClaimID) ([]byte, error) {
	return carry(ctx, p, p.mute, func(ctx context.Context, e task.Engine) ([]byte, error) { return e.Load(ctx, id) })
}

func (p *post) Save(ctx context.Context, id task.ClaimID, n uint64, value []byte) error {
	if p.unnumbered {
		n = 0
	}
	return tell(ctx, p, func(ctx context.Context, e task.Engine) error { return e.Save(ctx, id, n, value) })
}

func (p *post) Signal(ctx context.Context, id task.ClaimID, thread string, s posthouse.Signal) error {
	return tell(ctx, p, func(ctx context.Context, e task.Engine) error { return e.Signal(ctx, id, thread, s) })
}

func (p *post) Stream(ctx context.Context, id task.ClaimID, chunk json.RawMessage) error {
	return tell(ctx, p, func(ctx context.Context, e task.Engine) error { return e.Stream(ctx, id, chunk) })
}

func (p *post) Records(ctx context.Context, id task.ClaimID, after string) (*task.Records, error) {
	return carry(ctx, p, p.mute, func(ctx context.Context, e task.Engine) (*task.Records, error) { return e.Records(ctx, id, after) })
}

func (p *post) Record(ctx context.Context, id task.ClaimID, r task.StepResult) error {
	return tell(ctx, p, func(ctx context.Context, e task.Engine) error { return e.Record(ctx, id, r) })
}

func (p *post) Begin(ctx context.Context, id task.ClaimID, b task.Beginning) (*task.Begun, error) {
	return carry(ctx, p, p.mute, func(ctx context.Context, e task.Engine) (*task.Begun, error) { return e.Begin(ctx, id, b) })
}

func (p *post) End(ctx context.Context, id task.ClaimID, n task.Ending) error {
	return tell(ctx, p, func(ctx context.Context, e task.Engine) error { return e.End(ctx, id, n) })
}

func (p *post) Resolve(ctx context.Context, id task.ClaimID, v task.Verdict) error {
	return tell(ctx, p, func(ctx context.Context, e task.Engine) error { return e.Resolve(ctx, id, v) })
}

func (p *post) Disconnect(ctx context.Context, session string) error {
	return tell(ctx, p, func(ctx context.Context, e task.Engine) error { return e.Disconnect(ctx, session) })
}
