package dispatch

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/hint"
)

// Options configure a [Dispatcher]. Nil is the zero value.
type Options struct {
	Poll   time.Duration // between looks for new tasks; 0 is a second. A store that can be watched says so itself
	Wait   time.Duration // how long Claim waits for a task; 0 is 30 seconds, at most 5 minutes
	Logger *slog.Logger  // default: none

	// AtOnce bounds how many tasks of a name the workers of this process have at once. Other
	// processes over the store count their own, but see Hints. Default: as many as workers take.
	AtOnce map[string]int

	// Hints is a queue that engines over one store share. With it, the engine that has a worker
	// for a task is told of it, and no other; and AtOnce holds for all of them together, by name
	// and group. All say the same in AtOnce. While the queue is away, and without one, each
	// engine finds all tasks in the store.
	Hints hint.Queue

	// Stream gets the chunks of handlers, on the handler's call. Default: they are dropped.
	Stream func(ctx context.Context, thread, step string, chunk []byte)
}

const (
	defaultPoll = time.Second
	defaultWait = 30 * time.Second
	maxWait     = 5 * time.Minute
)

// A Dispatcher gives the tasks of a Ledger's threads to workers. It is a [task.Engine], and
// safe for concurrent use.
type Dispatcher struct {
	ledger *ledger.Ledger
	core   *core.Core
	opt    Options

	mu       sync.Mutex
	open     map[posthouse.ID]*openTask // by gate: all that are known
	queues   map[line]*queue            // those that are not empty
	busy     busyCount
	sessions map[string]*session
	held     map[posthouse.ID]*holding // claims of sessions here, by gate
	news     chan struct{}             // closed when there may be something to claim
	cursor   posthouse.ID              // the newest gate that a look for tasks has seen
	hints    hinter
	peers    map[string]*peer // sessions of other processes, as of peersAt
	peersAt  time.Time
	named    map[string]map[line]time.Time // what workers of each pass named, and when last
	namesAt  time.Time                     // when all of them were looked at

	retries, failed, silent uint64 // for Gauges
}

var _ task.Engine = (*Dispatcher)(nil)

// New returns a Dispatcher, which finds tasks while [Dispatcher.Run] runs.
// [posthouse.ErrInvalid] names an option that does not fit.
func New(l *ledger.Ledger, o *Options) (*Dispatcher, error) {
	if o == nil {
		o = &Options{}
	}
	d := &Dispatcher{
		ledger: l, core: l.Core(), opt: *o, open: map[posthouse.ID]*openTask{}, queues: map[line]*queue{}, busy: busyCount{},
		sessions: map[string]*session{}, held: map[posthouse.ID]*holding{}, news: make(chan struct{}),
		hints: newHinter(o.Hints), named: map[string]map[line]time.Time{},
	}
	if d.opt.Poll == 0 {
		d.opt.Poll = defaultPoll
	}
	if d.opt.Wait == 0 {
		d.opt.Wait = defaultWait
	}
	if d.opt.Logger == nil {
		d.opt.Logger = slog.New(slog.DiscardHandler)
	}
	if d.opt.Poll < 0 {
		return nil, posthouse.Invalid("Poll", "is %s; it must not be negative", o.Poll)
	}
	for name, n := range d.opt.AtOnce {
		if n < 1 {
			return nil, posthouse.Invalid("AtOnce", "of task %.40q is %d; it is at least 1", name, n)
		}
	}
	if d.opt.Wait < 0 || d.opt.Wait > maxWait {
		return nil, posthouse.Invalid("Wait", "is %s; it is at most %s", o.Wait, maxWait)
	}
	return d, nil
}

// lease is how long a session may be silent.
func (d *Dispatcher) lease() time.Duration { return d.core.Config.LeaseTTL }

// Run finds open tasks, and frees those of silent workers, until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if _, ok := d.ledger.Store().(posthouse.Watcher); ok {
		events := d.ledger.Watch(ctx, ledger.WatchQuery{Cursor: "now"}) // from before the first look
		group.Go(func() { d.watch(ctx, events) })
	}
	if d.hints.queue != nil {
		d.startHints(ctx, &group)
	}
	look, pulse := time.NewTicker(d.opt.Poll), time.NewTicker(d.core.Config.RenewEvery())
	defer look.Stop()
	defer pulse.Stop()
	for n := 0; ; {
		if err := d.look(ctx, n%wholeEvery == 0); err != nil && ctx.Err() == nil {
			d.opt.Logger.Warn("cannot look for tasks", "error", err)
		} else {
			n++
		}
		for again := false; !again; {
			select {
			case <-look.C:
				again = true
			case <-pulse.C:
				d.endSilent(ctx)
				d.handBack()
			case <-d.hints.whole:
				again, n = true, 0
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// wholeEvery is how many looks for new tasks come before one that looks at all of them.
const wholeEvery = 60

// watch adds tasks as they are opened. It makes claims faster: a look finds what it misses.
func (d *Dispatcher) watch(ctx context.Context, events iter.Seq2[*posthouse.Event, error]) {
	for cursor := "now"; ; {
		for e, err := range events {
			if e != nil {
				cursor = e.Cursor
			}
			switch {
			case err != nil && e == nil:
				if ctx.Err() == nil {
					d.opt.Logger.Warn("cannot watch the store: tasks are found by looking", "error", err)
				}
			case err != nil:
			case e.Gate != nil && e.Gate.Kind == posthouse.GateTask:
				d.add(e.Gate, false)
			case e.Decision != nil:
				d.drop(e.Decision.Gate)
			case e.Removal != nil:
				for _, gate := range e.Removal.Gates {
					d.drop(gate)
				}
			}
		}
		select {
		case <-time.After(d.opt.Poll):
			events = d.ledger.Watch(ctx, ledger.WatchQuery{Cursor: cursor})
		case <-ctx.Done():
			return
		}
	}
}

// look adds the tasks that were opened since the last look. One at all of them finds, too,
// which were decided.
func (d *Dispatcher) look(ctx context.Context, whole bool) error {
	d.mu.Lock()
	after, held := d.cursor, map[posthouse.ID]bool{}
	if whole {
		after = ""
		for gate := range d.held {
			held[gate] = true
		}
	}
	d.mu.Unlock()
	counts := map[line]told{}
	for g, err := range d.ledger.Gates(ctx, ledger.GateQuery{Kind: posthouse.GateTask, After: after}) {
		if g != nil {
			delete(held, g.ID)
		}
		switch {
		case err == nil:
			if d.add(g, whole) {
				l := line{g.Call.Task, g.Call.Group}
				counts[l] = counts[l].and(g)
			}
		case g == nil || !isUnreadable(err):
			return err
		default:
			d.opt.Logger.Warn("a task cannot be read", "gate", g.ID, "error", err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for gate := range held {
		d.drop(gate)
	}
	if whole {
		d.mu.Lock()
		d.hints.told = counts
		d.mu.Unlock()
		if err := d.sweepPeers(ctx); err != nil {
			return fmt.Errorf("look for workers of other processes: %w", err)
		}
	}
	return nil
}
