package posthouse

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// A Gate is a question to a person, a program or a policy. The commit that needs the
// answer opens it, and exactly one [Decision] closes it. As JSON it has at most
// Options.MaxState bytes.
type Gate struct {
	ID         ID     `json:"id"`
	Thread     string `json:"thread"`
	Branch     string `json:"branch"`
	Checkpoint ID     `json:"checkpoint"` // the checkpoint that waits
	Hash       Hash   `json:"hash"`       // of the entry that opened it: what a reviewer saw
	Seq        uint64 `json:"seq"`

	Name       string          `json:"name"`                 // of the question, 1 to 200 bytes, as written in the program
	Kind       string          `json:"kind,omitempty"`       // what it waits for: [GateApproval] unless set, a name of yours, or one of the runtime's
	Signal     string          `json:"signal,omitempty"`     // of [GateSignal]: the name of the signal it waits for
	Latch      bool            `json:"latch,omitempty"`      // of [GateSignal]: it reads the newest signal and does not take it
	Task       string          `json:"task,omitempty"`       // the execution that asked
	Occurrence uint32          `json:"occurrence,omitempty"` // counts questions of one name in one execution
	Text       string          `json:"text,omitempty"`       // the question, for a person
	Payload    json.RawMessage `json:"payload,omitempty"`    // what is shown with it
	// PayloadSchema is the JSON Schema of the payload: titles and descriptions label its members. It is
	// not part of the content.
	PayloadSchema json.RawMessage `json:"payloadSchema,omitempty"`

	Bind         Binding           `json:"bind,omitempty"`           // which later questions its answer serves; empty: those of this content
	Note         string            `json:"note,omitempty"`           // why people are asked; not part of the content
	Schema       json.RawMessage   `json:"schema,omitempty"`         // JSON Schema that edits and responses must satisfy
	Verdicts     []Verdict         `json:"verdicts,omitempty"`       // allowed; empty means all of [GateVerdicts]
	Assignees    []string          `json:"assignees,omitempty"`      // who may decide; empty means anyone with the role
	RequestedBy  string            `json:"requestedBy,omitempty"`    // the first requester: named by the question, or the sender of the input
	Requesters   []Requester       `json:"requesters,omitempty"`     // all who made or changed it; empty: RequestedBy alone. Set by the Ledger
	AllowRequest bool              `json:"allowRequester,omitempty"` // the requesters may decide
	Labels       map[string]string `json:"labels,omitempty"`
	CreatedAt    time.Time         `json:"createdAt,omitzero"`
	ExpiresAt    time.Time         `json:"expiresAt,omitzero"` // zero: it waits for ever

	Quorum     *Quorum     `json:"quorum,omitempty"`     // several people vote; nil: one decides
	Escalation *Escalation `json:"escalation,omitempty"` // who else may decide from a time on
	Remind     []time.Time `json:"remind,omitempty"`     // when those who may decide are reminded, ascending, at most [MaxReminders]
	// Supersedes is the gate that this one replaces: what it asked has changed, or its
	// answer no longer counts.
	Supersedes ID `json:"supersedes,omitempty"`

	// Origin is the gate that this one copies, in a fork into another thread or in a
	// copied thread. The copy is for reading and licenses nothing.
	Origin ID `json:"origin,omitempty"`

	// Instance is the random name of the program instance that asked. If the same
	// instance asks a question differently, the program is not deterministic.
	Instance string `json:"instance,omitempty"`

	// Uses is how many effects an approval licenses. See [ledger.ReadGrant].
	Uses int `json:"uses,omitempty"`

	// ValidFor is how long an approval licenses effects, in nanoseconds from the
	// decision; 0 is forever.
	ValidFor time.Duration `json:"validFor,omitempty"`

	Call *TaskCall `json:"call,omitempty"` // of [GateTask]: what a worker is to do

	Attempt *Attempt `json:"attempt,omitempty"` // of [GateOutcome]: which attempt it is about; nil in old records

	Votes       []Decision   `json:"votes,omitempty"`       // of a quorum, oldest first
	Assignments []Assignment `json:"assignments,omitempty"` // how the right to decide moved, oldest first
	Notices     []Notice     `json:"notices,omitempty"`     // reminders, and who set it aside, oldest first

	// PutBack is the time to which the store was put back after the question was asked: it may have been
	// answered since, and what it asks about may have been done. Zero: it was not. It is not on record.
	PutBack time.Time `json:"putBack,omitzero"`

	Decision *Decision `json:"decision,omitempty"` // nil while it waits

	// Record holds what only the Ledger reads of the gate's record.
	Record GateRecord `json:"-"`
}

