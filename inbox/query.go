package inbox

import (
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
)

// A State is what became of a question.
type State string

// The states. A gate is open until a decision is on record: one past its deadline is expired once the
// runtime has said so.
const (
	Open      State = "open"
	Decided   State = "decided"   // by a person, or by whatever answered in their place
	Expired   State = "expired"   // its deadline passed without an answer
	Withdrawn State = "withdrawn" // it was cancelled, or another question took its place
)

// States returns all states.
func States() []State { return []State{Open, Decided, Expired, Withdrawn} }

// StateOf returns the state of a gate.
func StateOf(g *posthouse.Gate) State {
	if g.Decision == nil {
		return Open
	}
	return stateOf(g.Decision.Verdict)
}

// has reports whether a completed query finds gates of a state. Without a state it is of a walk, and
// finds all that wait no more.
func (q *Query) has(s State) bool { return s == q.State || q.State == "" && s != Open }

func stateOf(v posthouse.Verdict) State {
	switch v {
	case posthouse.Expire:
		return Expired
	case posthouse.Cancel:
		return Withdrawn
	}
	return Decided
}

// An Order is the order of a list.
type Order string

// The orders. Lists of what is not open have the newest decision first, whatever is asked for.
const (
	Newest     Order = "desc"     // the newest question first
	Oldest     Order = "asc"      // the oldest question first
	ByDeadline Order = "deadline" // the earliest deadline first, then those without a deadline, the oldest first
)

// Snoozed says what becomes of open gates that the assignee of a query hid from their inbox.
type Snoozed string

// The answers.
const (
	SnoozedHidden Snoozed = "hidden" // they are not listed
	SnoozedShown  Snoozed = "shown"  // they are listed with the others
	SnoozedOnly   Snoozed = "only"   // only they are listed
)

// A Query says which gates a list has. An empty field does not filter. A list is of a person (Assignee,
// Assigned, Decider or Requester), or Everyone is set: an empty name is not to list what everybody is asked.
type Query struct {
	State State // default Open

	Thread       string
	Coordination string
	Checkpoint   posthouse.ID // that asked
	Kind         string       // of this kind; those that wait for no person are listed only so
	Question     string       // the name of the question
	Program      string
	Label        string // of the question, by its name
	LabelValue   string // with Label
	Assignee     string // who may decide it, or might have: assigned to them, or to no person, and not their own request
	Assigned     string // who may decide it, or might have, by name: what is open to anybody is not
	Decider      string // who decided, or voted
	Requester    string // who made, or changed, what is asked
	Everyone     bool   // may list what others are asked, decided and made; without it a query that names no person is refused
	Text         string // stands in the question, its content, labels, or the name of its thread, in any case; at most [MaxText] bytes

	Since   time.Time // of what is not open: decided from then on
	Snoozed Snoozed   // of open gates with Assignee; default SnoozedHidden

	Order Order                   // of Open; default Newest
	After string                  // the Next of the page before, of the same query
	Limit int                     // of a page; default 100
	named []deciders.Substitution // those that hold, of a list of open gates with an assignee

	// Memory keeps where decisions are in the logs of threads, for other lists of those that are not open, and
	// open gates for [Count]. nil: logs are read again.
	Memory *Memory
	bare   bool // gates are those of the memory, without content

	Look int // how many entries and open gates are looked at for one page, beside those that the Memory has; default 20,000
	Scan int // of ByDeadline: how many summaries of threads are passed over for one page; default 200,000
}

// MaxText bounds the text that a query looks for, in bytes.
const MaxText = 200

const (
	defaultLimit = 100
	defaultLook  = 20_000
	defaultScan  = 200_000
)

// whose checks that a query names a person, or is for everyone's questions.
func (q *Query) whose() error {
	if q == nil || q.Everyone || q.Assignee != "" || q.Assigned != "" || q.Decider != "" || q.Requester != "" {
		return nil
	}
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "assignee", Message: "names no person", Hint: "name one (Assignee, Assigned, Decider, Requester), or set Everyone to list what everybody is asked"}
}

