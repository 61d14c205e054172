package natstask

import (
	"sync"
	"time"
)

// Bounds of the letters that are kept in an hour.
const (
	maxLetters    = 1_000  // of one worker's name
	maxAllLetters = 10_000 // of all, and so of how many names are known
	quotaTime     = time.Hour
)

// A quota bounds the letters of an hour, for each worker and in all. Names are forgotten with
// their hour.
type quota struct {
	now func() time.Time

	mu    sync.Mutex
	since time.Time // when the hour began
	all   int
	by    map[string]int
}

func newQuota(now func() time.Time) *quota { return &quota{now: now} }

// take reports whether one more letter of a worker is kept.
func (q *quota) take(worker string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	if d := now.Sub(q.since); q.by == nil || d >= quotaTime || d < 0 {
		q.since, q.all, q.by = now, 0, map[string]int{}
	}
	if q.all >= maxAllLetters || q.by[worker] >= maxLetters {
		return false
	}
	q.all++
	q.by[worker]++
	return true
}
