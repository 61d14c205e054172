package posthousetest

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

// TB is what this package needs of a test. *testing.T and *testing.B have it.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(f func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any) // ends the goroutine, as runtime.Goexit does
	Failed() bool
}

// An Open makes programs over the Ledger of a process that starts. It is called once, and
// again after each kill.
type Open func(led *ledger.Ledger) ([]posthouse.Program, error)

// Options refine an [Env]. Nil is the zero value.
type Options struct {
	// Start is where the clock stands at first. Default: Monday, 5 January 2026, 09:00 UTC.
	Start time.Time

	// Ledger configures the Ledger of each process: a Policy, Rules, RequireGrants, a Cipher. Now,
	// Owner and Poll are the Env's. Validate is [gate.Validator] unless it is set.
	Ledger ledger.Options

	// Kill is where the process dies, as [EveryKill] gives it to its scenario. Nil: it lives until
	// [Env.Kill] says otherwise.
	Kill *Kill

	// Tools settle effects with an unknown outcome: a question of kind [gate.KindOutcome] is answered
	// by whether one of them was called with the content that it is about. An answer of
	// [Env.Answer] for the name "outcome" comes first.
	Tools []Witness
}

// An Env is programs over a Ledger in memory, with a clock that stands still, for one test. A test
// uses it from its own goroutine. Nothing runs in between its calls: each call returns once every
// thread has ended, failed, or waits for something that the test has not given yet.
//
// When the test ends, the Env fails it for an answer that no question took, a question that is
// open and that the test has neither answered nor looked at by [Thread.Question], and a kill that was not reached.
type Env struct {
	t     TB
	ctx   context.Context
	open  Open
	opt   Options
	world *world // what is on record
	clock clock

	now      *process
	script   []*scripted
	looked   map[posthouse.ID]bool
	handlers map[string]handler
	kill     *Kill
}

// A process is one life of the programs.
type process struct {
	store    *store
	ledger   *ledger.Ledger
	programs map[string]posthouse.Program
	runner   *runner.Runner
	log      *bytes.Buffer // what the runner could not do
}

// New returns an Env for a test and opens its programs. It ends the test if that fails.
func New(t TB, open Open, o *Options) *Env {
	t.Helper()
	e := &Env{
		t: t, ctx: context.WithoutCancel(t.Context()), open: open, world: newWorld(memstore.New()),
		looked: map[posthouse.ID]bool{}, handlers: map[string]handler{},
	}
	if o != nil {
		e.opt = *o
	}
	e.kill = e.opt.Kill
	e.clock.at = e.opt.Start
	if e.clock.at.IsZero() {
		e.clock.at = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	}
	if e.opt.Ledger.Validate == nil {
		e.opt.Ledger.Validate = gate.Validator()
	}
	e.begin()
	t.Cleanup(e.end)
	return e
}

// begin starts a process over what is on record.
func (e *Env) begin() {
	e.t.Helper()
	p, err := e.process(&store{Store: e.world.below, env: e, running: &posthouse.Running{}}, &e.clock)
	if err != nil {
		e.t.Fatalf("posthousetest: the programs do not open: %v", err)
	}
	e.now = p
}

// process opens the programs over a store, at the time of a clock.
func (e *Env) process(s posthouse.Store, at *clock) (p *process, err error) {
	p = &process{programs: map[string]posthouse.Program{}, log: &bytes.Buffer{}}
	p.store, _ = s.(*store)
	o := e.opt.Ledger
	o.Now, o.Owner = at.now, "posthousetest"
	p.ledger, err = ledger.Open(s, &o)
	if err != nil {
		return nil, err
	}
	programs, err := e.open(p.ledger)
	if err == nil {
		for _, one := range programs {
			p.programs[one.Name()] = one
		}
		p.runner, err = runner.New(p.ledger, &runner.Options{
			Programs: programs, NoWatch: true, Logger: slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
	}
	if err != nil {
		_ = p.ledger.Close() // the first error is returned
		return nil, err
	}
	return p, nil
}

// Ledger returns the Ledger of the process that lives now. After a kill it is another one.
func (e *Env) Ledger() *ledger.Ledger { return e.now.ledger }

// Context returns a context for calls of your own, such as App.Run of a flow. Below it a short wait
// (of a retry, of a sleep) moves the clock, where a run would wait itself.
func (e *Env) Context() context.Context { return engine.WithClock(e.ctx, e.clock.reach) }

// Now returns the time of the clock. It moves by [Env.Advance], and by waits that a run makes
// itself because they are short, as between the attempts of a step.
func (e *Env) Now() time.Time { return e.clock.now() }

// Signal sends a signal to a thread, which may not have begun, and lets the programs go on.
func (e *Env) Signal(thread, name string, value any) {
	e.t.Helper()
	data, err := json.Marshal(value)
	if err == nil {
		_, err = e.now.ledger.Signal(e.ctx, thread, posthouse.Signal{Name: name, Value: data, By: "test", Early: true})
	}
	if err != nil {
		e.t.Fatalf("posthousetest: the signal %q to thread %q: %v", name, thread, err)
	}
	e.Settle()
}

// Cancel asks to cancel a thread's branch main and lets the programs go on.
func (e *Env) Cancel(thread string) {
	e.t.Helper()
	if _, err := e.now.ledger.Cancel(e.ctx, thread, &ledger.CancelOptions{By: "test"}); err != nil {
		e.t.Fatalf("posthousetest: cancelling thread %q: %v", thread, err)
	}
	e.Settle()
}

// Restart ends the process, as a deploy does, and begins another over what is on record. Open is
// called again.
func (e *Env) Restart() {
	e.t.Helper()
	e.stop()
	e.begin()
	e.Settle()
}

func (e *Env) stop() {
	if e.now != nil {
		_ = e.now.ledger.Close() // of a process that is gone
		e.now = nil
	}
}

// Settle lets the programs go on until every thread has ended, failed, or waits for something that
// the test has not given. All other methods of an Env call it; call it after a call of your own.
func (e *Env) Settle() {
	e.t.Helper()
	for range maxRounds {
		err := e.run()
		if e.now.store.isDead() {
			e.stop()
			e.begin()
			continue
		}
		if err != nil {
			e.t.Fatalf("posthousetest: %v\n%s%s", err, e.now.log, e.report(""))
		}
		if !e.handleTask() && !e.answerNext() {
			return
		}
	}
	e.t.Fatalf("posthousetest: the programs do not come to rest\n%s", e.report(""))
}

// maxRounds bounds how often Settle begins again: a program that asks without end is at fault.
const maxRounds = 10_000

// run moves all threads on in the process that lives.
func (e *Env) run() error {
	ctx, cancel := context.WithCancel(e.Context())
	defer cancel()
	defer e.now.store.count(cancel)()
	return e.now.runner.Settle(ctx)
}

// end looks at what is left when the test is over.
func (e *Env) end() {
	e.t.Helper()
	defer func() {
		e.stop()
		_ = e.world.below.Close() // in memory
	}()
	if e.now == nil || e.t.Failed() {
		return
	}
	e.checkScript()
	e.checkKill()
}

// A clock stands still until somebody moves it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// reach moves the clock to a time, never back.
func (c *clock) reach(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.After(c.at) {
		c.at = at
	}
}
