package board

import "time"

// maxDoubtPause bounds the time between two questions about one claim, unless a lease is longer.
const maxDoubtPause = time.Minute

// A Doubt paces the questions about a claim that a worker at another engine has. The zero value
// has not asked.
type Doubt struct {
	next  time.Time
	pause time.Duration
}

// AsksNow reports whether it is time to ask: first a lease after the first call, then after
// twice as long each time.
func (q *Doubt) AsksNow(now time.Time, lease time.Duration) bool {
	first := q.next.IsZero()
	switch {
	case first:
		q.pause = lease
	case now.Before(q.next):
		return false
	default:
		q.pause = min(2*q.pause, max(maxDoubtPause, lease))
	}
	q.next = now.Add(q.pause)
	return !first
}
