package card

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/notify"
)

// A Card is an event as people read it. All its texts are plain, with marks for what people do not see, or take for
// something else.
type Card struct {
	Title   string  // one line
	Text    string  // what else the question says; may have several lines
	Fields  []Field // what a decision is about
	Facts   []Field // what else people want to know: who asks, until when
	News    string  // of an event after the question: to whom it moved, that it still waits
	Outcome string  // of a decision: what, by whom and when
	Warning string  // of the marks in what the question says; "" without any
	Link    string  // to the page; "" without one
	Whole   bool    // the card shows all that a decision of its gate counts for
}

// A Field is a value with its label.
type Field struct{ Label, Value string }

// Limits bound a card. Nil, and zero fields, are the defaults.
type Limits struct {
	Text   int // bytes of Text; default 4000
	Value  int // bytes of a value; default 2000
	Fields int // default 40
}

const maxTitle = 250

// Of returns an event as people read it.
func Of(e *notify.Event, l *Limits) *Card {
	if l == nil {
		l = &Limits{}
	}
	c := &Card{Whole: true}
	switch d := &e.Data; {
	case d.Gate != nil:
		c.ofGate(d.Gate, l)
		c.after(e)
	case d.Effect != nil:
		c.Title = "The effect " + d.Effect.Name + " was carried out"
	case d.Run != nil:
		c.ofRun(d.Run, d.Program, l)
	default:
		c.Title = "This is a test"
	}
	c.warn(&e.Data)
	c.fact("Program", e.Data.Program)
	c.fact("Thread", e.Data.Thread)
	c.Title = line(c.Title)
	if len(c.Title) > maxTitle {
		c.Title = clip(c.Title, maxTitle) + " …"
		c.Whole = false
	}
	return c
}

func (c *Card) ofGate(g *notify.Gate, l *Limits) {
	c.Title = cmp.Or(g.Intent, "Question "+g.Name)
	c.Whole = !g.Partial
	if rest := strings.TrimSpace(strings.Replace(g.Text, g.Intent, "", 1)); rest != "" {
		c.Text = c.cut(text.Visible(rest), cmp.Or(l.Text, 4000))
	}
	most := cmp.Or(l.Fields, 40)
	for i, f := range g.Fields {
		if i == most {
			c.Whole = false
			c.Fields = append(c.Fields, Field{"…", strconv.Itoa(len(g.Fields)-most) + " more fields are not shown here"})
			break
		}
		label := f.Label
		if f.Name != "" && f.Name != f.Label {
			label += " (" + f.Name + ")"
		}
		c.Fields = append(c.Fields, Field{c.cut(line(label), 200), c.cut(Value(f.Value), cmp.Or(l.Value, 2000))})
	}
	c.Link = g.Link
	if g.Approval != nil {
		c.Link = g.Approval.Link
	}
	c.fact("Question", g.Name)
	c.fact("Asked by", g.RequestedBy)
	for _, t := range g.Terms {
		c.fact(t.Label, t.Value)
	}
	for _, a := range g.Answers {
		if a.Risk != "" {
			c.fact(a.Label, a.Does+". "+a.Risk)
		}
	}
	if !g.ExpiresAt.IsZero() {
		c.fact("Decide by", Time(g.ExpiresAt))
	}
}

// after adds what an event says of a question that is known already.
func (c *Card) after(e *notify.Event) {
	switch d := &e.Data; {
	case d.Decision != nil:
		c.Outcome = Outcome(d.Decision)
	case d.Assignment != nil:
		a := d.Assignment
		c.News = "It is now for " + line(strings.Join(a.To, ", ")) + " to decide"
		switch {
		case a.TakenBack:
			c.News = line(a.By) + " took it back and decides again"
		case a.By != "" && !a.Escalation:
			c.News += ", says " + line(a.By)
		}
		if a.Reason != "" {
			c.News += ": " + short(a.Reason, 500)
		}
	case d.Reminder != nil:
		c.News = "This question still waits"
		if !d.Gate.CreatedAt.IsZero() {
			c.News += ", since " + Time(d.Gate.CreatedAt)
		}
	case e.Type == notify.EffectUnknown && d.Effect != nil:
		c.News = "It is not known whether the effect " + line(d.Effect.Name) + " happened"
	}
}

// warn says what marks there are in what an event is about.
func (c *Card) warn(d *notify.Data) {
	var m text.Marks
	m.Add(d.Program, d.Thread)
	if g := d.Gate; g != nil {
		m.Add(g.Name, g.Intent, g.Text, g.RequestedBy)
		for _, f := range g.Fields {
			m.Add(f.Label)
			m.AddJSON(f.Value)
		}
	}
	if d.Run != nil {
		m.Add(d.Run.Node, d.Run.Error)
	}
	if says := m.Warning(); says != "" {
		c.Warning = "Warning: " + says + "."
	}
}

func (c *Card) ofRun(r *notify.Run, program string, l *Limits) {
	c.Title = cmp.Or(program, "A run")
	switch r.Status {
	case posthouse.StatusFailed:
		c.Title += " failed"
		if r.Node != "" {
			c.Title += " at " + r.Node
		}
		c.Text = c.cut(text.Visible(r.Error), cmp.Or(l.Text, 4000))
	case posthouse.StatusCancelled:
		c.Title += " was cancelled"
	default:
		c.Title += " is done"
	}
}

func (c *Card) fact(label, value string) {
	if value != "" {
		c.Facts = append(c.Facts, Field{label, short(value, 300)})
	}
}

// cut returns a text of n bytes at most, which says so where it was longer.
func (c *Card) cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	c.Whole = false
	return clip(s, n) + " … (cut: it has " + strconv.Itoa(utf8.RuneCountInString(s)) + " characters)"
}

// Value returns a value as it is on record: a text as its characters, with hidden ones marked, and anything else as JSON.
// A text that could be taken for something else is in quotes.
func Value(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil || len(v) == 0 || v[0] != '"' {
		return text.Visible(string(bytes.TrimSpace(v)))
	}
	if s == "" || strings.TrimSpace(s) != s || json.Valid([]byte(s)) {
		return text.Visible(string(v))
	}
	return text.Visible(s)
}

// Outcome says what was decided, by whom and when.
func Outcome(d *notify.Decision) string {
	words := map[posthouse.Verdict]string{
		posthouse.Approve: "Approved", posthouse.Reject: "Rejected", posthouse.Edit: "Approved with changes", posthouse.Respond: "Answered",
		posthouse.Expire: "Expired", posthouse.Cancel: "Withdrawn",
		posthouse.Happened: "Reported as done", posthouse.Redo: "Ordered again", posthouse.GiveUp: "Given up",
	}
	s := cmp.Or(words[d.Verdict], string(d.Verdict))
	if d.By != "" && d.By != posthouse.RuntimeActor {
		s += " by " + line(d.By)
	}
	if d.For != "" {
		s += " for " + line(d.For)
	}
	s += ", " + Time(d.At)
	if d.Reason != "" {
		s += ": " + short(d.Reason, 500)
	}
	if d.Successor != "" {
		s += ". It was asked again, since what it asks has changed"
	}
	return s
}

// Time returns a time as people read it, in UTC.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// short returns a text on one line of n bytes at most.
func short(s string, n int) string { return clip(line(s), n) }

// line returns a text on one line, with marks.
func line(s string) string { return text.Visible(strings.Join(strings.Fields(s), " ")) }

// clip cuts a text to n bytes at most, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
