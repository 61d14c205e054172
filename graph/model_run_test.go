package graph_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// A dying store loses its process at an append: that one is made or not, and
// nothing after it is.
type dying struct {
	posthouse.Store
	left  atomic.Int64 // appends to come
	after bool         // the last one is made, but nobody is told
	dead  atomic.Bool
}

func (d *dying) Append(ctx context.Context, b *posthouse.Batch) error {
	gone := &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the process is gone"}
	if d.dead.Load() {
		return gone
	}
	if d.left.Add(-1) == 0 {
		d.dead.Store(true)
		if d.after {
			_ = d.Store.Append(ctx, b)
		}
		return gone
	}
	return d.Store.Append(ctx, b)
}

func (d *dying) Close() error { return nil }

// Faults are what happens to the runs of a case. They run out.
type faults struct {
	Crashes []int // after so many appends
	After   []bool
	Cancels []int // after so many nodes
	Drains  []int
	Seed    uint64 // for the order of decisions
}

type caseOptions struct {
	Compile graph.CompileOptions
	Modes   []graph.Durability // of each call in turn
	Stream  bool
}

func genFaults(t *rapid.T) (f faults) {
	few := func(label string, most int) []int {
		return rapid.SliceOfN(rapid.IntRange(1, most), 0, 4).Draw(t, label)
	}
	f.Crashes, f.Cancels, f.Drains = few("crashes", 25), few("cancels", 15), few("drains", 30)
	f.After = rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(t, "after")
	f.Seed = rapid.Uint64().Draw(t, "seed")
	return f
}

func genOptions(t *rapid.T) (o caseOptions) {
	o.Compile = graph.CompileOptions{
		RecursionLimit: 10_000, Concurrency: rapid.IntRange(1, 5).Draw(t, "concurrency"), FailFast: rapid.Bool().Draw(t, "failfast"), HoldFor: -1,
		Snapshots: graph.Snapshots(rapid.IntRange(0, 4).Draw(t, "snapshots")), Check: rapid.Bool().Draw(t, "check"),
	}
	o.Modes = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) graph.Durability { return graph.Durability(rapid.IntRange(0, 2).Draw(t, "mode")) }), 1, 3).Draw(t, "modes")
	o.Stream = rapid.Bool().Draw(t, "stream")
	return o
}

// A trial is one case under way.
type trial struct {
	*rapid.T
	ctx    context.Context
	plan   *graphPlan
	opt    caseOptions
	faults faults
	rnd    *rand.Rand
	store  posthouse.Store
	w      *witness
	clock  atomic.Int64

	dying  *dying
	ledger *posthouse.Ledger
	app    *graph.App[mixed]
	calls  int
}

func (c *trial) now() time.Time { return time.UnixMilli(c.clock.Load()) }

// start begins a life of the process.
func (c *trial) start() {
	if c.ledger != nil {
		c.ledger.Close()
		c.w.mu.Lock()
		c.w.life++
		c.w.mu.Unlock()
	}
	c.dying = &dying{Store: c.store}
	if len(c.faults.Crashes) > 0 {
		c.dying.left.Store(int64(c.faults.Crashes[0]))
		c.dying.after = c.faults.After[len(c.faults.Crashes)-1]
		c.faults.Crashes = c.faults.Crashes[1:]
	}
	var err error
	if c.ledger, err = posthouse.Open(c.dying, &posthouse.Options{Owner: "p", Now: c.now}); err != nil {
		c.Fatal(err)
	}
	if c.app, err = c.plan.build("model", c.w, false).Compile(c.ledger, &c.opt.Compile); err != nil {
		c.Fatal(err)
	}
}

// call runs or resumes once, under the faults.
func (c *trial) call(thread, branch string, fresh bool) (*graph.Result[mixed], error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	drain := make(chan struct{})
	drained := sync.OnceFunc(func() { close(drain) })
	ctx = engine.WithDrain(ctx, drain)
	pop := func(at *[]int) (n int) {
		if len(*at) > 0 {
			n, *at = (*at)[0], (*at)[1:]
		}
		return n
	}
	c.w.mu.Lock()
	stopAt, drainAt := c.w.events+pop(&c.faults.Cancels), c.w.events+pop(&c.faults.Drains)
	begun := c.w.events
	c.w.event = func(n int) {
		if n > begun && n == stopAt {
			cancel()
		}
		if n > begun && n == drainAt {
			drained()
		}
	}
	c.w.mu.Unlock()
	o := graph.RunOptions{Branch: branch, Durability: c.opt.Modes[c.calls%len(c.opt.Modes)]}
	c.calls++
	switch {
	case fresh && c.opt.Stream:
		var last *graph.Result[mixed]
		for e, err := range c.app.Stream(ctx, thread, mixed{Log: []string{"begin"}, Sum: 5}, o) {
			if err != nil {
				return nil, err
			}
			last = e.Result
		}
		return last, nil
	case fresh:
		return c.app.Run(ctx, thread, mixed{Log: []string{"begin"}, Sum: 5}, o)
	}
	return c.app.Resume(ctx, thread, o)
}

