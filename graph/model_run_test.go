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
	"github.com/posthouse/posthouse/internal/proof/dying"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// faults are what happens to the runs of a case. They run out.
type faults struct {
	Crashes []int // after so many appends
	After   []bool
	Cancels []int // after so many nodes
	Drains  []int
	Answers []int  // somebody answers a question while a run goes on
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
	f.Crashes, f.Cancels, f.Drains, f.Answers = few("crashes", 25), few("cancels", 15), few("drains", 30), few("answers", 10)
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

// A referee ends a case that went wrong.
type referee interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// A trial is one case under way.
type trial struct {
	referee
	ctx    context.Context
	thread string
	plan   *graphPlan
	model  *model
	want   mixed  // what it comes to by the model
	why    string // or why that fails
	opt    caseOptions
	faults faults
	rnd    *rand.Rand
	store  posthouse.Store
	w      *witness
	clock  *atomic.Int64 // at least so late it is

	dying  *dying.Store // nil: the process itself may be killed
	ledger *ledger.Ledger
	app    *graph.App[mixed]
	calls  int

	hands map[int]*hand
	laid  map[int]bool // which of them were

	meddles int      // how often it is meddled with
	copies  []string // of the thread
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
	c.dying = dying.New(c.store)
	if len(c.faults.Crashes) > 0 {
		c.dying.Die(c.faults.Crashes[0], c.faults.After[len(c.faults.Crashes)-1])
		c.faults.Crashes = c.faults.Crashes[1:]
	}
	var err error
	c.ledger, err = ledger.Open(c.dying, &ledger.Options{Owner: "p", Now: c.now})
	if err != nil {
		c.Fatal(err)
	}
	c.compile()
}

func (c *trial) compile() {
	var err error
	c.app, err = c.plan.build("model", c.w, false).Compile(c.ledger, &c.opt.Compile)
	if err != nil {
		c.Fatal(err)
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.inherits = inherited(c.ctx, c.ledger)
}

// died reports whether the process did.
func (c *trial) died() bool { return c.dying != nil && c.dying.Dead() }

// A way to begin a call.
type entrance int

const (
	byInput entrance = iota
	byResume
	byReplay // of the checkpoint replayed
)

func modelInput() mixed { return mixed{Log: []string{"begin"}, Sum: 5} }

// call runs or resumes once, under the faults.
func (c *trial) call(thread, branch string, by entrance, replayed posthouse.ID) (*graph.Result[mixed], error) {
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
	begun, answerAt := c.w.events, c.w.events+pop(&c.faults.Answers)
	c.w.event = func(n int) {
		if n > begun && n == stopAt {
			cancel()
		}
		if n > begun && n == drainAt {
			drained()
		}
		if n > begun && n == answerAt {
			c.answer(thread)
		}
	}
	c.w.mu.Unlock()
	o := graph.RunOptions{Branch: branch, Durability: c.opt.Modes[c.calls%len(c.opt.Modes)]}
	if len(c.hands) > 0 {
		o.InterruptBefore = []string{"*"}
	}
	c.calls++
	switch {
	case by == byInput && c.opt.Stream:
		var last *graph.Result[mixed]
		for e, err := range c.app.Stream(ctx, thread, modelInput(), o) {
			if err != nil {
				return nil, err
			}
			last = e.Result
		}
		return last, nil
	case by == byInput:
		return c.app.Run(ctx, thread, modelInput(), o)
	case by == byReplay:
		return c.app.Replay(ctx, replayed, o)
	}
	return c.app.Resume(ctx, thread, o)
}

// finish runs a branch until it is done, or fails for good.
func (c *trial) finish(thread, branch string, by entrance, replayed posthouse.ID) (s *mixed, why string) {
	main := thread == c.thread && branch == ""
	for tries := 0; ; tries++ {
		if main && c.byHand() {
			by = byResume
		}
		if main {
			c.meddle()
		}
		res, err := c.call(thread, branch, by, replayed)
		if tries > 500 {
			c.Fatalf("branch %s of %s makes no progress: %+v, %v", branch, thread, res, err)
		}
		by = byResume
		if len(c.w.wrong) > 0 {
			c.Fatalf("%s (last call: %v)", strings.Join(c.w.wrong, "\n"), err)
		}
		if c.died() {
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
		case errors.Is(err, posthouse.ErrNotFound) && branch == "" && (tries > 0 || c.dying == nil):
			by = byInput // it was lost
		case errors.Is(err, errPlanned), errors.Is(err, context.Canceled), errors.As(err, &panicked):
		case err != nil:
			c.Fatalf("%s: %v", thread, err)
		case res.Status == posthouse.StatusDone && main && c.byHand():
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

// answer decides a question of a thread, if there is one.
func (c *trial) answer(thread string) {
	for g, err := range c.ledger.Gates(c.ctx, ledger.GateQuery{Thread: thread, Limit: 1}) {
		if err == nil {
			_, err = c.ledger.Decide(c.ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "eve"})
		}
		if err != nil && !errors.Is(err, posthouse.ErrDecided) && !c.died() {
			c.w.blame("an answer: %v", err)
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

// decide decides some of the gates, at least one. Where it waits for another
// thread, those are decided that this one waits for, if any.
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
		if g.Kind == posthouse.GateThread {
			var within []posthouse.Gate
			for g, err := range c.ledger.Gates(c.ctx, ledger.GateQuery{Thread: g.Text, All: true}) {
				if err != nil {
					c.Fatal(err)
				}
				within = append(within, *g)
			}
			if len(within) > 0 {
				c.decide(within)
			}
			continue
		}
		_, err := c.ledger.Decide(c.ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"})
		if c.died() {
			return
		}
		if err != nil && !errors.Is(err, posthouse.ErrDecided) {
			c.Fatalf("decide %s: %v", g.Name, err)
		}
	}
}

// foresee runs the model.
func (c *trial) foresee() { c.want, c.model, c.why = c.foreseen(c.hands) }

func (c *trial) foreseen(hands map[int]*hand) (want mixed, m *model, why string) {
	want, m = modelInput(), newModel(c.opt.Compile.Snapshots)
	m.hands = hands
	why = m.run(c.plan, "", &want)
	return want, m, why
}

// check compares what became of a branch with the model.
func (c *trial) check(what string, have *mixed, whyNot string) {
	if whyNot != c.why || c.why == "" && !same(have, &c.want) {
		c.Fatalf("%s ended in %s (%s)\nwant %s (%s)", what, have, whyNot, &c.want, c.why)
	}
}

// forks goes on from checkpoints of a finished thread: in branches, in threads
// and by Replay, one after the other. at are places in its history.
func (c *trial) forks(at []int) {
	var all []posthouse.ID
	for s, err := range c.app.History(c.ctx, c.thread, graph.HistoryOptions{Branch: posthouse.MainBranch, Oldest: true}) {
		if err != nil {
			c.Fatal(err)
		}
		all = append(all, s.ID)
	}
	for i, n := range at {
		id := all[n%len(all)]
		thread, branch, by, o := c.thread, fmt.Sprint("f", i), byResume, graph.ForkOptions{}
		switch i % 3 {
		case 0:
			o.Branch = branch
		case 1:
			thread, branch = fmt.Sprint(c.thread, "-f", i), posthouse.MainBranch
			o.Thread = thread
		default:
			by = byReplay
		}
		switch info, err := c.ledger.Thread(c.ctx, thread); {
		case errors.Is(err, posthouse.ErrNotFound):
		case err != nil:
			c.Fatal(err)
		default:
			if _, ok := info.Branch(branch); ok {
				by, id = byResume, "" // by a process that was killed
			}
		}
		if by == byResume && id != "" {
			if _, err := c.app.Fork(c.ctx, id, nil, o); err != nil {
				c.Fatal(err)
			}
		}
		have, whyNot := c.finish(thread, branch, by, id)
		c.check("branch "+branch+" of "+thread, have, whyNot)
		c.account([][2]string{{thread, branch}}, !c.plan.apart())
	}
	if h := c.head(c.thread, ""); c.why == "" && !same(h, &c.want) {
		c.Fatalf("the forks changed the thread to %s", h)
	}
}

// lines returns the threads of a run on main: its own, and those of subgraphs.
func (c *trial) lines() (lines [][2]string) {
	for t, err := range c.ledger.Threads(c.ctx, posthouse.ThreadQuery{Prefix: c.thread}) {
		if err != nil {
			c.Fatal(err)
		}
		if t.Thread == c.thread || strings.HasPrefix(t.Thread, c.thread+".") {
			lines = append(lines, [2]string{t.Thread, posthouse.MainBranch})
		}
	}
	return lines
}

// account compares the steps on record with the effects of the model.
func (c *trial) account(lines [][2]string, all bool) {
	effects := c.model.effects
	if c.why != "" {
		effects = nil // the model ended at once
	}
	wrong, err := account(c.ctx, c.ledger, lines, effects, all)
	if err != nil || len(wrong) > 0 {
		c.Fatalf("%v: %v %s", lines, err, strings.Join(wrong, "\n"))
	}
}

// shots compares the checkpoints of nodes with those that the policies say,
// where a run does not come by them in other ways.
func (c *trial) shots() {
	var have []string
	running := 0
	for h, err := range c.ledger.List(c.ctx, posthouse.Query{Thread: c.thread, Branch: posthouse.MainBranch, Kind: posthouse.KindNode}) {
		if err != nil {
			c.Fatal(err)
		}
		have = append(have, firstNames(h.Node))
		if h.Status == posthouse.StatusRunning {
			running++
		}
	}
	switch every := func(d graph.Durability) bool {
		return !slices.ContainsFunc(c.opt.Modes, func(m graph.Durability) bool { return m != d })
	}; {
	case every(graph.Exit) && running > 0:
		c.Fatalf("%d checkpoints of a run that writes them at its ends", running)
	case (every(graph.Sync) || every(graph.Async)) && !slices.Equal(have, c.model.shots):
		c.Fatalf("checkpoints of %q, want %q", have, c.model.shots)
	}
}

func (g *graphPlan) apart() bool { return g.has(func(n *nodePlan) bool { return n.Own }) }

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
	c := &trial{referee: rt, ctx: t.Context(), thread: "t", store: memstore.New(), w: newWitness(), clock: new(atomic.Int64)}
	c.plan, c.opt = genGraph("", 0).Draw(rt, "graph"), rapid.Custom(genOptions).Draw(rt, "options")
	c.hands, c.laid = map[int]*hand{}, map[int]bool{}
	for _, h := range genHands(c.plan, 3).Draw(rt, "by hand") {
		c.hands[h.At] = h
	}
	if c.foresee(); c.model.ran > 150 {
		return // too long to be worth its time
	}
	c.faults = rapid.Custom(genFaults).Draw(rt, "faults")
	c.rnd = rand.New(rand.NewPCG(c.faults.Seed, 1))
	c.clock.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	c.meddles = rapid.IntRange(0, 4).Draw(rt, "meddles")
	c.start()
	defer func() { c.ledger.Close() }()
	have, whyNot := c.finish(c.thread, "", byInput, "")
	c.check("the thread", have, whyNot)
	c.account(c.lines(), true)
	if c.why == "" && len(c.hands) == 0 {
		c.shots()
	}
	c.dying.Die(0, false) // what follows is not done by processes that die
	c.finishCopies()
	if len(c.hands) > 0 && c.why == "" {
		c.otherwise(genHands(c.plan, 3).Draw(rt, "otherwise"))
	} else if len(c.hands) == 0 {
		at := rapid.SliceOfN(rapid.IntRange(0, 1000), 0, 3).Draw(rt, "forks")
		c.faults.Cancels = rapid.SliceOfN(rapid.IntRange(1, 10), 0, 4).Draw(rt, "cancels")
		c.forks(at)
	}
	if c.foresee(); c.why == "" && rapid.Bool().Draw(rt, "release") {
		c.releaseAndRepeat()
	}
	report, err := sign.Verify(c.ctx, c.store, nil, nil)
	if err != nil || len(report.Faults) > 0 {
		rt.Fatalf("verify: %v, %+v", err, report)
	}
}