// A GateRecord holds what the log has of a gate beside what people see.
type GateRecord struct {
	Salt  []byte // of the digest in the header; nil if the gate has no salt
	Trail uint64 // the entry of the newest vote, assignment or notice

	// Kept says that the gate was on record before, at the source of a fork. Rules made
	// since do not apply to it.
	Kept bool

	// Named says that the question itself names RequestedBy, by a rule of the program.
	Named bool

	// Settles says that the runtime asks about an effect with an unknown outcome. Only such a
	// gate may allow [Happened], [Redo] and [GiveUp].
	Settles bool

	// Followed counts the results of the gate's task that follow it in its own entry,
	// when a fork copies both.
	Followed int

	// People says which names are one person's. It is not on record; nil: only equal names.
	People People

	// Signed says that the entry with the question has a signature of its own, AnswerSigned that those
	// with its votes, assignments, notices and decision have. They are not on record.
	Signed, AnswerSigned bool
}

// EncodeGate returns the body of a gate's record.
func EncodeGate(g *Gate) ([]byte, error) {
	if !g.PutBack.IsZero() {
		recorded := *g
		recorded.PutBack, g = time.Time{}, &recorded
	}
	return json.Marshal(gateBody{g, g.Record.Followed, g.Record.Salt})
}

type gateBody struct {
	*Gate
	Followed int    `json:"followed,omitempty"`
	Salt     []byte `json:"salt,omitempty"`
}

// The kinds of gate. The runtime answers those after the first two: it asks no
// person, and a person can only cancel them.
const (
	GateApproval = "approval" // a person, a program or a policy decides
	// GateSession is an approval for as long as a connection is open. It is not in the
	// inbox, and no program goes on after its answer.
	GateSession = "session"
	GateTimer   = "timer"  // waits until ExpiresAt: a sleep, a retry
	GateSignal  = "signal" // waits for the signal that [Gate.Signal] names
	GateThread  = "thread" // waits for the end of another thread, which [Gate.Text] names; looks again at ExpiresAt
	GateTask    = "task"   // waits for the worker that does what [Gate.Call] says, with the payload as its input
	// GateOutcome is the question about an effect with an unknown outcome.
	GateOutcome = "outcome"
)

// AsksPeople reports whether people decide the gate. The runtime decides those of kind
// [GateTimer], [GateSignal], [GateThread] and [GateTask].
func (g *Gate) AsksPeople() bool { return AsksPeople(g.Kind) }

// IsEdited reports whether people approved the gate with other content than it shows.
func (g *Gate) IsEdited() bool { return g.Decision != nil && g.Decision.Verdict == Edit }

// AsksPeople reports whether people decide gates of a kind; see [Gate.AsksPeople].
func AsksPeople(kind string) bool {
	return kind != GateTimer && kind != GateSignal && kind != GateThread && kind != GateTask
}

func (g *GateInfo) waiting(seq uint64) WaitingGate {
	return WaitingGate{
		ID: g.ID, Branch: g.Branch, Seq: seq, ExpiresAt: g.ExpiresAt, Kind: cmp.Or(g.Kind, GateApproval), Signal: g.Signal, Latch: g.Latch,
		EscalateAt: g.EscalateAt, RemindAt: g.RemindAt,
	}
}

// Unread returns the gate as far as a summary knows it.
func (w *WaitingGate) Unread(thread string) *Gate {
	return &Gate{ID: w.ID, Thread: thread, Branch: w.Branch, Seq: w.Seq, Kind: w.Kind, Signal: w.Signal, Latch: w.Latch, ExpiresAt: w.ExpiresAt}
}

// Allows reports whether v is among the gate's verdicts. Cancel and Expire
// are always allowed.
func (g *Gate) Allows(v Verdict) bool {
	if v == Cancel || v == Expire {
		return true
	}
	if len(g.Verdicts) == 0 {
		return v.rules().OnGate
	}
	return slices.Contains(g.Verdicts, g.Recorded(v))
}

// A Decision is the one answer to a gate.
type Decision struct {
	Gate    ID              `json:"gate"`
	Verdict Verdict         `json:"verdict"`
	By      string          `json:"by"`               // who decided; required. In a quorum: who cast the deciding vote
	For     string          `json:"for,omitempty"`    // owner of the right that By used, if it was delegated; set by the Ledger
	Actor   string          `json:"actor,omitempty"`  // who sent it, when an operator acts for By
	Reason  string          `json:"reason,omitempty"` // at most 4,000 bytes
	Value   json.RawMessage `json:"value,omitempty"`  // of a verdict that takes one: the edits of Edit, the answer of Respond
	Shown   Hash            `json:"shown,omitzero"`   // hash of what the decider saw; must match where given
	Token   Hash            `json:"token,omitzero"`   // SHA-256 of the approval token that carried it, made by Actor, or else By
	Signal  uint64          `json:"signal,omitempty"` // the entry of the signal that answered, set by the Ledger

	// Requesters are the people for whom a program sent that signal, beside By. The Ledger sets it.
	Requesters []string `json:"requesters,omitempty"`

	// Successor is the gate that replaced this one, when its question was withdrawn
	// because the content changed. The Ledger sets it.
	Successor ID `json:"successor,omitempty"`

	// Unknown says of a task under a grant that its effect may have happened: its worker fell
	// silent, stopped, took too long, or could not tell.
	Unknown bool `json:"unknown,omitempty"`

	BeganAt time.Time `json:"beganAt,omitzero"` // of a task's attempt: when its worker claimed it; set by the Ledger
	Notes   []Note    `json:"notes,omitempty"`  // of a task's handler, outside of its steps; set by the Ledger

	At    time.Time `json:"at"`              // set by the Ledger
	Seq   uint64    `json:"seq,omitempty"`   // of its entry, set by the Ledger
	Trail uint64    `json:"trail,omitempty"` // entry of the gate's newest vote, assignment or notice, set by the Ledger
}

