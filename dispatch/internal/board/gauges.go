package board

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

// Gauges count tasks by queue.
type Gauges map[QueueKey]*task.QueueGauge

// Of returns the gauge of a queue, and makes it if it is not there.
func (g Gauges) Of(key QueueKey) *task.QueueGauge {
	q := g[key]
	if q == nil {
		q = &task.QueueGauge{Task: key.Task, Group: key.Group}
		g[key] = q
	}
	return q
}

// Count adds a task that no worker has.
func (g Gauges) Count(t *Task, now time.Time) {
	switch q := g.Of(t.Queue); {
	case !now.Before(t.NotBefore):
		q.Ready++
		q.Oldest = max(q.Oldest, now.Sub(t.NotBefore))
	case t.Paused:
		q.Paused++
	default:
		q.Delayed++
	}
}

// Count adds the tasks on the board to gauges, except those of the given gates.
func (b *Board) Count(g Gauges, now time.Time, except map[posthouse.ID]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for gate, t := range b.tasks {
		switch {
		case except[gate]:
		case t.away:
			g.Of(t.Queue).Claimed++
		default:
			g.Count(t, now)
		}
	}
}
