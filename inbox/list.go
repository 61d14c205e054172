package inbox

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A Page is a part of a list.
type Page struct {
	Items []Item
	Next  string // the After of the next page; "" on the last
}

// An Item is one gate of a list. With an error, the gate has only what its thread's summary knows.
type Item struct {
	Gate *posthouse.Gate
	Err  error // why it cannot be read, or nil
}

// List returns a page of gates. It fails with [posthouse.ErrInvalid] for a query that makes no sense,
// and for a cursor that it did not give out.
func List(ctx context.Context, l *ledger.Ledger, q *Query) (*Page, error) {
	q, err := q.complete()
	if err != nil {
		return nil, err
	}
	switch {
	case q.State != Open:
		return listDecided(ctx, l, q)
	case q.Order == ByDeadline:
		return listByDeadline(ctx, l, q)
	}
	return listOpen(ctx, l, q)
}

// Count returns how many open gates of each question there are among the first most, by the query.
// Complete says that there are no others.
func Count(ctx context.Context, l *ledger.Ledger, q *Query, most int) (counts map[string]int, complete bool, err error) {
	q, err = q.complete()
	if err != nil {
		return nil, false, err
	}
	if q.State != Open {
		return nil, false, posthouse.Invalid("counts", "are of open gates")
	}
	all := *q
	all.Limit, all.After, all.Look, all.Order = most, "", most, Newest
	page, err := listOpen(ctx, l, &all)
	if err != nil {
		return nil, false, err
	}
	counts = map[string]int{}
	for _, item := range page.Items {
		counts[item.Gate.Name]++
	}
	return counts, page.Next == "", nil
}

// A page collects items until it is full, or enough was looked at.
type page struct {
	Page
	q      *Query
	looked int
}

// full reports whether the page has to end here.
func (p *page) full() bool { return len(p.Items) >= p.q.Limit || p.looked >= p.q.Look }

// listOpen lists open gates by their ids.
func listOpen(ctx context.Context, l *ledger.Ledger, q *Query) (*Page, error) {
	if q.After != "" && posthouse.ID(q.After).Validate() != nil {
		return nil, notACursor()
	}
	p := &page{q: q}
	threads := programs{ledger: l, program: q.Program, known: map[string]bool{}}
	last := q.After
	for g, err := range l.Gates(ctx, ledger.GateQuery{
		Thread: q.Thread, Coordination: q.Coordination, Checkpoint: q.Checkpoint, Assignee: q.Assignee, Kind: q.Kind,
		Newest: q.Order == Newest, After: posthouse.ID(q.After),
	}) {
		if g == nil {
			return nil, err
		}
		if p.full() {
			p.Next = last
			break
		}
		p.looked++
		last = string(g.ID)
		of, failed := threads.has(ctx, g.Thread)
		switch {
		case failed != nil:
			return nil, failed
		case of && err != nil && !q.narrow(), of && err == nil && q.matches(g, l.Now()):
			p.Items = append(p.Items, Item{g, err})
		}
	}
	return &p.Page, nil
}

// narrow reports whether the query asks for what only a gate itself tells.
func (q *Query) narrow() bool { return q.Question != "" || q.Label != "" || q.Decider != "" }

func notACursor() error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "cursor", Message: "is not one of this list", Hint: "send next of the page before with the same query, or leave it out"}
}

// programs knows which threads are a program's.
type programs struct {
	ledger  *ledger.Ledger
	program string // "": all are
	known   map[string]bool
}

func (ps *programs) has(ctx context.Context, thread string) (bool, error) {
	if ps.program == "" {
		return true, nil
	}
	of, ok := ps.known[thread]
	if ok {
		return of, nil
	}
	if len(ps.known) >= 10_000 {
		clear(ps.known)
	}
	t, err := ps.ledger.Thread(ctx, thread)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ps.known[thread] = t.Graph == ps.program
	return ps.known[thread], nil
}