// complete returns the query with its defaults. [posthouse.ErrInvalid] names the field at fault.
func (q *Query) complete() (*Query, error) {
	c := Query{}
	if q != nil {
		c = *q
	}
	if c.State == "" {
		c.State = Open
	}
	if c.Order == "" {
		c.Order = Newest
	}
	if c.Limit == 0 {
		c.Limit = defaultLimit
	}
	if c.Look == 0 {
		c.Look = defaultLook
	}
	if c.Scan == 0 {
		c.Scan = defaultScan
	}
	switch {
	case !slices.Contains(States(), c.State):
		return nil, posthouse.Invalid("state", "%.80q is none of open, decided, expired, withdrawn", c.State)
	case c.Order != Newest && c.Order != Oldest && c.Order != ByDeadline:
		return nil, posthouse.Invalid("order", "%.80q is none of desc, asc, deadline", c.Order)
	case c.State != Open && c.Order != Newest:
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "order", Message: "is for open gates: others come with the newest decision first", Hint: "leave it out",
		}
	case c.Snoozed != "" && c.Snoozed != SnoozedHidden && c.Snoozed != SnoozedShown && c.Snoozed != SnoozedOnly:
		return nil, posthouse.Invalid("snoozed", "%.80q is none of hidden, shown, only", c.Snoozed)
	case c.Snoozed != "" && (c.Assignee == "" || c.State != Open):
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "snoozed", Message: "is about a person's inbox: of open gates, with an assignee", Hint: "add assignee=me, or leave it out",
		}
	case !c.Since.IsZero() && c.State == Open:
		return nil, posthouse.Invalid("since", "is of decisions, and open gates have none")
	case c.LabelValue != "" && c.Label == "":
		return nil, posthouse.Invalid("label", "is missing beside its value")
	case len(c.Text) > MaxText:
		return nil, posthouse.Invalid("q", "has %d bytes, at most %d", len(c.Text), MaxText)
	case c.Limit < 0 || c.Look < 0 || c.Scan < 0:
		return nil, posthouse.Invalid("limit", "must not be negative")
	}
	return &c, nil
}

// matches reports whether a gate that was read belongs on the list. The program and the coordination
// are its thread's, and looked at before.
func (q *Query) matches(g *posthouse.Gate, now time.Time) bool {
	switch {
	case !q.has(StateOf(g)),
		q.Kind == "" && !forPeople(g.Kind),
		q.Kind != "" && kindOf(g) != q.Kind,
		q.Thread != "" && g.Thread != q.Thread,
		q.Checkpoint != "" && g.Checkpoint != q.Checkpoint,
		q.Question != "" && g.Name != q.Question:
		return false
	}
	if q.Label != "" {
		if v, ok := g.Labels[q.Label]; !ok || v != q.LabelValue {
			return false
		}
	}
	if q.Decider != "" && !decidedBy(g, q.Decider) || q.Requester != "" && !g.Requests(q.Requester) || q.Text != "" && !has(g, strings.ToLower(q.Text)) {
		return false
	}
	if g.Decision != nil {
		now = g.Decision.At
	}
	if q.Assigned != "" && (len(g.Assignees) == 0 || !assigned(g, q.Assigned, nil, now)) {
		return false
	}
	if q.Assignee == "" {
		return true
	}
	return assigned(g, q.Assignee, q.named, now) && (q.State != Open || q.Snoozed == SnoozedShown || q.snoozed(g, now) == (q.Snoozed == SnoozedOnly))
}

// has reports whether a text stands in what is asked, or where. It is given in lower case.
func has(g *posthouse.Gate, lower string) bool {
	in := func(s string) bool { return strings.Contains(strings.ToLower(s), lower) }
	if in(g.Name) || in(g.Text) || in(g.Thread) || in(string(g.Payload)) {
		return true
	}
	for name, value := range g.Labels {
		if in(name + "=" + value) {
			return true
		}
	}
	return false
}

// snoozed reports whether the assignee hid an open gate.
func (q *Query) snoozed(g *posthouse.Gate, now time.Time) bool {
	return q.Assignee != "" && !deciders.SnoozedUntil(g, q.Assignee, now).IsZero()
}

// forPeople reports whether gates of a kind wait for people outside a session.
func forPeople(kind string) bool {
	return posthouse.AsksPeople(kind) && kind != posthouse.GateSession
}

func kindOf(g *posthouse.Gate) string {
	if g.Kind == "" {
		return posthouse.GateApproval
	}
	return g.Kind
}

// assigned reports whether a person may decide an open gate, or was among those who could have.
func assigned(g *posthouse.Gate, name string, named []deciders.Substitution, at time.Time) bool {
	if g.Decision == nil {
		return deciders.OpenTo(deciders.SeenBy(g, name, named, at), name, at)
	}
	_, ok := deciders.Right(g, name, at)
	return ok
}

func decidedBy(g *posthouse.Gate, name string) bool {
	if g.Decision != nil && posthouse.SameName(g.Decision.By, name) {
		return true
	}
	return slices.ContainsFunc(g.Votes, func(v posthouse.Decision) bool { return posthouse.SameName(v.By, name) })
}

// SplitLabel reads a label as it is written, name=value.
func SplitLabel(s string) (name, value string, err error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return "", "", posthouse.Invalid("label", "must be name=value")
	}
	return name, value, nil
}
