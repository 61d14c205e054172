package gate

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Question is what [Ask] asks. Only Name is required.
type Question struct {
	Name           string              // of the question in this node, 1 to 200 bytes without control characters and '>'
	Kind           string              // for filters and forms; default "approval"
	Text           string              // the question, for a person; at most 4,000 bytes
	Show           any                 // what to show with it, encoded as JSON
	ShowSchema     json.RawMessage     // JSON Schema of Show, with titles that label its members; default: that of its type if that has doc tags
	Schema         json.RawMessage     // JSON Schema 2020-12 of edits and responses; default: that of T
	Verdicts       []posthouse.Verdict // allowed answers; default all of [posthouse.GateVerdicts]
	Assignees      []string            // who may decide, at most 1,000 of 200 bytes; default: anyone with a role that allows it
	RequestedBy    string              // who requested it, beside who sent the input and who changed it: may reject, but not approve
	AllowRequester bool                // the requesters may approve, too
	Expires        time.Duration       // from now until the answer is no; default: never
	Labels         map[string]string   // at most 16, names and values at most 200 bytes
	Quorum         *posthouse.Quorum   // several people vote, approve or reject; default: one decides
	FourEyes       bool                // two people, neither the requester, who must be known: a Quorum of 2
	Escalate       *Escalation         // more people from some time on; needs Assignees
	Remind         []Reminder          // when those who may decide are reminded, at most [posthouse.MaxReminders]; default: never
	Auto           *Auto               // what is decided without a person; default: nothing

	// Bind says what an answer holds for. By default that is this name, text and
	// payload; with [posthouse.ByName] it is any question of the name, as in
	// "what next?". An answer bound by name licenses no effect.
	Bind posthouse.Binding

	// For [Propose]: how many effects an approval licenses, default 1, and for how long
	// after the decision, default without end.
	Uses     int
	ValidFor time.Duration
}

// An Escalation lets more people decide a question that waits for long.
type Escalation struct {
	After   time.Duration // from now; before Expires
	To      []string      // 1 to 1,000
	Replace bool          // the assignees before lose their right; default: they keep it
}

// A Reminder says when people are reminded of a question that waits. One of the two is set.
type Reminder struct {
	After  time.Duration // from now; before Expires
	Before time.Duration // before the deadline; needs Expires, and is shorter
}

// at returns when the reminder is due.
func (r *Reminder) at(now, expires time.Time) time.Time {
	if r.After > 0 {
		return now.Add(r.After)
	}
	return expires.Add(-r.Before)
}

const (
	maxText      = 4000
	maxAssignees = 1000
	maxLabels    = 16
)

// waits are the kinds of gates that are no questions.
var waits = [...]string{posthouse.GateTimer, posthouse.GateSignal, posthouse.GateThread, posthouse.GateSession, posthouse.GateTask}

func (q *Question) validate() error {
	if err := engine.CheckName("question", q.Name); err != nil {
		return err
	}
	for i, v := range q.Verdicts {
		if !posthouse.KnownVerdict(v) {
			return posthouse.Invalid("Verdicts", "has %q, which is not one of %s", v, posthouse.JoinVerdicts(posthouse.GateVerdicts(), ", "))
		}
		if slices.Contains(q.Verdicts[:i], v) {
			return posthouse.Invalid("Verdicts", "has %q twice", v)
		}
	}
	switch {
	case slices.Contains(waits[:], q.Kind):
		return posthouse.Invalid("Kind", "%s is the runtime's, whose answers are not bound to what is shown", q.Kind)
	case !text(q.Kind, posthouse.MaxID):
		return posthouse.Invalid("Kind", "must be at most %d bytes of text", posthouse.MaxID)
	case len(q.Text) > maxText || !utf8.ValidString(q.Text):
		return posthouse.Invalid("Text", "must be at most %d bytes of UTF-8", maxText)
	case q.Expires < 0:
		return posthouse.Invalid("Expires", "is negative; 0 means never")
	case len(q.Assignees) > maxAssignees:
		return posthouse.Invalid("Assignees", "are %d; the limit is %d", len(q.Assignees), maxAssignees)
	case len(q.Labels) > maxLabels:
		return posthouse.Invalid("Labels", "are %d; the limit is %d", len(q.Labels), maxLabels)
	case q.Bind != posthouse.ByContent && q.Bind != posthouse.ByName:
		return posthouse.Invalid("Bind", "is %.40q; it is empty or %q", q.Bind, posthouse.ByName)
	}
	if err := q.validateRule(); err != nil {
		return err
	}
	if err := posthouse.CheckPerson("RequestedBy", q.RequestedBy); err != nil {
		return err
	}
	for _, a := range q.Assignees {
		if a == "" {
			return posthouse.Invalid("Assignees", "has an empty name")
		}
		if err := posthouse.CheckPerson("Assignees", a); err != nil {
			return err
		}
	}
	for k, v := range q.Labels {
		if k == "" || !text(k, posthouse.MaxID) || !text(v, posthouse.MaxID) {
			return posthouse.Invalid("Labels", "has %.40q; names and values must be at most %d bytes of text", k, posthouse.MaxID)
		}
	}
	other := func(a string) bool { return a != q.RequestedBy }
	g := posthouse.Gate{Verdicts: q.Verdicts, AllowRequest: q.AllowRequester}
	if q.RequestedBy != "" && g.BarsRequesters() && len(q.Assignees) > 0 && !slices.ContainsFunc(q.Assignees, other) {
		return posthouse.Invalid("Assignees", "has nobody but %q, who asks and so cannot approve; add somebody or set AllowRequester", q.RequestedBy)
	}
	return nil
}

