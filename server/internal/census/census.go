// Package census counts what is open in a store, now and then, for metrics. The work of one
// count is bounded, and a store that is slow delays no reader: it gets what was found before.
package census

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Most bounds each figure: of more threads of a status, or open questions, that many are counted.
const Most = 1000

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

// A Census counts what is open: see [Recent]. Make it with [New].
type Census struct{ *Recent[*Result] }

// New returns a census of the Ledger's store. Enter returns the context of a count and what is
// called at its end.
func New(l *ledger.Ledger, now func() time.Time, enter func() (context.Context, func(), error)) *Census {
	return &Census{NewRecent(func(ctx context.Context) (*Result, error) { return count(ctx, l, now()) }, now, enter)}
}

func count(ctx context.Context, l *ledger.Ledger, now time.Time) (*Result, error) {
	r := &Result{At: now, Threads: map[posthouse.Status]int{}, Questions: map[string]Question{}}
	for _, s := range counted {
		r.Threads[s] = 0
		for _, err := range l.Threads(ctx, posthouse.ThreadQuery{Status: s, Limit: Most}) {
			if err != nil {
				return nil, err
			}
			r.Threads[s]++
		}
	}
	for g, err := range l.Gates(ctx, ledger.GateQuery{Limit: Most}) {
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
