package grants

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/dying"
	"github.com/posthouse/posthouse/internal/proof/stalling"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
)

// A process has the programs, a ledger, and an engine for workers. It may be lost at an append,
// and its connection to the store may stall.
type process struct {
	w      *world
	name   string
	number int
	conn   *stalling.Store // nil for a store that one process has
	store  *dying.Store
	ledger *ledger.Ledger
	engine *dispatch.Dispatcher
	stop   func()

	serving            context.Context // of workers' calls that wait for tasks
	hangUp, stopEngine func()
}

// An alone store says that only this process has it open: the control arm of what is confirmed.
type alone struct {
	posthouse.Store
	runs posthouse.Running
}

func (*alone) Exclusive() bool            { return true }
func (a *alone) Runs() *posthouse.Running { return &a.runs }

// start begins a process over the store.
func (w *world) start() *process {
	w.processes++
	p := &process{w: w, name: fmt.Sprint("process-", w.processes), number: w.processes}
	below := w.below
	if w.shared {
		p.conn = stalling.New(below)
		below = p.conn
	}
	p.store = dying.New(below)
	var s posthouse.Store = p.store
	switch x, ok := w.below.(posthouse.Excluder); {
	case ok && x.Exclusive():
		s = &exclusive{p.store, x}
	case w.witness.arm == confirmed:
		s = &alone{Store: p.store}
	}
	l, err := ledger.Open(s, &ledger.Options{Now: w.now, Validate: gate.Validator(), Owner: p.name, RequireGrants: w.witness.arm != ownGrant && w.witness.arm != noAnswer})
	w.must(err)
	p.ledger = l
	p.engine, err = dispatch.New(l, &dispatch.Options{Wait: 20 * time.Second})
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	p.serving, p.hangUp = context.WithCancel(context.Background())
	go func() { ended <- p.engine.Run(ctx) }()
	p.stopEngine = sync.OnceFunc(func() {
		p.hangUp()
		cancel()
		<-ended
	})
	p.stop = func() {
		if p.conn != nil {
			p.conn.Heal()
		}
		p.stopEngine()
		_ = l.Close() // of a lost process it fails
	}
	return p
}

// An exclusive store is a dying one over a store that one process has.
type exclusive struct {
	*dying.Store
	posthouse.Excluder
}

// revive begins another process where this one was lost. Its lease runs out first.
func (w *world) revive() {
	if !w.here.store.Dead() {
		return
	}
	w.witness.tally("processes lost")
	w.replace()
}

// replace ends the process and begins another one.
func (w *world) replace() {
	old := w.here
	w.setHere(nil)
	old.stop()
	w.pass(6 * time.Second)
	w.setHere(w.start())
	w.pass(50 * time.Millisecond)
}

func (w *world) setHere(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.here = p
}

// A line is a worker's connection to whatever engine there is. While it is cut, nothing comes
// through.
type line struct {
	w  *world
	mu sync.Mutex
	// until is when it is whole again.
	until  time.Time
	claims map[string]*task.Claim // by key, and by thread and slot
}

func (l *line) cut(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(d)
}

func (l *line) claim(key string) *task.Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claims[key]
}

// to returns the engine, once the line is whole.
func (l *line) to() (task.Engine, error) {
	p, err := l.process()
	if err != nil {
		return nil, err
	}
	return p.engine, nil
}

func (l *line) process() (*process, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if l.w.here == nil || l.w.here.store.Dead() || time.Now().Before(l.until) {
		return nil, &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the line is cut"}
	}
	return l.w.here, nil
}

func (l *line) Connect(ctx context.Context, h task.Hello) (*task.Session, error) {
	e, err := l.to()
	if err != nil {
		return nil, err
	}
	return e.Connect(ctx, h)
}

func (l *line) Claim(ctx context.Context, session string) (*task.Claim, error) {
	p, err := l.process()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.serving, cancel)()
	c, err := p.engine.Claim(ctx, session)
	if _, down := l.to(); down != nil {
		return nil, down // the answer is lost
	}
	if c != nil {
		l.mu.Lock()
		l.claims[c.Key], l.claims[c.Thread+"/"+c.Step] = c, c
		l.mu.Unlock()
	}
	return c, err
}

func (l *line) Heartbeat(ctx context.Context, session string, have []task.ClaimID) (*task.Pulse, error) {
	e, err := l.to()
	if err != nil {
		return nil, err
	}
	return e.Heartbeat(ctx, session, have)
}

func (l *line) Load(ctx context.Context, id task.ClaimID) ([]byte, error) {
	e, err := l.to()
	if err != nil {
		return nil, err
	}
	return e.Load(ctx, id)
}

func (l *line) Save(ctx context.Context, id task.ClaimID, n uint64, value []byte) error {
	e, err := l.to()
	if err != nil {
		return err
	}
	return e.Save(ctx, id, n, value)
}

func (l *line) Signal(ctx context.Context, id task.ClaimID, thread string, s posthouse.Signal) error {
	e, err := l.to()
	if err != nil {
		return err
	}
	return e.Signal(ctx, id, thread, s)
}

func (l *line) Stream(ctx context.Context, id task.ClaimID, chunk json.RawMessage) error {
	e, err := l.to()
	if err != nil {
		return err
	}
	return e.Stream(ctx, id, chunk)
}

func (l *line) Records(ctx context.Context, id task.ClaimID, after string) (*task.Records, error) {
	e, err := l.to()
	if err != nil {
		return nil, err
	}
	return e.Records(ctx, id, after)
}

func (l *line) Record(ctx context.Context, id task.ClaimID, r task.StepResult) error {
	e, err := l.to()
	if err != nil {
		return err
	}
	return e.Record(ctx, id, r)
}

func (l *line) Begin(ctx context.Context, id task.ClaimID, b task.Beginning) (*task.Begun, error) {
	e, err := l.to()
	if err != nil {
		return nil, err
	}
	return e.Begin(ctx, id, b)
}

func (l *line) End(ctx context.Context, id task.ClaimID, n task.Ending) error {
	e, err := l.to()
	if err != nil {
		return err
	}
	return e.End(ctx, id, n)
}

func (l *line) Resolve(ctx context.Context, id task.ClaimID, v task.Verdict) error {
	e, err := l.to()
	if err != nil {
		return err
	}
	return e.Resolve(ctx, id, v)
}

func (l *line) Disconnect(ctx context.Context, session string) error {
	e, err := l.to()
	if err != nil {
		return err
	}
	return e.Disconnect(ctx, session)
}

// employ begins a worker that pays.
func (w *world) employ(name string) {
	l := &line{w: w, claims: map[string]*task.Claim{}}
	k, err := worker.New(l, &worker.Options{Name: name, Concurrency: 4, DrainTimeout: time.Second})
	w.must(err)
	worker.Handle(k, "pay", func(t worker.Task, c payment) (string, error) { return w.handle(l, name, t, c) })
	worker.Handle(k, "deal", func(t worker.Task, c payment) (string, error) { return w.handleDeal(l, name, t, c) })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	w.workers = append(w.workers, func() { cancel(); <-ended })
}
