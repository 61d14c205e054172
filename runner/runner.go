package runner

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
)

// A Runner moves the threads of its programs. Make one with [New]. It is safe
// for concurrent use.
type Runner struct {
	ledger   *ledger.Ledger
	programs map[string]posthouse.Program
	opt      Options

	queue queue
	wake  chan struct{} // a new deadline may come before the next sweep
	ran   atomic.Bool

	versions sync.Map // of programs that are left to other processes, by name and fingerprint

	others map[string]bool   // owners elsewhere of what could run here, at the last sweep
	left   map[string]bool   // owners elsewhere of effects that are not over, when it looked last
	leftAt time.Time         // when it looks for those again
	looked map[string]uint64 // where the logs ended of threads with effects that the last sweep looked at
}

// New returns a runner over the ledger. [posthouse.ErrInvalid] for no ledger, two
// programs of one name, one without, or options out of range.
func New(l *ledger.Ledger, o *Options) (*Runner, error) {
	if l == nil {
		return nil, posthouse.Invalid("ledger", "is nil")
	}
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Runner{ledger: l, programs: map[string]posthouse.Program{}, opt: opt, wake: make(chan struct{}, 1), others: map[string]bool{}}
	for _, p := range opt.Programs {
		if p == nil || p.Name() == "" {
			return nil, posthouse.Invalid("Programs", "has one without a name")
		}
		if r.programs[p.Name()] != nil {
			return nil, posthouse.Invalid("Programs", "has %q twice", p.Name())
		}
		r.programs[p.Name()] = p
	}
	r.queue.init(opt.Concurrency, r.move)
	return r, nil
}

// Run keeps the programs moving until ctx ends, drains, and returns nil. If programs do
// not stop within twice Options.DrainTimeout it returns an error with their number. Their
// threads are free for others after the lease's time; what they write after that is
// refused. A Runner runs once; a second Run is [posthouse.ErrClosed].
func (r *Runner) Run(ctx context.Context) error {
	if r.ran.Swap(true) {
		return &posthouse.Error{Code: posthouse.CodeClosed, Message: "the runner has run", Hint: "make another"}
	}
	// Work outlives ctx: it is asked to stop first, and only then made to.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	drain := make(chan struct{})
	var helpers sync.WaitGroup
	if !r.opt.NoWatch {
		helpers.Go(func() { r.watch(ctx) })
	}
	helpers.Go(func() { r.keepWaking(ctx) })
	for name, p := range r.programs {
		if s, ok := p.(Sweeper); ok {
			helpers.Go(func() { r.keepSweeping(ctx, name, s) })
		}
	}

	r.queue.start(engine.WithDrain(work, drain))
	for ctx.Err() == nil {
		r.rest(ctx, r.sweep(ctx))
	}

	idle := r.queue.stop()
	close(drain)
	err := r.drain(idle, stop)
	helpers.Wait()
	if err == nil {
		r.forget(ctx)
	}
	return err
}

// drain waits for running programs. After Options.DrainTimeout it ends their context and waits as
// long again.
func (r *Runner) drain(idle <-chan struct{}, stop func()) error {
	for range 2 {
		select {
		case <-idle:
			return nil
		case <-time.After(r.opt.DrainTimeout):
			stop()
		}
	}
	return fmt.Errorf("runner: %d threads did not stop", r.queue.active())
}

// Kick tells the runner that a thread may have something to do. It never blocks. A false
// hint is harmless.
func (r *Runner) Kick(thread string) { r.queue.push(thread) }

// forget removes the liveness slot of this process, which holds nothing any more.
func (r *Runner) forget(ctx context.Context) {
	_, err := r.ledger.Store().Slot(context.WithoutCancel(ctx),
		posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: r.ledger.Core().Config.Owner},
		posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
	if err != nil {
		r.opt.Logger.Warn("cannot remove this process's liveness slot", "error", err)
	}
}

// watch turns what is written into hints until ctx ends.
func (r *Runner) watch(ctx context.Context) {
	if _, ok := r.ledger.Store().(posthouse.Watcher); !ok {
		return // a watch by polling would read all summaries each time; sweeps find everything, too
	}
	for ctx.Err() == nil {
		for e, err := range r.ledger.Watch(ctx, ledger.WatchQuery{Cursor: "now"}) {
			if e != nil && err != nil {
				r.Kick(e.Thread) // also when the event cannot be read
				continue
			}
			if err != nil {
				if ctx.Err() == nil {
					r.opt.Logger.Warn("cannot watch the store; relying on sweeps for now", "error", err)
				}
				break
			}
			r.hint(e)
		}
		pause(ctx, r.opt.Poll)
	}
}

func (r *Runner) hint(e *posthouse.Event) {
	r.queue.heard(e.Thread)
	switch {
	case e.Decision != nil, e.Signal != nil && strings.HasPrefix(e.Signal.Name, "$"):
		r.Kick(e.Thread)
	case e.Gate != nil && (!e.Gate.ExpiresAt.IsZero() || e.Gate.Escalation != nil || len(e.Gate.Remind) > 0):
		select {
		case r.wake <- struct{}{}:
		default:
		}
	case e.Checkpoint != nil && e.Checkpoint.Run == "" && e.Checkpoint.Status.Runnable():
		r.Kick(e.Thread) // made by hand or by a fork: no run goes on with it
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
