package dispatch

import (
	"cmp"
	"slices"

	"github.com/posthouse/posthouse/task"
)

var _ task.Gauged = (*Dispatcher)(nil)

// Gauges implements [task.Gauged]. It goes once over the open tasks in memory, and reads
// nothing: 10,000 take a few milliseconds, in which no task is claimed. A task that a
// worker of another process has counts as ready until a claim here has looked at it. With
// [Options.Hints], tasks that the queue has count as at the last look at all, of each minute,
// and so do always the workers of other processes.
func (d *Dispatcher) Gauges() task.Gauges {
	type key struct{ task, group string }
	d.mu.Lock()
	defer d.mu.Unlock()
	now, queues := d.core.Now(), map[key]*task.QueueGauge{}
	queue := func(name, group string) *task.QueueGauge {
		q := queues[key{name, group}]
		if q == nil {
			q = &task.QueueGauge{Task: name, Group: group}
			queues[key{name, group}] = q
		}
		return q
	}
	for id, t := range d.open {
		if d.held[id] != nil {
			continue
		}
		switch q := queue(t.name, t.group); {
		case t.away:
			q.Claimed++
		case !now.Before(t.since):
			q.Ready++
			q.Oldest = max(q.Oldest, now.Sub(t.since))
		case t.paused:
			q.Paused++
		default:
			q.Delayed++
		}
	}
	for l, t := range d.hints.told {
		q := queue(l.task, l.group)
		q.Ready += t.ready
		q.Oldest = max(q.Oldest, now.Sub(t.oldest))
	}
	for _, h := range d.held {
		if !h.lost {
			queue(h.gate.Call.Task, h.gate.Call.Group).Claimed++
		}
	}
	g := task.Gauges{Queues: make([]task.QueueGauge, 0, len(queues)), Sessions: len(d.sessions), Retries: d.retries, Failed: d.failed, Silent: d.silent}
	for _, q := range queues {
		q.Workers = d.handlers(q.Task, q.Group)
		g.Queues = append(g.Queues, *q)
	}
	slices.SortFunc(g.Queues, func(a, b task.QueueGauge) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Group, b.Group))
	})
	return g
}
