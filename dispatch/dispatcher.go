package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/control"
	"github.com/posthouse/posthouse/dispatch/internal/hints"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/dispatch/internal/tasklog"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/hint"
)

// Options configure a [Dispatcher]. Nil is the zero value.
type Options struct {
	Poll   time.Duration // between looks for new tasks; 0 is a second. A store that can be watched says so itself
	Wait   time.Duration // how long Claim waits for a task; 0 is 30 seconds, at most 5 minutes
	Logger *slog.Logger  // default: no log

	// Concurrency bounds how many tasks of a name the workers of this process have at once. Other
	// processes over the store count their own, but see Hints. Default: as many as workers take.
	Concurrency map[string]int

	// Hints is a queue that engines over one store share. With it, the engine that has a worker
	// for a task is told of it, and no other; and Concurrency holds for all of them together, by name
	// and group. All say the same in Concurrency. While the queue is away, and if there is no queue,
	// each engine finds all tasks in the store.
	Hints hint.Queue

	// Stream gets the chunks of handlers, on the handler's call. Default: they are dropped.
	Stream func(ctx context.Context, thread, step string, chunk []byte)
}

const (
	defaultPoll = time.Second
	defaultWait = 30 * time.Second
	maxWait     = 5 * time.Minute
)

// check sets the defaults of options, and names one that does not fit.
func (o *Options) check() error {
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Poll < 0 {
		return posthouse.Invalid("Poll", "is %s; it must not be negative", o.Poll)
	}
	for name, n := range o.Concurrency {
		if n < 1 {
			return posthouse.Invalid("Concurrency", "of task %.40q is %d; it is at least 1", name, n)
		}
	}
	if o.Wait < 0 || o.Wait > maxWait {
		return posthouse.Invalid("Wait", "is %s; it is at most %s", o.Wait, maxWait)
	}
	return nil
}

// A Dispatcher gives the tasks of a Ledger's threads to workers. It is a [task.Engine], and
// safe for concurrent use.
type Dispatcher struct {
	ledger *ledger.Ledger
	core   *commit.Committer
	opt    Options
	lease  time.Duration // how long a session may be silent

	sessions *sessions.Sessions // of workers that talk to this process
	board    *board.Board       // open tasks that they may claim
	hints    *hints.Queue       // what engines over one store tell each other of open tasks
	claims   *claims.Claims     // tasks that sessions here have
	slots    *claims.Slots      // where the store says who has a task
	log      *tasklog.Log       // what the log says of tasks
	finder   *finder            // finds open tasks
	attempts *attempts          // records how they end
	effects  *effects           // of handlers, under grants
	control  *control.Control   // for operators

	silent atomic.Uint64 // sessions that ended silently
}

var _ task.Engine = (*Dispatcher)(nil)

// New returns a Dispatcher, which finds tasks while [Dispatcher.Run] runs.
// [posthouse.ErrInvalid] names an option that does not fit.
func New(l *ledger.Ledger, o *Options) (*Dispatcher, error) {
	d := &Dispatcher{ledger: l, core: l.Core(), lease: l.Core().Config.LeaseTTL}
	if o != nil {
		d.opt = *o
	}
	if err := d.opt.check(); err != nil {
		return nil, err
	}
	logger := d.opt.Logger
	d.log = tasklog.New(l)
	d.slots = claims.NewSlots(d.core.Core)
	d.sessions = sessions.New(d.core.Core, logger)
	d.board = board.New(d.opt.Concurrency)
	d.claims = claims.New(claims.Options{
		Ledger: l, Log: d.log, Slots: d.slots, Sessions: d.sessions, Board: d.board, Logger: logger,
		Forgotten: func(gate posthouse.ID) { d.hints.Nack(gate) },
	})
	d.hints = hints.New(d.opt.Hints, d.board, hints.Options{
		Now: d.core.Now, Lease: d.lease, Idle: d.core.Config.RenewEvery(), Poll: d.opt.Poll, Limits: d.opt.Concurrency,
		Logger: logger, IsClaimed: d.claims.Has, IsLost: d.claims.HasLost,
	})
	d.finder = &finder{ledger: l, opt: d.opt, board: d.board, hints: d.hints, claims: d.claims, sessions: d.sessions}
	d.attempts = &attempts{ledger: l, core: d.core, log: d.log, slots: d.slots, hints: d.hints, finder: d.finder, logger: logger}
	d.effects = &effects{ledger: l, core: d.core, log: d.log, claims: d.claims}
	d.control = control.New(control.Options{
		Ledger: l, Slots: d.slots, Sessions: d.sessions, Claims: d.claims, Board: d.board, Hints: d.hints,
		Opened: func(g *posthouse.Gate) { d.finder.add(g, false) }, Decided: d.finder.drop,
	})
	return d, nil
}

// fullPollEvery is how many looks for new tasks come before one that looks at all of them.
const fullPollEvery = 60

// Run finds open tasks, and frees those of silent workers, until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if _, ok := d.ledger.Store().(posthouse.Watcher); ok {
		events := d.ledger.Watch(ctx, ledger.WatchQuery{Cursor: "now"}) // from before the first poll
		group.Go(func() { d.finder.watch(ctx, events) })
	}
	d.hints.Start(ctx, &group)
	poll, pulse := time.NewTicker(d.opt.Poll), time.NewTicker(d.core.Config.RenewEvery())
	defer poll.Stop()
	defer pulse.Stop()
	for n := 0; ; {
		if err := d.finder.poll(ctx, n%fullPollEvery == 0); err != nil && ctx.Err() == nil {
			d.opt.Logger.Warn("cannot look for tasks", "error", err)
		} else {
			n++
		}
		for again := false; !again; {
			select {
			case <-poll.C:
				again = true
			case <-pulse.C:
				d.endSilent(ctx)
				d.endLate(ctx)
				d.hints.NackIdle()
			case <-d.hints.Relist():
				again, n = true, 0
			case <-ctx.Done():
				return nil
			}
		}
	}
}
