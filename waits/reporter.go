package waits

import (
	"context"
	"time"

	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/base/shared"
	"github.com/posthouse/posthouse/ledger"
)

// A Reporter makes reports of a store again and again, for many callers. It answers as [Of] does, and reads
// only threads that have changed, as far as its memory has the others.
type Reporter struct {
	ledger *ledger.Ledger
	memory *inbox.Memory
	calls  shared.Calls[asked, *Report]
}

// asked is what two reports have in common that are the same.
type asked struct {
	from, to          time.Time
	question, program string
	look              int
}

// NewReporter returns a Reporter. Without a memory it reads everything each time.
func NewReporter(l *ledger.Ledger, m *inbox.Memory) *Reporter { return &Reporter{ledger: l, memory: m} }

// Of is [Of]. Callers that ask for the same at the same time share a report, which must not be changed: who asks
// while one is made gets the next. A report that all its callers have left is given up.
func (r *Reporter) Of(ctx context.Context, q *Query) (*Report, error) {
	c := Query{}
	if q != nil {
		c = *q
	}
	key := asked{c.From.UTC(), c.To.UTC(), c.Question, c.Program, c.Look}
	return r.calls.Do(ctx, key, func(ctx context.Context) (*Report, error) { return of(ctx, r.ledger, r.memory, &c) })
}