// validateRule checks what the Ledger cannot see. It checks the rest of the rule when the
// gate is opened.
func (q *Question) validateRule() error {
	if err := q.Auto.validate(q.Quorum != nil || q.FourEyes); err != nil {
		return err
	}
	if n := len(q.Remind); n > posthouse.MaxReminders {
		return posthouse.Invalid("Remind", "has %d reminders; the limit is %d", n, posthouse.MaxReminders)
	}
	for i, r := range q.Remind {
		switch {
		case (r.After > 0) == (r.Before > 0) || r.After < 0 || r.Before < 0:
			return posthouse.Invalid("Remind", "must say either after how long or how long before the deadline, in number %d", i+1)
		case r.Before > 0 && q.Expires == 0:
			return posthouse.Invalid("Remind", "is %s before a deadline, and the question has none: set Expires", r.Before)
		case q.Expires > 0 && max(r.After, r.Before) >= q.Expires:
			return posthouse.Invalid("Remind", "is %s away, and the question ends after %s", max(r.After, r.Before), q.Expires)
		}
	}
	switch e := q.Escalate; {
	case q.Auto != nil && len(q.Name) > maxTool:
		return posthouse.Invalid("Name", "of a question with Auto is %d bytes long; the limit is %d", len(q.Name), maxTool)
	case q.FourEyes && q.Quorum != nil:
		return posthouse.Invalid("FourEyes", "is a Quorum of its own; set one of the two")
	case q.FourEyes && q.AllowRequester:
		return posthouse.Invalid("FourEyes", "excludes the requester; AllowRequester cannot be set with it")
	case q.FourEyes && q.RequestedBy == "":
		return posthouse.Invalid("FourEyes", "must know whose request it is: set RequestedBy, or run it in the name of somebody")
	case e != nil && e.After <= 0:
		return posthouse.Invalid("Escalate", "must say after how long")
	case e != nil && len(e.To) > maxAssignees:
		return posthouse.Invalid("Escalate", "goes to %d people; the limit is %d", len(e.To), maxAssignees)
	}
	return nil
}

// gate returns the question as it is recorded. t is the type of its values. For a struct
// without fields the answers are yes and no.
func (q *Question) gate(t reflect.Type, now time.Time) (posthouse.Gate, error) {
	if len(q.Verdicts) == 0 && len(q.Schema) == 0 && t.Kind() == reflect.Struct && t.NumField() == 0 {
		q.Verdicts = []posthouse.Verdict{posthouse.Approve, posthouse.Reject}
	}
	g := posthouse.Gate{
		Name: q.Name, Kind: q.Kind, Text: q.Text,
		Verdicts: slices.Clone(q.Verdicts), Assignees: slices.Clone(q.Assignees),
		RequestedBy: q.RequestedBy, AllowRequest: q.AllowRequester, Labels: q.Labels, Bind: q.Bind,
	}
	if err := q.validate(); err != nil {
		return g, err
	}
	g.Quorum = q.Quorum
	if q.FourEyes {
		g.Quorum = &posthouse.Quorum{Need: 2}
	}
	var err error
	if q.Show != nil {
		g.Payload, err = posthouse.JSON.Marshal(q.Show)
		if err != nil {
			return g, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "Show", Message: "of question " + q.Name + " cannot be shown", Err: err}
		}
		g.PayloadSchema, err = q.payloadSchema()
		if err != nil {
			return g, err
		}
	}
	switch {
	case len(q.Schema) > 0:
		if _, err := compile(q.Schema); err != nil {
			return g, err
		}
		g.Schema = slices.Clone(q.Schema)
	case g.Quorum == nil && (len(q.Verdicts) == 0 || slices.ContainsFunc(q.Verdicts, posthouse.Verdict.TakesValue)):
		g.Schema, err = schemaOf(t)
		if err != nil {
			return g, err
		}
	}
	if q.Expires > 0 {
		g.ExpiresAt = now.Add(q.Expires)
	}
	for i := range q.Remind {
		g.Remind = append(g.Remind, posthouse.ToMillis(q.Remind[i].at(now, g.ExpiresAt)))
	}
	slices.SortFunc(g.Remind, time.Time.Compare)
	g.Remind = slices.CompactFunc(g.Remind, time.Time.Equal)
	if e := q.Escalate; e != nil {
		g.Escalation = &posthouse.Escalation{At: now.Add(e.After), To: slices.Clone(e.To), Replace: e.Replace}
	}
	return g, nil
}

func text(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
