package agentcall

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse/server/problem"
)

// KeepEnded is how long a request that has ended can be taken up again.
const KeepEnded = 5 * time.Minute

// A Registry knows the calls that agents work on and those that ended lately, for
// clients that return. They are kept in memory: a restart forgets them.
type Registry struct {
	now   func() time.Time
	limit int // of those that ended

	mu    sync.Mutex
	of    map[string]*Call
	ended []*Call // the oldest first
	begun uint64
}

// NewRegistry returns a registry that keeps so many of the calls that ended.
func NewRegistry(now func() time.Time, limit int) *Registry {
	return &Registry{now: now, limit: limit, of: map[string]*Call{}}
}

// add notes that a call begins.
func (cr *Registry) add(c *Call) {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	cr.begun++
	c.number = cr.begun
	cr.of[c.Feed.Run] = c
	cr.sweep()
}

// end notes that a call has ended.
func (cr *Registry) end(c *Call) {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	c.endedAt = cr.now()
	cr.ended = append(cr.ended, c)
	cr.sweep()
}

// sweep forgets calls that ended long ago, and of too many the oldest of the token that
// has most. Callers hold cr.mu.
func (cr *Registry) sweep() {
	for len(cr.ended) > 0 && cr.now().Sub(cr.ended[0].endedAt) >= KeepEnded {
		cr.forget(0)
	}
	for len(cr.ended) > cr.limit {
		have := map[string]int{}
		for _, c := range cr.ended {
			have[c.by]++
		}
		oldest := 0 // of the token that has most, and of two the one with the oldest
		for i, c := range cr.ended {
			if have[c.by] > have[cr.ended[oldest].by] {
				oldest = i
			}
		}
		cr.forget(oldest)
	}
}

func (cr *Registry) forget(i int) {
	delete(cr.of, cr.ended[i].Feed.Run)
	cr.ended = slices.Delete(cr.ended, i, i+1)
}

// Find returns the principal's call by its id, or the newest on the thread of
// that name. It returns nil for any other.
func (cr *Registry) Find(id, principal string) *Call {
	cr.mu.Lock()
	defer cr.mu.Unlock()
	cr.sweep()
	if c := cr.of[id]; c != nil && c.by == principal {
		return c
	}
	var newest *Call
	for _, c := range cr.of {
		if c.Thread == id && c.by == principal && (newest == nil || c.number > newest.number) {
			newest = c
		}
	}
	return newest
}

// Working returns the id of the principal's request that runs on the thread now,
// or "".
func (cr *Registry) Working(thread, principal string) string {
	c := cr.Find(thread, principal)
	if c == nil || c.Thread != thread {
		return ""
	}
	select {
	case <-c.done:
		return ""
	default:
		return c.Feed.Run
	}
}

// FindAt returns the call that a client was on, and how far it was.
func (cr *Registry) FindAt(p Position, principal string) (*Call, uint64, error) {
	if p.Event != "" {
		c := cr.Find(p.Event, principal)
		if c != nil && c.Feed.Run == p.Event && (p.Run == "" || p.Run == p.Event || p.Run == c.Thread) {
			return c, p.After, nil
		}
	}
	id := cmp.Or(p.Run, p.Event)
	if c := cr.Find(id, principal); c != nil {
		return c, 0, nil
	}
	e := problem.NotFound("request", id)
	e.Hint = "it ended some time ago, or before the server was started; what it recorded is in GET /api/events of its thread"
	return nil, 0, e
}
