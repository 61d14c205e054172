package control

import (
	"cmp"
	"slices"

	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/task"
)

// Gauges counts the tasks and sessions that are known here. It reads nothing. It goes once over
// the tasks in memory, and no task is taken from the board while it counts there. A task that
// a worker of another process has counts as ready until a claim here has looked at it. Tasks that
// the shared queue has count as at the last full poll, and workers of other processes do so, too.
func (c *Control) Gauges() task.Gauges {
	now, queues := c.core.Now(), board.Gauges{}
	for _, held := range c.claims.All() {
		queues.Of(board.KeyOf(held.Gate.Call)).Claimed++
	}
	c.board.Count(queues, now, c.claims.Gates())
	c.hints.Count(queues, now)
	g := task.Gauges{Queues: make([]task.QueueGauge, 0, len(queues)), Sessions: c.sessions.Count()}
	for key, q := range queues {
		q.Workers = c.sessions.CountHandlers(key)
		g.Queues = append(g.Queues, *q)
	}
	slices.SortFunc(g.Queues, func(a, b task.QueueGauge) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Group, b.Group))
	})
	return g
}