// finish runs a branch until it is done, or fails for good.
func (c *trial) finish(thread, branch string, fresh bool) (s *mixed, why string) {
	for tries := 0; ; tries++ {
		res, err := c.call(thread, branch, fresh)
		if tries > 500 {
			c.Fatalf("branch %s of %s makes no progress: %+v, %v", branch, thread, res, err)
		}
		fresh = false
		if len(c.w.wrong) > 0 {
			c.Fatalf("%s (last call: %v)", strings.Join(c.w.wrong, "\n"), err)
		}
		if c.dying.dead.Load() {
			c.start()
			continue
		}
		var m *graph.MergeError
		var j *graph.JoinError
		var panicked *engine.PanicError
		switch {
		case errors.As(err, &m):
			return c.head(thread, branch), "merge"
		case errors.As(err, &j):
			return c.head(thread, branch), "join"
		case errors.Is(err, posthouse.ErrNotFound) && tries > 0 && branch == "":
			fresh = true // the input was lost
		case errors.Is(err, errPlanned), errors.Is(err, context.Canceled), errors.As(err, &panicked):
		case err != nil:
			c.Fatalf("%s: %v", thread, err)
		case res.Status == posthouse.StatusDone:
			if h := c.head(thread, branch); !same(h, &res.State) {
				c.Fatalf("the run ended in %s, on record is %s", &res.State, h)
			}
			return &res.State, ""
		case res.Status == posthouse.StatusWaiting:
			c.decide(res.Waiting)
		case res.Status == posthouse.StatusInterrupted, res.Status == posthouse.StatusRunning:
		default:
			c.Fatalf("status %s", res.Status)
		}
	}
}

func (c *trial) head(thread, branch string) *mixed {
	s, err := c.app.State(c.ctx, thread, graph.StateOptions{Branch: branch})
	if err != nil {
		c.Fatal(err)
	}
	return &s.State
}

// decide decides some of the gates, at least one.
func (c *trial) decide(gates []posthouse.Gate) {
	if len(gates) == 0 {
		c.Fatal("it waits for nothing")
	}
	c.rnd.Shuffle(len(gates), func(i, j int) { gates[i], gates[j] = gates[j], gates[i] })
	for _, g := range gates[:1+c.rnd.IntN(len(gates))] {
		if g.Kind == posthouse.GateTimer {
			c.clock.Store(max(c.clock.Load(), g.ExpiresAt.UnixMilli()))
			continue
		}
		_, err := c.ledger.Decide(c.ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
		if c.dying.dead.Load() {
			return
		}
		if err != nil {
			c.Fatalf("decide %s: %v", g.Name, err)
		}
	}
}

// fork begins a branch or a thread at a checkpoint and tells the witness what
// it inherits.
func (c *trial) fork(id posthouse.ID, thread string) (string, string) {
	s, err := c.app.Fork(c.ctx, id, nil, graph.ForkOptions{Thread: thread})
	if err != nil {
		c.Fatal(err)
	}
	all, err := c.ledger.Executions(c.ctx, &s.Header)
	if err != nil {
		c.Fatal(err)
	}
	where := s.Thread
	if s.Branch != posthouse.MainBranch {
		where += "~" + s.Branch
	}
	for task, x := range all {
		for _, r := range x.Steps {
			if r.Value.Codec == posthouse.JSON.Name() {
				c.w.acked[fmt.Sprintf("%s/%s/%s/%d", where, task, r.Name, r.Occurrence)] = true
			}
		}
	}
	return s.Thread, s.Branch
}

// Any graph, whatever happens to the processes that run it, ends where a plain
// program would, and does nothing twice. POSTHOUSE_CASES says how many are
// tried; -rapid.seed repeats one.
func TestRandomGraphs(t *testing.T) {
	cases := os.Getenv("POSTHOUSE_CASES")
	if cases == "" {
		cases = "200"
	}
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(cases)
		defer f.Value.Set(f.DefValue)
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rapid.Check(t, func(rt *rapid.T) { randomCase(t, rt) })
}

func randomCase(t *testing.T, rt *rapid.T) {
	plan := genGraph("", 0).Draw(rt, "graph")
	want := &mixed{Log: []string{"begin"}, Sum: 5}
	m := &model{kept: map[string]*mixed{}}
	why := m.run(plan, "", want)
	if m.ran > 150 {
		return // too long to be worth its time
	}
	c := &trial{T: rt, ctx: t.Context(), plan: plan, opt: rapid.Custom(genOptions).Draw(rt, "options"), faults: rapid.Custom(genFaults).Draw(rt, "faults"), store: memstore.New(), w: newWitness()}
	c.rnd = rand.New(rand.NewPCG(c.faults.Seed, 1))
	c.clock.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	c.start()
	defer func() { c.ledger.Close() }()
	check := func(what string, have *mixed, whyNot string) {
		if whyNot != why || why == "" && !same(have, want) {
			rt.Fatalf("%s ended in %s (%s)\nwant %s (%s)", what, have, whyNot, want, why)
		}
	}
	have, whyNot := c.finish("t", "", true)
	check("the thread", have, whyNot)

	var all []posthouse.ID
	for s, err := range c.app.History(c.ctx, "t") {
		if err != nil {
			rt.Fatal(err)
		}
		all = append(all, s.ID)
	}
	slices.Reverse(all)
	c.dying.left.Store(0) // forks are not made by processes that die
	for i, at := range rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 0, 3).Draw(rt, "forks") {
		thread := ""
		if i%2 == 1 {
			thread = "fork-" + string(rune('a'+i))
		}
		th, br := c.fork(all[at], thread)
		c.faults.Cancels = rapid.SliceOfN(rapid.IntRange(1, 10), 0, 2).Draw(rt, "cancels")
		have, whyNot := c.finish(th, br, false)
		check("the fork", have, whyNot)
	}
	if h := c.head("t", ""); why == "" && !same(h, want) {
		rt.Fatalf("the forks changed the thread to %s", h)
	}
	report, err := sign.Verify(c.ctx, c.store, nil, nil)
	if err != nil || len(report.Faults) > 0 {
		rt.Fatalf("verify: %v, %+v", err, report)
	}
}
