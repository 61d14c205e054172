package dispatch

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
)

// lines returns what a session's worker handles.
func (s *session) lines() []line {
	all := make([]line, 0, 2*len(s.hello.Tasks))
	for _, name := range s.hello.Tasks {
		all = append(all, line{name, ""})
		if s.hello.Group != "" {
			all = append(all, line{name, s.hello.Group})
		}
	}
	return all
}

// want asks the queue for what a session waits for, until done is called. So an engine has
// hints for as many tasks as its workers have room for, and others have the rest.
func (d *Dispatcher) want(s *session) (done func()) {
	if d.hints.queue == nil {
		return func() {}
	}
	all := s.lines()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range all {
		d.hints.waiting[l]++
		d.ask(l)
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, l := range all {
			if d.hints.waiting[l]--; d.hints.waiting[l] == 0 {
				delete(d.hints.waiting, l)
			}
		}
	}
}

// ask asks the queue for hints of a line for which more claims wait than hints are there or
// on the way. Callers hold d.mu.
func (d *Dispatcher) ask(l line) {
	h := &d.hints
	if !h.up || h.ctx.Err() != nil || d.isFull(l.task) {
		return
	}
	n := h.waiting[l] - h.asked[l]
	if n <= 0 {
		return
	}
	if q := d.queues[l]; q != nil {
		for _, t := range *q {
			if t.delivery != nil && !t.away {
				n--
			}
		}
	}
	if n <= 0 {
		return
	}
	h.asked[l] += n
	times := h.times
	h.group.Go(func() { d.take(l, n, times) })
}

// take takes n hints of a line from the queue, which has come up so many times.
func (d *Dispatcher) take(l line, n, times int) {
	err := d.hints.queue.Take(d.hints.ctx, hint.Demand{
		Task: l.task, Group: l.group, N: n, Wait: takeWait, Lease: d.lease(), Most: d.opt.AtOnce[l.task],
	}, func(x hint.Delivery) {
		d.mu.Lock()
		defer d.mu.Unlock()
		n--
		d.askedLess(l, 1)
		d.delivered(x)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.askedLess(l, n)
	if err == nil || times != d.hints.times { // or it has been away since, and is back
		d.ask(l)
		return
	}
	select {
	case d.hints.broken <- err:
	default:
	}
}

// askedLess notes that hints have come, or will not. Callers hold d.mu.
func (d *Dispatcher) askedLess(l line, n int) {
	if d.hints.asked[l] -= n; d.hints.asked[l] <= 0 {
		delete(d.hints.asked, l)
	}
}

// delivered has a task claimed that the queue gave a hint of. The claim reads the gate, and
// finds out whether the hint says the truth. Callers hold d.mu.
func (d *Dispatcher) delivered(x hint.Delivery) {
	g, now := x.Hint(), d.core.Now()
	if h := d.held[g.Gate]; h != nil { // it comes again, because this engine was silent
		h.delivery = x
		return
	}
	t := d.open[g.Gate]
	switch {
	case t == nil:
		t = &openTask{gate: g.Gate, thread: g.Thread, name: g.Task, group: g.Group, since: g.NotBefore, ready: g.NotBefore, place: -1}
		d.open[g.Gate] = t
		d.enqueue(t)
	case t.later: // by another engine's clock it may be claimed
		d.unqueue(t)
		d.enqueue(t)
	}
	t.delivery, t.touched = x, now
}

// handBack gives hints to other engines that no worker here has claimed in the time between
// two heartbeats, and says of the rest that they are here.
func (d *Dispatcher) handBack() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.core.Now()
	for _, h := range d.held {
		switch {
		case h.delivery == nil:
		case h.lost:
			h.delivery.Ack()
			h.delivery = nil
		default:
			h.delivery.InProgress()
		}
	}
	for _, t := range d.open {
		switch {
		case t.delivery == nil:
		case t.place < 0 || now.Sub(t.touched) < d.core.Config.RenewEvery():
			t.delivery.InProgress()
		default:
			d.unqueue(t)
			d.strike(t)
			t.delivery.Later(min(max(t.since.Sub(now), 0), maxHintWait))
		}
	}
}

// settle says what became of a hint whose task was claimed or is gone. Callers hold d.mu.
func (d *Dispatcher) settle(t *openTask) {
	x := t.delivery
	if t.delivery = nil; x == nil {
		return
	}
	if h := d.held[t.gate]; h != nil && h.delivery == nil {
		h.delivery = x // until it is resolved
		return
	}
	x.Ack()
}

// isWrong reports whether a hint tells of another task than the gate does. Then it is done
// with: to hand the task out would give it to a worker that does not handle it.
func (d *Dispatcher) isWrong(t *openTask, g *posthouse.Gate) bool {
	c := g.Call
	if c != nil && c.Task == t.name && c.Group == t.group {
		return false
	}
	d.mu.Lock()
	x := t.delivery
	t.delivery = nil
	d.mu.Unlock()
	if x != nil {
		x.Dead("gate " + string(g.ID) + " has another task or group")
	}
	return true
}
