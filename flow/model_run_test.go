package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/proof/dying"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// faults are what happens to the runs of a case. They run out.
type faults struct {
	Crashes []int // after so many appends
	After   []bool
	Cancels []int // after so many effects
	Drains  []int
	Hastes  []int  // somebody answers, or sends a signal, while a run goes on
	Seed    uint64 // for the order of answers
}

func genFaults(t *rapid.T) (f faults) {
	few := func(label string, most int) []int {
		return rapid.SliceOfN(rapid.IntRange(1, most), 0, 4).Draw(t, label)
	}
	f.Crashes, f.Cancels, f.Drains, f.Hastes = few("crashes", 25), few("cancels", 12), few("drains", 20), few("hastes", 10)
	f.After = rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(t, "after")
	f.Seed = rapid.Uint64().Draw(t, "seed")
	return f
}

type caseOptions struct {
	Open   flow.Options
	Stream bool
	Inputs int // executions of the thread, one after the other
}

func genOptions(t *rapid.T) (o caseOptions) {
	o.Open = flow.Options{HoldFor: -1, FewCheckpoints: rapid.Bool().Draw(t, "few")}
	if rapid.Bool().Draw(t, "retry") {
		o.Open.Retry = posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}
	}
	o.Open.Release.Done = rapid.IntRange(0, 3).Draw(t, "release") == 0
	o.Stream, o.Inputs = rapid.Bool().Draw(t, "stream"), rapid.IntRange(1, 3).Draw(t, "inputs")
	return o
}

// An order is what a flow is given.
type orderNo struct {
	N   int // of the executions
	Tag string
}

// A trial is one case under way.
type trial struct {
	*rapid.T
	ctx     context.Context
	program program
	model   *model
	want    []string // by executions
	opt     caseOptions
	faults  faults
	rnd     *rand.Rand
	store   posthouse.Store
	w       *witness
	clock   atomic.Int64
	sent    map[string]int // signals, by threads
	running int            // which execution is

	dying  *dying.Store
	ledger *ledger.Ledger
	app    *flow.App[orderNo, output]
}

func (c *trial) now() time.Time { return time.UnixMilli(c.clock.Load()) }

