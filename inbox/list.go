package inbox

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/substitutes"
)

// A Page is a part of a list.
type Page struct {
	Items []Item
	Next  string // the After of the next page; "" on the last
	// More says that the list ends here because it looked at enough, as a list by deadline does that
	// finds little among very many threads: there may be others. Ask in another order, or for less.
	More bool
}

// An Item is one gate of a list. With an error, the gate has only what its thread's summary knows.
type Item struct {
	Gate *posthouse.Gate
	Err  error // why it cannot be read, or nil
}

// List returns a page of gates. It fails with [posthouse.ErrInvalid] for a query that makes no sense or
// names no person without [Query].Everyone, and for a cursor that it did not give out. Nil is everyone's.
func List(ctx context.Context, l *ledger.Ledger, q *Query) (*Page, error) {
	if err := q.whose(); err != nil {
		return nil, err
	}
	q, err := q.complete()
	if err != nil {
		return nil, err
	}
	return q.list(ctx, l, nil)
}

// list makes a page. With each it has no items, and no limit: each gets them until it returns false.
func (q *Query) list(ctx context.Context, l *ledger.Ledger, each func(*Item) bool) (*Page, error) {
	if err := q.readNamed(ctx, l); err != nil {
		return nil, err
	}
	if q.State != Open || q.bare {
		q.Memory.begin()
	}
	switch {
	case q.State != Open:
		return listDecided(ctx, l, q, each)
	case q.Order == ByDeadline:
		return listByDeadline(ctx, l, q, each)
	case q.bare:
		return listKnown(ctx, l, q, each)
	}
	return listOpen(ctx, l, q, each)
}

// Counts are how many open gates a query finds.
type Counts struct {
	Questions map[string]int // by the name of the question
	Snoozed   int            // how many more the assignee hid
	More      bool           // there may be others, which were not looked at
}

// Count counts the open gates of a query among the newest ones, as many as most.
func Count(ctx context.Context, l *ledger.Ledger, q *Query, most int) (*Counts, error) {
	if err := q.whose(); err != nil {
		return nil, err
	}
	q, err := q.complete()
	if err != nil {
		return nil, err
	}
	if q.State != Open {
		return nil, posthouse.Invalid("counts", "are of open gates")
	}
	all := *q
	all.Limit, all.After, all.Look, all.Order = most, "", most, Newest
	if q.Assignee != "" && q.Snoozed != SnoozedOnly {
		all.Snoozed = SnoozedShown
	}
	all.bare = all.remembers()
	page, err := all.list(ctx, l, nil)
	if err != nil {
		return nil, err
	}
	c := &Counts{Questions: map[string]int{}, More: page.Next != ""}
	for _, item := range page.Items {
		if item.Err == nil && q.Snoozed != SnoozedOnly && q.snoozed(item.Gate, l.Now()) {
			c.Snoozed++
			if q.Snoozed != SnoozedShown {
				continue
			}
		}
		c.Questions[item.Gate.Name]++
	}
	return c, nil
}

// readNamed finds for whom the assignee stands in now.
func (q *Query) readNamed(ctx context.Context, l *ledger.Ledger) (err error) {
	if q.State == Open && q.Assignee != "" {
		q.named, err = substitutes.Active(ctx, l)
	}
	return err
}

// A page collects items until it is full, or hands them on until that is enough, or enough was looked
// at.
type page struct {
	Page
	q      *Query
	looked int
	each   func(*Item) bool // nil: they are collected
	enough bool             // each returned false
}

// full reports whether the page has to end here.
func (p *page) full() bool {
	return p.enough || p.each == nil && len(p.Items) >= p.q.Limit || p.looked >= p.q.Look
}

func (p *page) add(item Item) {
	switch {
	case p.each == nil:
		p.Items = append(p.Items, item)
	case !p.enough:
		p.enough = !p.each(&item)
	}
}

// listOpen lists open gates by their ids.
func listOpen(ctx context.Context, l *ledger.Ledger, q *Query, each func(*Item) bool) (*Page, error) {
	if q.After != "" && posthouse.ID(q.After).Validate() != nil {
		return nil, notACursor()
	}
	p := &page{q: q, each: each}
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
			p.add(Item{g, err})
		}
	}
	return &p.Page, nil
}

// narrow reports whether the query asks for what only a gate itself tells.
func (q *Query) narrow() bool {
	return q.Question != "" || q.Label != "" || q.Decider != "" || q.Assigned != "" || q.Requester != "" || q.Text != ""
}

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
