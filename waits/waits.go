package waits

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
)

// A Query says what a report is about. An empty field does not filter.
type Query struct {
	From time.Time // what was decided before does not count; default 30 days before To
	To   time.Time // nor what was decided from then on; default now. Open questions count as they are now

	Question string // of this name
	Program  string // asked by this program

	Look int // how many questions are read at most; default 20,000, at most 200,000
}

const (
	defaultPeriod = 30 * 24 * time.Hour
	defaultLook   = 20_000
	maxLook       = 200_000
	maxRows       = 5000 // of questions and people
)

// A Report is how long questions waited.
type Report struct {
	From      time.Time   `json:"from" doc:"the beginning of the period"`
	To        time.Time   `json:"to" doc:"its end"`
	Looked    int         `json:"looked" doc:"how many questions were read"`
	More      bool        `json:"more,omitempty" doc:"there are more in the period, or more questions and people, which do not count: the newest do. Ask for a shorter period, or for one question"`
	Questions []*Question `json:"questions" doc:"the one with the most open first"`
	Days      []Day       `json:"days" doc:"those of the period with a decision, in UTC, the oldest first"`
}

// A Day counts what ended on it.
type Day struct {
	Day     string `json:"day" doc:"as in 2026-11-26, in UTC"`
	Decided int    `json:"decided" doc:"questions that were decided on it"`
	Expired int    `json:"expired" doc:"that nobody decided in time"`
}

// Figures are what a report says of a question, or of a person.
type Figures struct {
	Open      int     `json:"open" doc:"that wait now"`
	OpenSince *Spread `json:"openSince,omitempty" doc:"for how long these have waited"`
	Decided   int     `json:"decided" doc:"that were decided in the period; of a person, votes count"`
	Wait      *Spread `json:"wait,omitempty" doc:"how long those waited that were decided; of a person from when it was theirs to decide"`
	Expired   int     `json:"expired" doc:"that nobody decided in time; of a person, who could have"`
	Withdrawn int     `json:"withdrawn,omitempty" doc:"that were cancelled, or asked again"`
}

// A Question is a report of all questions of a name.
type Question struct {
	Question string `json:"question"`
	Figures
	People []*Person `json:"people" doc:"those who decide or can; the one with the most open first"`

	open, wait histogram
	people     map[string]*Person
}

// A Person is what a question's report says of one person.
type Person struct {
	Person string `json:"person" doc:"empty: open to anyone with the role, for those that are"`
	Figures

	open, wait histogram
}

type report struct {
	Report
	now       time.Time
	walk      inbox.Walk
	questions map[string]*Question
	days      map[string]*Day
	rows      int
}

// Of reads the figures of a period. It fails with [posthouse.ErrInvalid] for a period that ends before it
// begins and for Look out of range. Questions that cannot be read do not count.
func Of(ctx context.Context, l *ledger.Ledger, q *Query) (*Report, error) {
	return of(ctx, l, nil, q)
}

func of(ctx context.Context, l *ledger.Ledger, m *inbox.Memory, q *Query) (*Report, error) {
	c := Query{}
	if q != nil {
		c = *q
	}
	r := &report{now: l.Now(), questions: map[string]*Question{}, days: map[string]*Day{}}
	if c.To.IsZero() {
		c.To = r.now
	}
	if c.From.IsZero() {
		c.From = c.To.Add(-defaultPeriod)
	}
	c.Look = cmp.Or(c.Look, defaultLook)
	switch {
	case !c.From.Before(c.To):
		return nil, posthouse.Invalid("from", "%s is not before to, %s", c.From.Format(time.RFC3339), c.To.Format(time.RFC3339))
	case c.Look < 0 || c.Look > maxLook:
		return nil, posthouse.Invalid("look", "must be 1 to %d", maxLook)
	}
	r.From, r.To, r.walk.Most, r.walk.Memory = c.From.UTC(), c.To.UTC(), c.Look, m
	if err := r.read(ctx, l, &c); err != nil {
		return nil, err
	}
	r.Looked, r.More = r.walk.Looked, r.More || r.walk.More
	return r.done(), nil
}

// read adds all questions that are open, and those that were settled in the period.
func (r *report) read(ctx context.Context, l *ledger.Ledger, q *Query) error {
	of := inbox.Query{Question: q.Question, Program: q.Program}
	err := r.walk.Read(ctx, l, of, func(item *inbox.Item) bool {
		if item.Err == nil {
			r.addOpen(item.Gate)
		}
		return true
	})
	if err != nil {
		return err
	}
	of.Since = q.From
	return r.walk.Settled(ctx, l, of, func(item *inbox.Item) bool {
		switch {
		case item.Err != nil:
		case item.Gate.Decision.At.Before(q.From):
			return false // those that follow are older
		case item.Gate.Decision.At.Before(q.To):
			r.addClosed(item.Gate)
		}
		return true
	})
}