// start begins a life of the process.
func (c *trial) start() {
	if c.ledger != nil {
		c.ledger.Close()
		c.w.life++
	}
	c.dying = dying.New(c.store)
	if len(c.faults.Crashes) > 0 {
		c.dying.Die(c.faults.Crashes[0], c.faults.After[len(c.faults.Crashes)-1])
		c.faults.Crashes = c.faults.Crashes[1:]
	}
	var err error
	c.ledger, err = ledger.Open(c.dying, &ledger.Options{Owner: "p", Now: c.now, Validate: gate.Validator()})
	if err != nil {
		c.Fatal(err)
	}
	c.app, err = flow.New("model", c.execute).Open(c.ledger, &c.opt.Open)
	if err != nil {
		c.Fatal(err)
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	l := c.ledger
	c.w.inherits = func(thread, branch string) (map[string]int, error) {
		return recorded(c.ctx, l, thread, branch, 0, true)
	}
}

// call runs or resumes once, under the faults; without an input it resumes.
func (c *trial) call(thread string, o flow.RunOptions, in *orderNo, replayed posthouse.ID) (*flow.Result[output], error) {
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
	begun := c.w.events
	stopAt, drainAt, hasteAt := begun+pop(&c.faults.Cancels), begun+pop(&c.faults.Drains), begun+pop(&c.faults.Hastes)
	c.w.event = func(n int) {
		if n > begun && n == stopAt {
			cancel()
		}
		if n > begun && n == drainAt {
			drained()
		}
		if n > begun && n == hasteAt {
			c.hasten(thread)
		}
	}
	c.w.mu.Unlock()
	switch {
	case in != nil && c.opt.Stream:
		var last *flow.Result[output]
		for e, err := range c.app.Stream(ctx, thread, *in, o) {
			if err != nil {
				return nil, err
			}
			last = e.Result
		}
		return last, nil
	case in != nil:
		return c.app.Run(ctx, thread, *in, o)
	case replayed != "":
		return c.app.Replay(ctx, replayed, o)
	}
	return c.app.Resume(ctx, thread, o)
}

// undone are what the head of a branch may say that a run was to go on with, and
// was asked to drain before it did.
var undone = []posthouse.Status{posthouse.StatusInterrupted, posthouse.StatusFailed, posthouse.StatusReady}

// finish runs a branch until it is done. replayed is the checkpoint that it
// begins after, or in is given as its input.
func (c *trial) finish(thread, branch string, in *orderNo, replayed posthouse.ID) *flow.Snapshot[orderNo, output] {
	o := flow.RunOptions{Branch: branch}
	if in != nil {
		o.Run = fmt.Sprint("run-", in.N)
	} else {
		o.Release = &flow.AutoRelease{}
	}
	for tries := 0; ; tries++ {
		res, err := c.call(thread, o, c.again(thread, in), replayed)
		if tries > 500 {
			c.Fatalf("branch %s of %s makes no progress: %+v, %v", branch, thread, res, err)
		}
		replayed = ""
		if len(c.w.wrong) > 0 {
			c.Fatalf("%s (last call: %v)", strings.Join(c.w.wrong, "\n"), err)
		}
		switch {
		case c.dying.Dead():
			c.start()
			if s := c.released(thread, in); s != nil {
				return s
			}
		case err != nil && (errors.Is(err, context.Canceled) || isPlanned(err)):
		case err != nil:
			c.Fatalf("%s: %v", thread, err)
		case res.Status == posthouse.StatusDone:
			return c.ended(thread, branch, in, res)
		case res.Status == posthouse.StatusWaiting:
			c.w.parked[res.Checkpoint] = c.w.awaited[thread+"~"+branch]
			c.decide(thread, branch, res.Waiting)
		case res.Status != posthouse.StatusRunning && !slices.Contains(undone, res.Status):
			c.Fatalf("status %s", res.Status)
		}
	}
}

// again returns the input, or nil where the execution is on record and may as
// well be resumed.
func (c *trial) again(thread string, in *orderNo) *orderNo {
	if in == nil || c.rnd.IntN(2) == 0 {
		return in
	}
	if s, err := c.app.State(c.ctx, thread); err != nil || s.Input.N != in.N {
		return in
	}
	return nil
}

// released returns what an execution ended in that released its thread before
// its process died, nil if it did not.
func (c *trial) released(thread string, in *orderNo) *flow.Snapshot[orderNo, output] {
	if in == nil || !c.opt.Open.Release.Done {
		return nil
	}
	v, err := c.app.Version(c.ctx, thread, strconv.Itoa(in.N))
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err != nil {
		c.Fatal(err)
	}
	return v.State
}

// ended compares the result of a run with what is on record.
func (c *trial) ended(thread, branch string, in *orderNo, res *flow.Result[output]) *flow.Snapshot[orderNo, output] {
	s := c.released(thread, in)
	switch auto := in != nil && c.opt.Open.Release.Done; {
	case auto && (s == nil || res.Release == nil):
		c.Fatalf("execution %d of %s was not released: %+v", in.N, thread, res)
	case !auto:
		var err error
		s, err = c.app.State(c.ctx, thread, flow.StateOptions{Branch: branch})
		if err != nil {
			c.Fatal(err)
		}
	}
	if s.ID != res.Checkpoint || s.Output != res.Output || s.Status != posthouse.StatusDone {
		c.Fatalf("the run ended in %+v, on record is %+v", res, s)
	}
	return s
}

// decide brings about one of the things, at least, that a branch waits for.
func (c *trial) decide(thread, branch string, gates []posthouse.Gate) {
	if len(gates) == 0 {
		c.Fatal("it waits for nothing")
	}
	c.rnd.Shuffle(len(gates), func(i, j int) { gates[i], gates[j] = gates[j], gates[i] })
	for _, g := range gates[:1+c.rnd.IntN(len(gates))] {
		switch {
		case !g.ExpiresAt.IsZero():
			c.clock.Store(max(c.clock.Load(), g.ExpiresAt.UnixMilli()))
			continue
		case g.Kind == posthouse.GateSignal:
			c.await(thread, branch)
		default:
			c.answer(&g)
		}
		if c.dying.Dead() {
			return
		}
	}
}

// await sends the signal that a branch waits for.
func (c *trial) await(thread, branch string) {
	n := c.w.awaited[thread+"~"+branch]
	if _, ok := c.sent[thread]; !ok {
		c.sent[thread] = n - 1 // a fork, which took those before in another thread
	}
	if n <= c.sent[thread] {
		c.Fatalf("branch %s of %s waits for signal %d, which was sent", branch, thread, n)
	}
	for c.sent[thread] < n {
		if !c.send(thread) {
			return
		}
	}
}

// send sends a thread its next signal, and reports whether that is known to be
// on record. If not it is sent again.
func (c *trial) send(thread string) bool {
	n := c.sent[thread] + 1
	value, _ := json.Marshal(fmt.Sprint("s", n))
	_, err := c.ledger.Signal(c.ctx, thread, posthouse.Signal{ID: posthouse.ID(fmt.Sprint(thread, "-", n)), Name: "s", Value: value})
	switch {
	case c.dying.Dead():
		return false
	case err != nil:
		c.w.blame("signal %d: %v", n, err)
		return false
	}
	c.sent[thread] = n
	return true
}

// answer decides a question as the program says.
func (c *trial) answer(g *posthouse.Gate) {
	d := posthouse.Decision{Verdict: posthouse.Verdict(g.Labels["say"]), By: "bob"}
	if d.Verdict == posthouse.Respond {
		d.Value, d.By = json.RawMessage(`"so"`), "bob-"+string(g.ID) // who answers is a requester of what follows
	}
	_, err := c.ledger.Decide(c.ctx, g.ID, d)
	if err != nil && !errors.Is(err, posthouse.ErrDecided) && !c.dying.Dead() {
		c.w.blame("decide %s: %v", g.Name, err)
	}
}

// hasten answers a question of the thread that is run, if there is one, and
// otherwise sends a signal before it is waited for.
func (c *trial) hasten(thread string) {
	for g, err := range c.ledger.Gates(c.ctx, ledger.GateQuery{Thread: thread}) {
		if err != nil {
			return
		}
		if g.Labels["say"] != "" && g.ExpiresAt.IsZero() {
			c.answer(g)
			return
		}
	}
	if thread == "t" && c.sent[thread] < c.running*c.model.taken/c.opt.Inputs {
		c.send(thread)
	}
}

// check compares what an execution came to with the model.
func (c *trial) check(what string, s *flow.Snapshot[orderNo, output], tag string, n int) {
	want := output{n, tag + c.want[n-1]}
	if c.opt.Open.Release.Done {
		want.N = 1
	}
	if s.Output != want {
		c.Fatalf("%s: execution %d ended in %+v\nwant %+v", what, n, s.Output, want)
	}
	names, err := recorded(c.ctx, c.ledger, s.Thread, s.Branch, s.Seq, false)
	if err != nil {
		c.Fatal(err)
	}
	effects := newModel()
	for i := range n {
		effects.execute(c.program, i+1)
	}
	if wrong := account(names, effects.effects); len(wrong) > 0 {
		c.Fatalf("%s: %s", what, strings.Join(wrong, "\n"))
	}
}

// history returns the checkpoints of the thread's main, versions and all.
func (c *trial) history() (all []*flow.Snapshot[orderNo, output]) {
	o := flow.HistoryOptions{Branch: posthouse.MainBranch, Oldest: true}
	add := func() {
		for s, err := range c.app.History(c.ctx, "t", o) {
			if err != nil {
				c.Fatal(err)
			}
			all = append(all, s)
		}
	}
	if !c.opt.Open.Release.Done {
		add()
		return all
	}
	for o.Version = 1; int(o.Version) <= c.opt.Inputs; o.Version++ {
		add()
	}
	return all
}

// forks goes on from checkpoints of the finished thread: in branches, in threads
// and by Replay, one after the other. at are places in its history.
func (c *trial) forks(at []int) {
	all := c.history()
	ends := slices.DeleteFunc(slices.Clone(all), func(s *flow.Snapshot[orderNo, output]) bool { return s.Status != posthouse.StatusDone })
	if len(ends) != c.opt.Inputs {
		c.Fatalf("%d executions ended on record", len(ends))
	}
	for i, n := range at {
		s := all[n%len(all)]
		thread, branch, tag, replayed, o := "t", fmt.Sprint("f", i), s.Input.Tag, s.ID, flow.ForkOptions{}
		kind := i % 3
		if c.opt.Open.Release.Done {
			kind = 1 // a version is taken up again elsewhere: its name has a generation of its own
		}
		switch kind {
		case 0:
			o.Branch, replayed = branch, ""
		case 1:
			thread, branch, replayed = fmt.Sprint("t-f", i), posthouse.MainBranch, ""
			o.Thread = thread
		}
		if replayed == "" {
			var change func(*orderNo)
			if s.Status != posthouse.StatusDone {
				tag = fmt.Sprint("tag", i, " ")
				change = func(in *orderNo) { in.Tag = tag }
			}
			if _, err := c.app.Fork(c.ctx, s.ID, change, o); err != nil {
				c.Fatal(err)
			}
			c.w.awaited[thread+"~"+branch] = c.w.parked[s.ID] // it waits for the same, and is not executed before that comes
		}
		c.check(fmt.Sprintf("fork %d of %s %s (%s)", i, s.Kind, s.Node, s.Status), c.finish(thread, branch, nil, replayed), tag, s.Input.N)
	}
	for _, s := range ends {
		now, err := c.app.State(c.ctx, "t", flow.StateOptions{Checkpoint: s.ID})
		if err != nil || now.Output != s.Output {
			c.Fatalf("the forks changed what was on record: %+v, %v", now, err)
		}
	}
}

// Any flow, whatever happens to the processes that run it, ends where a plain
// program would, and does nothing twice; so does each fork of it.
// POSTHOUSE_CASES says how many are tried; -rapid.seed repeats one.
func TestRandomFlows(t *testing.T) {
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
	c := &trial{T: rt, ctx: t.Context(), store: memstore.New(), w: newWitness(), model: newModel(), sent: map[string]int{"t": 0}}
	c.program, c.opt = genProgram().Draw(rt, "program"), rapid.Custom(genOptions).Draw(rt, "options")
	for n := range c.opt.Inputs {
		c.want = append(c.want, c.model.execute(c.program, n+1))
	}
	if c.model.ran > 200 {
		return // too long to be worth its time
	}
	c.faults = rapid.Custom(genFaults).Draw(rt, "faults")
	c.rnd = rand.New(rand.NewPCG(c.faults.Seed, 1))
	c.clock.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	c.start()
	defer func() { c.ledger.Close() }()
	for n := range c.opt.Inputs {
		c.running = n + 1
		c.check("the thread", c.finish("t", posthouse.MainBranch, &orderNo{N: n + 1}, ""), "", n+1)
	}
	c.dying.Die(0, false) // what follows is not done by processes that die
	c.faults.Crashes = nil
	at := rapid.SliceOfN(rapid.IntRange(0, 1000), 0, 3).Draw(rt, "forks")
	c.faults.Cancels = rapid.SliceOfN(rapid.IntRange(1, 10), 0, 4).Draw(rt, "cancels")
	c.forks(at)
	report, err := sign.Verify(c.ctx, c.store, nil, nil)
	if err != nil || len(report.Faults) > 0 {
		rt.Fatalf("verify: %v, %+v", err, report)
	}
}
