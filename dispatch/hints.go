package dispatch

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
)

// A hinter is what a Dispatcher knows of the queue that engines share. Dispatcher.mu guards
// it. While it is up, this engine tells the queue of tasks and has only those that the queue
// gave to it; otherwise it has all, as without a queue.
type hinter struct {
	queue hint.Queue // nil: there is none
	up    bool       // it can be used
	times int        // that it came up

	ctx    context.Context // of Run
	group  *sync.WaitGroup // of what Run waits for
	news   chan struct{}   // has one element if there is something to tell
	whole  chan struct{}   // has one element if all tasks are to be looked at
	broken chan error      // has why the queue cannot be used

	waiting map[line]int  // claims that wait here
	asked   map[line]int  // hints that the queue was asked for and has not given
	untold  []hint.Hint   // to tell the queue of
	unheard []hint.Hint   // likewise, also if it heard of them in the last minutes
	later   queue         // tasks that it is told of when they may be claimed
	told    map[line]told // what it was told of by the last look at all tasks
}

// A line is a task's name and a group of workers.
type line struct{ task, group string }

// A told counts tasks that the queue was told of.
type told struct {
	ready  int
	oldest time.Time // since when the first of them has been ready
}

// and counts a task more.
func (t told) and(g *posthouse.Gate) told {
	if t.ready++; t.oldest.IsZero() || g.CreatedAt.Before(t.oldest) {
		t.oldest = g.CreatedAt
	}
	return t
}

// Times of the queue.
const (
	takeWait    = 5 * time.Second  // for hints that are asked for
	openPause   = 10 * time.Second // between attempts to use a queue that is away, at most
	maxHintWait = 10 * time.Second // before a hint that is early is given again, at most
)

func newHinter(q hint.Queue) hinter {
	return hinter{
		queue: q, news: make(chan struct{}, 1), whole: make(chan struct{}, 1), broken: make(chan error, 1),
		waiting: map[line]int{}, asked: map[line]int{}, told: map[line]told{},
	}
}

// signal puts an element into a channel that has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func hintOf(t *openTask) hint.Hint {
	return hint.Hint{Gate: t.gate, Thread: t.thread, Task: t.name, Group: t.group, NotBefore: t.since}
}

// startHints uses the queue until ctx ends. Before it returns the queue has been tried once,
// so that an engine which starts does not begin without it.
func (d *Dispatcher) startHints(ctx context.Context, group *sync.WaitGroup) {
	d.mu.Lock()
	d.hints.ctx, d.hints.group = ctx, group
	d.mu.Unlock()
	err := d.hints.queue.Open(ctx)
	if err == nil {
		d.hintsUp(false)
	}
	group.Go(func() {
		defer d.leaveHints()
		d.useHints(ctx, err)
	})
}

// useHints tells the queue of tasks until ctx ends. While it is away, for which err is the
// reason, it is tried again and again.
func (d *Dispatcher) useHints(ctx context.Context, err error) {
	for said, pause := false, d.opt.Poll; ; {
		if err == nil {
			said, pause = false, d.opt.Poll
			err = d.tellAll(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		d.hintsDown()
		if !said {
			d.opt.Logger.Warn("tasks are found without a queue", "error", err)
		}
		said = true
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, max(openPause, d.opt.Poll))
		if err = d.hints.queue.Open(ctx); err == nil {
			d.hintsUp(true)
		}
	}
}

// hintsUp hands what is known here to the queue: other engines may have workers for it.
func (d *Dispatcher) hintsUp(said bool) {
	if said {
		d.opt.Logger.Info("tasks are found by the queue again")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hints.up = true
	d.hints.times++
	select {
	case <-d.hints.broken: // it was
	default:
	}
	for _, t := range d.open {
		if t.place < 0 || t.delivery != nil {
			continue
		}
		d.unqueue(t)
		d.strike(t)
		d.tell(t, true)
	}
	signal(d.hints.whole) // others may have heard of more
	d.wake()              // what waits asks the queue
}

// hintsDown finds tasks without the queue. What it gave before is as good as ever.
func (d *Dispatcher) hintsDown() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.hints.up {
		return
	}
	d.hints.up, d.hints.untold, d.hints.unheard = false, nil, nil
	for len(d.hints.later) > 0 {
		t := heap.Pop(&d.hints.later).(*openTask)
		t.later = false
		d.enqueue(t)
	}
	d.hints.told = map[line]told{}
	signal(d.hints.whole)
}

// leaveHints gives back what no worker here has claimed.
func (d *Dispatcher) leaveHints() {
	d.hintsDown()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.open {
		if t.delivery != nil && t.place >= 0 {
			t.delivery.Later(0)
			t.delivery = nil
		}
	}
}

// tell tells the queue of a task, once it may be claimed. It reports whether that is now.
// Callers hold d.mu.
func (d *Dispatcher) tell(t *openTask, again bool) bool {
	h := &d.hints
	switch {
	case t.since.After(d.core.Now()):
		t.later = true
		d.open[t.gate] = t
		heap.Push(&h.later, t)
	case again:
		h.unheard = append(h.unheard, hintOf(t))
	default:
		h.untold = append(h.untold, hintOf(t))
	}
	signal(h.news)
	return !t.later
}

// tellAll tells the queue of tasks until it is away, or ctx ends.
func (d *Dispatcher) tellAll(ctx context.Context) error {
	for {
		first, again, due := d.untold()
		if err := d.hints.queue.Publish(ctx, false, first...); err != nil {
			return err
		}
		if err := d.hints.queue.Publish(ctx, true, again...); err != nil {
			return err
		}
		if len(first)+len(again) > 0 {
			continue
		}
		var ready <-chan time.Time
		if due > 0 {
			ready = time.After(due)
		}
		select {
		case <-ready:
		case <-d.hints.news:
		case err := <-d.hints.broken:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// untold takes what the queue is to be told of now. Due is how long until there is more, zero
// for not known.
func (d *Dispatcher) untold() (first, again []hint.Hint, due time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, now := &d.hints, d.core.Now()
	for len(h.later) > 0 {
		t := h.later[0]
		if due = t.since.Sub(now); due > 0 {
			break
		}
		due = 0
		heap.Pop(&h.later)
		d.strike(t)
		h.untold = append(h.untold, hintOf(t))
	}
	first, again = h.untold, h.unheard
	h.untold, h.unheard = nil, nil
	return first, again, due
}