// of returns the row of a question, nil if there are too many.
func (r *report) of(name string) *Question {
	q := r.questions[name]
	if q == nil {
		if r.rows >= maxRows {
			r.More = true
			return nil
		}
		r.rows++
		q = &Question{Question: name, People: []*Person{}, people: map[string]*Person{}}
		r.questions[name] = q
	}
	return q
}

// person returns the row of a person, nil if there are too many.
func (r *report) person(q *Question, name string) *Person {
	p := q.people[name]
	if p == nil {
		if r.rows >= maxRows {
			r.More = true
			return nil
		}
		r.rows++
		p = &Person{Person: name}
		q.people[name] = p
		q.People = append(q.People, p)
	}
	return p
}

func (r *report) addOpen(g *posthouse.Gate) {
	q := r.of(g.Name)
	if q == nil {
		return
	}
	q.Open++
	q.open.add(r.now.Sub(g.CreatedAt))
	who := deciders.Of(g, r.now)
	if len(g.Assignees) == 0 {
		who = []deciders.Decider{{}}
	}
	for _, d := range who {
		if d.Name != "" && !deciders.OpenTo(g, d.Name, r.now) {
			continue
		}
		if p := r.person(q, d.Name); p != nil {
			p.Open++
			p.open.add(r.now.Sub(since(g, d.Name)))
		}
	}
	r.votes(q, g)
}

func (r *report) addClosed(g *posthouse.Gate) {
	q := r.of(g.Name)
	if q == nil {
		return
	}
	d := g.Decision
	day := r.day(d.At)
	switch inbox.StateOf(g) {
	case inbox.Expired:
		q.Expired++
		day.Expired++
		for _, who := range deciders.Of(g, d.At) {
			if p := r.person(q, who.Name); p != nil && g.Voted(who.Name) == nil {
				p.Expired++
			}
		}
		if len(g.Assignees) == 0 {
			if p := r.person(q, ""); p != nil {
				p.Expired++
			}
		}
	case inbox.Withdrawn:
		q.Withdrawn++
	default:
		q.Decided++
		day.Decided++
		q.wait.add(d.At.Sub(g.CreatedAt))
		if g.Quorum == nil {
			r.decided(q, g, d)
		}
	}
	r.votes(q, g)
}

// votes counts the votes of a quorum that were given in the period.
func (r *report) votes(q *Question, g *posthouse.Gate) {
	for i := range g.Votes {
		if v := &g.Votes[i]; !v.At.Before(r.From) && v.At.Before(r.To) {
			r.decided(q, g, v)
		}
	}
}

func (r *report) decided(q *Question, g *posthouse.Gate, d *posthouse.Decision) {
	if p := r.person(q, d.By); p != nil {
		p.Decided++
		p.wait.add(d.At.Sub(since(g, d.By)))
	}
}

// since returns when a gate came to a person: when it was asked, or handed to them. A substitute who
// decides has had it since it was asked.
func since(g *posthouse.Gate, name string) time.Time {
	at := g.CreatedAt
	for _, a := range g.Assignments {
		if a.Substitution == "" && slices.Contains(a.To, name) && !slices.Contains(g.Assignees, name) {
			at = a.At
		}
	}
	return at
}

// day returns the figures of a moment's day.
func (r *report) day(at time.Time) *Day {
	name := at.UTC().Format(time.DateOnly)
	d := r.days[name]
	if d == nil {
		d = &Day{Day: name}
		r.days[name] = d
	}
	return d
}

// done orders the report and makes its figures.
func (r *report) done() *Report {
	r.Questions, r.Days = []*Question{}, []Day{}
	for _, name := range slices.Sorted(maps.Keys(r.days)) {
		r.Days = append(r.Days, *r.days[name])
	}
	for _, q := range r.questions {
		q.OpenSince, q.Wait = q.open.spread(), q.wait.spread()
		for _, p := range q.People {
			p.OpenSince, p.Wait = p.open.spread(), p.wait.spread()
		}
		slices.SortFunc(q.People, func(a, b *Person) int {
			return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(b.Decided, a.Decided), strings.Compare(a.Person, b.Person))
		})
		r.Questions = append(r.Questions, q)
	}
	slices.SortFunc(r.Questions, func(a, b *Question) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(b.Decided, a.Decided), strings.Compare(a.Question, b.Question))
	})
	return &r.Report
}
