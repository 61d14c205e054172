package notify

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

// A Type says what happened.
type Type string

// The types of events.
const (
	GateOpened     Type = "gate.opened"     // a question waits for people
	GateAssigned   Type = "gate.assigned"   // it was delegated or escalated
	GateReminded   Type = "gate.reminded"   // it still waits, and one of its reminders was due
	GateDecided    Type = "gate.decided"    // it has its decision; one that expired or was withdrawn, too
	EffectExecuted Type = "effect.executed" // an effect on the world is on record
	EffectUnknown  Type = "effect.unknown"  // an effect has an outcome that is not known
	ThreadEnded    Type = "thread.ended"    // a run of a thread's branch is done, or was cancelled
	ThreadFailed   Type = "thread.failed"   // it failed
	Test           Type = "test"            // sent by [Notifier.Test] only
)

// Types returns the types that an endpoint can ask for.
func Types() []Type {
	return []Type{GateOpened, GateAssigned, GateReminded, GateDecided, EffectExecuted, EffectUnknown, ThreadEnded, ThreadFailed}
}

// An Event is one thing that happened. As JSON it is the body of a webhook, at most about 256 KiB.
type Event struct {
	Type Type      `json:"type"`
	At   time.Time `json:"timestamp"` // of its entry in the log
	Data Data      `json:"data"`
}

// Data is what an event is about.
type Data struct {
	Thread  string `json:"thread,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`     // of the entry in the thread's log
	Program string `json:"program,omitempty"` // that runs the thread

	Gate       *Gate       `json:"gate,omitempty"`       // of events about a gate, and of an unknown effect
	Assignment *Assignment `json:"assignment,omitempty"` // of [GateAssigned]
	Reminder   *Reminder   `json:"reminder,omitempty"`   // of [GateReminded]
	Decision   *Decision   `json:"decision,omitempty"`   // of [GateDecided]
	Effect     *Effect     `json:"effect,omitempty"`     // of events about an effect
	Run        *Run        `json:"run,omitempty"`        // of events about a thread
}

// A Gate is a question as receivers see it.
type Gate struct {
	ID          posthouse.ID        `json:"id"`
	Name        string              `json:"name"`
	Kind        string              `json:"kind"`
	Intent      string              `json:"intent,omitempty"` // the first line of its text
	Text        string              `json:"text,omitempty"`
	Fields      []gate.BindingField `json:"fields,omitempty"`      // members of the payload, in their order
	Terms       []gate.Term         `json:"terms,omitempty"`       // what else an answer counts for
	Answers     []posthouse.Answer  `json:"answers,omitempty"`     // what people may answer, and what each answer does
	Payload     json.RawMessage     `json:"payload,omitempty"`     // absent beyond [MaxContent]
	Partial     bool                `json:"partial,omitempty"`     // text or payload are longer than what is here, or left out
	Verdicts    []posthouse.Verdict `json:"verdicts,omitempty"`    // that it takes; absent: all
	Assignees   []string            `json:"assignees,omitempty"`   // who may decide; empty: anyone with the role
	RequestedBy string              `json:"requestedBy,omitempty"` // the first requester
	Labels      map[string]string   `json:"labels,omitempty"`
	CreatedAt   time.Time           `json:"createdAt,omitzero"`
	ExpiresAt   time.Time           `json:"expiresAt,omitzero"`
	Shown       posthouse.Hash      `json:"shown"`               // what a decision of this content names
	Supersedes  posthouse.ID        `json:"supersedes,omitzero"` // the gate that it replaces
	Link        string              `json:"link,omitempty"`      // to its page; a login is needed there
	Approval    *Approval           `json:"approval,omitempty"`  // for endpoints that carry the right to decide
}

// An Approval lets who has it decide one gate, once, in a person's name and without a login. Opening the
// link decides nothing.
type Approval struct {
	Link      string              `json:"link"`      // to a page that shows the gate and decides it; the token is in its fragment, which browsers send nowhere
	URL       string              `json:"url"`       // where a program posts the verdict, with the token as Authorization: Bearer
	Token     string              `json:"token"`     // an approval token
	For       string              `json:"for"`       // the person
	Verdicts  []posthouse.Verdict `json:"verdicts"`  // that the token gives
	ExpiresAt time.Time           `json:"expiresAt"` // at the latest the gate's deadline
}

// An ApprovalRequest asks for an [Approval] of a gate.
type ApprovalRequest struct {
	Gate     *posthouse.Gate
	Endpoint string
	Person   string
	Key      []byte // of the endpoint: the token follows from it
}

// An Assignment says to whom the right to decide moved.
type Assignment struct {
	By         string   `json:"by,omitempty"`
	To         []string `json:"to,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Escalation bool     `json:"escalation,omitempty"` // by time, not by a person
	TakenBack  bool     `json:"takenBack,omitempty"`  // By takes back what they delegated; To is By
}

// A Reminder says whom a gate waits for.
type Reminder struct {
	To   []string  `json:"to,omitempty"`  // who may decide it and has not voted; empty: anyone with the role
	Next time.Time `json:"next,omitzero"` // when the next reminder is due; absent: there is no other
}

// A Decision is what was decided.
type Decision struct {
	Verdict   posthouse.Verdict `json:"verdict"`
	By        string            `json:"by"`
	For       string            `json:"for,omitempty"` // the owner of the right, if it was delegated
	Reason    string            `json:"reason,omitempty"`
	Value     json.RawMessage   `json:"value,omitempty"` // the edit, or the answer; absent beyond [MaxContent]
	Successor posthouse.ID      `json:"successor,omitempty"`
	At        time.Time         `json:"at"`
}

// An Effect is an effect on the world.
type Effect struct {
	Name       string       `json:"name"` // of the step, or of the node
	Task       string       `json:"task,omitempty"`
	Occurrence uint32       `json:"occurrence,omitempty"`
	Grant      posthouse.ID `json:"grant,omitempty"` // the gate that licensed it
}

// A Run is how a run ended.
type Run struct {
	Checkpoint posthouse.ID      `json:"checkpoint"`
	Status     posthouse.Status  `json:"status"` // done, cancelled or failed
	Node       string            `json:"node,omitempty"`
	Error      string            `json:"error,omitempty"` // absent where content is left out
	Labels     map[string]string `json:"labels,omitempty"`
}

// MaxContent is the most bytes of a payload, and of a decision's value, that an event has: 64 KiB. A
// receiver asks the API for what is longer.
const MaxContent = 64 << 10

// withoutContent returns the event without what people and programs wrote: names, ids and times
// stay.
func (e *Event) withoutContent() *Event {
	c := *e
	if e.Data.Gate != nil {
		g := *e.Data.Gate
		g.Partial = g.Partial || g.Text != "" || g.Payload != nil
		g.Intent, g.Text, g.Fields, g.Payload, g.Labels = "", "", nil, nil, nil
		c.Data.Gate = &g
	}
	if e.Data.Assignment != nil {
		a := *e.Data.Assignment
		a.Reason = ""
		c.Data.Assignment = &a
	}
	if e.Data.Decision != nil {
		d := *e.Data.Decision
		d.Reason, d.Value = "", nil
		c.Data.Decision = &d
	}
	if e.Data.Run != nil {
		r := *e.Data.Run
		r.Error, r.Labels = "", nil
		c.Data.Run = &r
	}
	return &c
}

// isType reports whether endpoints can ask for events of a type.
func isType(t Type) bool { return slices.Contains(Types(), t) }