// RuntimeActor is the name under which the runtime cancels gates and lets them expire.
const RuntimeActor = "posthouse"

// Unanswered reports whether no person decided a gate. A cancellation by the branch
// that went on without it does not count.
func (g *Gate) Unanswered() bool {
	return g.Decision == nil || g.Decision.Verdict == Cancel && g.Decision.By == RuntimeActor
}

// Licensed returns the content that the gate's decision approved: what was shown, or
// the edit. It is nil unless the gate was approved.
func (g *Gate) Licensed() json.RawMessage {
	switch d := g.Decision; {
	case d == nil || !d.Verdict.IsYes():
		return nil
	case d.Verdict.TakesValue():
		return d.Value
	default:
		return g.Payload
	}
}

// Licenses reports whether the gate's question licenses effects once it is approved, or
// approved with an edit. An answer of gate.Ask, one bound by name and a copy license no
// effects.
func (g *Gate) Licenses() bool {
	d := g.Decision
	return d != nil && d.Verdict.IsYes() && g.Uses > 0 && g.Bind != ByName && g.Origin == ""
}

// PastValidity reports whether the gate's decision is older than ValidFor.
func (g *Gate) PastValidity(now time.Time) bool {
	return g.Decision != nil && g.ValidFor > 0 && now.After(g.Decision.At.Add(g.ValidFor))
}

// A DecidePolicy may refuse a decision with an [ErrForbidden] that says why. The Ledger
// has already checked that the gate is open and the verdict allowed.
type DecidePolicy func(g *Gate, d *Decision) error

// A SchemaValidator checks JSON against a JSON Schema.
type SchemaValidator func(schema, value json.RawMessage) error

// Withdrawn reports whether the runtime cancelled a gate, because its branch went on
// without it or asked again. Such a decision is not an answer.
func (g *Gate) Withdrawn() bool {
	return g.Decision != nil && g.Decision.Verdict == Cancel && g.Decision.By == RuntimeActor
}

// Clone returns a deep copy that shares nothing with g.
func (g *Gate) Clone() *Gate {
	c := *g
	c.Payload, c.Schema, c.PayloadSchema = slices.Clone(g.Payload), slices.Clone(g.Schema), slices.Clone(g.PayloadSchema)
	c.Verdicts, c.Assignees, c.Labels = slices.Clone(g.Verdicts), slices.Clone(g.Assignees), maps.Clone(g.Labels)
	if g.Quorum != nil {
		q := *g.Quorum
		c.Quorum = &q
	}
	if g.Escalation != nil {
		e := *g.Escalation
		e.To = slices.Clone(e.To)
		c.Escalation = &e
	}
	if g.Attempt != nil {
		a := *g.Attempt
		a.Said = slices.Clone(a.Said)
		c.Attempt = &a
	}
	if g.Call != nil {
		call := *g.Call
		call.Continued, call.Metadata, call.Trace = slices.Clone(call.Continued), maps.Clone(call.Metadata), maps.Clone(call.Trace)
		c.Call = &call
	}
	c.Requesters = slices.Clone(g.Requesters)
	for i := range c.Requesters {
		c.Requesters[i].What = slices.Clone(c.Requesters[i].What)
	}
	c.Record.Salt = slices.Clone(g.Record.Salt)
	c.Votes = slices.Clone(g.Votes)
	for i := range c.Votes {
		c.Votes[i].Value = slices.Clone(c.Votes[i].Value)
	}
	c.Assignments = slices.Clone(g.Assignments)
	for i := range c.Assignments {
		c.Assignments[i].To = slices.Clone(c.Assignments[i].To)
	}
	c.Remind, c.Notices = slices.Clone(g.Remind), slices.Clone(g.Notices)
	if g.Decision != nil {
		c.Decision = g.Decision.Clone()
	}
	return &c
}

// Clone returns a deep copy that shares nothing with d.
func (d *Decision) Clone() *Decision {
	c := *d
	c.Value, c.Requesters = slices.Clone(d.Value), slices.Clone(d.Requesters)
	return &c
}

// Lapsed reports whether a question to people passed its deadline (ExpiresAt) without a decision. It
// is false for other waits. It says nothing about ValidFor, which [Gate.PastValidity] compares.
func (g *Gate) Lapsed(now time.Time) bool {
	return g.Decision == nil && g.AsksPeople() && !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt)
}

// Replaced returns the error of a gate that another one has replaced.
func (g *Gate) Replaced(by ID) error {
	return &Error{
		Code: CodeConflict, Gate: by, Message: "gate " + string(g.ID) + " was asked again", Hint: "look at gate " + string(by) + ", which asks in its place",
	}
}
