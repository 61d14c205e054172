package people

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/substitutes"
)

// A Source says where a name is known from.
type Source string

// The sources in a store.
const (
	Decided    Source = "decided"    // they decided or voted
	Asked      Source = "asked"      // a program asks them, or would by an escalation
	Delegate   Source = "delegate"   // somebody handed them a question
	Substitute Source = "substitute" // somebody named them as their substitute
)

// A Person is a name with what a store knows of it.
type Person struct {
	Name  string
	Known []Source  // in the order of the constants
	Last  time.Time // the newest of these on record
}

// A Query bounds what is read. Nil is the zero value.
type Query struct {
	Look int // how many questions are read at most; default 5,000, at most 200,000

	Memory *inbox.Memory // keeps what was read for the next time; nil: all is read again
}

const (
	defaultLook = 5000
	maxLook     = 200_000
	maxPeople   = 5000
)

// A Found is what [Of] returns.
type Found struct {
	People []Person // by name
	Looked int      // how many questions were read
	More   bool     // there are more questions or names, which were not looked at
}

// Of lists the names in a store: of open questions first, then of those that were decided, the newest
// first. Names of the runtime, of policies and of workers are left out, and questions that cannot be
// read. [posthouse.ErrInvalid] for Look out of range.
func Of(ctx context.Context, l *ledger.Ledger, q *Query) (*Found, error) {
	if q == nil {
		q = &Query{}
	}
	look := cmp.Or(q.Look, defaultLook)
	if look < 0 || look > maxLook {
		return nil, posthouse.Invalid("look", "must be 1 to %d", maxLook)
	}
	c := &collection{known: map[string]*Person{}}
	named, err := substitutes.List(ctx, l, "")
	if err != nil {
		return nil, err
	}
	for i := range named {
		c.add(Substitute, named[i].At, named[i].To)
	}
	w := inbox.Walk{Most: look, Memory: q.Memory}
	each := func(item *inbox.Item) bool {
		if item.Err == nil {
			c.gate(item.Gate)
		}
		return true
	}
	if err := w.Read(ctx, l, inbox.Query{}, each); err != nil {
		return nil, err
	}
	if err := w.Settled(ctx, l, inbox.Query{}, each); err != nil {
		return nil, err
	}
	f := &Found{Looked: w.Looked, More: w.More || c.full}
	for _, p := range c.known {
		slices.SortFunc(p.Known, func(a, b Source) int { return cmp.Compare(rank(a), rank(b)) })
		f.People = append(f.People, *p)
	}
	slices.SortFunc(f.People, func(a, b Person) int { return strings.Compare(a.Name, b.Name) })
	return f, nil
}

func rank(s Source) int { return slices.Index([]Source{Decided, Asked, Delegate, Substitute}, s) }

type collection struct {
	known map[string]*Person
	full  bool
}

func (c *collection) gate(g *posthouse.Gate) {
	c.add(Asked, g.CreatedAt, g.Assignees...)
	if g.Escalation != nil {
		c.add(Asked, g.CreatedAt, g.Escalation.To...)
	}
	for i := range g.Assignments {
		switch a := &g.Assignments[i]; {
		case deciders.Delegates(a):
			c.add(Delegate, a.At, a.To...)
		case a.Substitution != "":
			c.add(Substitute, a.At, a.To...)
		}
	}
	for i := range g.Votes {
		c.add(Decided, g.Votes[i].At, g.Votes[i].By)
	}
	if d := g.Decision; d != nil && inbox.StateOf(g) == inbox.Decided {
		c.add(Decided, d.At, d.By)
	}
}

func (c *collection) add(from Source, at time.Time, names ...string) {
	for _, name := range names {
		if posthouse.CheckDecider("name", name) != nil {
			continue
		}
		p := c.known[name]
		if p == nil {
			if len(c.known) >= maxPeople {
				c.full = true
				continue
			}
			p = &Person{Name: name}
			c.known[name] = p
		}
		if !slices.Contains(p.Known, from) {
			p.Known = append(p.Known, from)
		}
		if at.After(p.Last) {
			p.Last = at
		}
	}
}
