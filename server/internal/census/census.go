// Package census counts what is open in a store, now and then, for metrics. The work of one
// count is bounded, and a store that is slow delays no reader: it gets what was found before.
package census

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Most bounds each figure: of more threads of a status, or open questions, that many are counted.
const Most = 1000

const (
	every    = 15 * time.Second // between two counts
	share    = 20               // of the time, one count takes at most one in so much
	patience = time.Second      // how long a reader waits for a count
	longest  = time.Minute      // of one count
)

// counted are the statuses that somebody may have to do something about. Threads that are
// done are too many to count.
var counted = [...]posthouse.Status{
	posthouse.StatusRunning, posthouse.StatusReady, posthouse.StatusWaiting, posthouse.StatusInterrupted, posthouse.StatusFailed,
}

// A Result is what one count found.
type Result struct {
	At        time.Time
	Threads   map[posthouse.Status]int
	Questions map[string]Question // that wait for people, by name
}

// A Question is how many gates of a name wait.
type Question struct {
	Open   int
	Oldest time.Time // when the first of them opened
}

// Names returns the names of the questions, the one that has waited longest first: where only
// some can be shown, those are the same each time.
func (r *Result) Names() []string {
	return slices.SortedFunc(maps.Keys(r.Questions), func(a, b string) int {
		return cmp.Or(r.Questions[a].Oldest.Compare(r.Questions[b].Oldest), strings.Compare(a, b))
	})
}

// A Census counts at most each 15 seconds, and less often where a count takes long. Make it
// with [New].
type Census struct {
	ledger *ledger.Ledger
	now    func() time.Time
	enter  func() (context.Context, func(), error) // begins work that the server's end waits for

	mu      sync.Mutex
	last    *Result // nil: nothing was counted yet
	err     error   // of the newest count
	next    time.Time
	running chan struct{} // closed when the count that runs is over; nil: no count runs
}

// New returns a census of the Ledger's store. Enter returns the context of a count and what is
// called at its end.
func New(l *ledger.Ledger, now func() time.Time, enter func() (context.Context, func(), error)) *Census {
	return &Census{ledger: l, now: now, enter: enter}
}

// Get returns the newest result, nil before the first, and why the newest count failed. It
// begins another count if it is time, and waits a second for it at most.
func (c *Census) Get(ctx context.Context) (*Result, error) {
	if done := c.begin(); done != nil {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.err
}

// begin starts a count if it is time, and returns what is closed when the count that runs is
// over, nil if no count runs.
func (c *Census) begin() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil || c.now().Before(c.next) {
		return c.running
	}
	ctx, leave, err := c.enter()
	if err != nil {
		c.err = err
		return nil
	}
	done := make(chan struct{})
	c.running = done
	go func() {
		defer leave()
		c.run(ctx)
		close(done)
	}()
	return done
}

// run counts once and keeps what was found.
func (c *Census) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	begun := c.now()
	found, err := c.count(ctx)
	ended := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		found.At = begun
		c.last = found
	}
	c.err, c.running = err, nil
	c.next = ended.Add(max(every, share*ended.Sub(begun)))
}

func (c *Census) count(ctx context.Context) (*Result, error) {
	r := &Result{Threads: map[posthouse.Status]int{}, Questions: map[string]Question{}}
	for _, s := range counted {
		r.Threads[s] = 0
		for _, err := range c.ledger.Threads(ctx, posthouse.ThreadQuery{Status: s, Limit: Most}) {
			if err != nil {
				return nil, err
			}
			r.Threads[s]++
		}
	}
	for g, err := range c.ledger.Gates(ctx, ledger.GateQuery{Limit: Most}) {
		if g == nil {
			return nil, err
		}
		q := r.Questions[g.Name] // of a gate that cannot be read the name is ""
		if q.Open++; !g.CreatedAt.IsZero() && (q.Oldest.IsZero() || g.CreatedAt.Before(q.Oldest)) {
			q.Oldest = g.CreatedAt
		}
		r.Questions[g.Name] = q
	}
	return r, nil
}
