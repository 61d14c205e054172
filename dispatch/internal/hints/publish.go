package hints

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/task/hint"
)

// publish tells the shared queue of a task, once it may be claimed. It reports whether that is
// now. Callers hold q.mu.
func (q *Queue) publish(t *board.Task, again bool) bool {
	defer signal(q.news)
	switch {
	case t.NotBefore.After(q.opt.Now()):
		q.later.add(t)
		return false
	case again:
		q.again = append(q.again, t.Hint())
	default:
		q.fresh = append(q.fresh, t.Hint())
	}
	return true
}

// publishAll publishes tasks until the shared queue is away, or ctx ends.
func (q *Queue) publishAll(ctx context.Context) error {
	for {
		fresh, again, wait := q.unpublished()
		if err := q.shared.Publish(ctx, false, fresh...); err != nil {
			return err
		}
		if err := q.shared.Publish(ctx, true, again...); err != nil {
			return err
		}
		if len(fresh)+len(again) > 0 {
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-due:
		case <-q.news:
		case err := <-q.broken:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// unpublished takes the hints that are to be published now. It returns how long until there are
// more, zero if that is not known.
func (q *Queue) unpublished() (fresh, again []hint.Hint, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.opt.Now()
	for t := q.later.first(); t != nil; t = q.later.first() {
		if t.NotBefore.After(now) {
			wait = t.NotBefore.Sub(now)
			break
		}
		q.later.remove(t.Gate)
		q.fresh = append(q.fresh, t.Hint())
	}
	fresh, again = q.fresh, q.again
	q.fresh, q.again = nil, nil
	return fresh, again, wait
}

// Published counts the tasks of a queue that are published and may be claimed.
type Published struct {
	Ready  int
	Oldest time.Time // since when the first of them has been ready
}

// Add counts one more task.
func (p Published) Add(g *posthouse.Gate) Published {
	p.Ready++
	if p.Oldest.IsZero() || g.CreatedAt.Before(p.Oldest) {
		p.Oldest = g.CreatedAt
	}
	return p
}

// SetPublished notes how many tasks a list of all open ones has published.
func (q *Queue) SetPublished(all map[board.QueueKey]Published) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.published = all
}

// Count adds the tasks that were published, and those that will be, to gauges.
func (q *Queue) Count(g board.Gauges, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.later.tasks {
		g.Count(t.Task, now)
	}
	for key, p := range q.published {
		x := g.Of(key)
		x.Ready += p.Ready
		x.Oldest = max(x.Oldest, now.Sub(p.Oldest))
	}
}
