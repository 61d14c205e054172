package posthouse

import (
	"encoding/json"
	"slices"
	"time"
)

// A Verdict is what a decision says.
type Verdict string

// The verdicts. People choose among the first four; Expire and Cancel are also
// recorded by the runtime. No answer is never an approval.
const (
	Approve Verdict = "approve" // go on as proposed
	Reject  Verdict = "reject"  // do not
	Edit    Verdict = "edit"    // go on with changed values
	Respond Verdict = "respond" // answer in place of the action
	Expire  Verdict = "expire"  // the deadline passed
	Cancel  Verdict = "cancel"  // the question was withdrawn
)

// Verdicts are those a person may give when a gate names none.
var defaultVerdicts = []Verdict{Approve, Reject, Edit, Respond}

// A Gate is a question put to a person, a program or a policy. It is opened by
// the commit that needs its answer and closed by exactly one [Decision].
type Gate struct {
	ID         ID     `json:"id"`
	Thread     string `json:"thread"`
	Branch     string `json:"branch"`
	Checkpoint ID     `json:"checkpoint"` // the checkpoint that waits
	Hash       Hash   `json:"hash"`       // of the entry that opened it: what a reviewer saw
	Seq        uint64 `json:"seq"`

	Name         string            `json:"name"`                     // of the question, 1 to 200 bytes, as written in the program
	Kind         string            `json:"kind,omitempty"`           // "approval" unless set
	Task         string            `json:"task,omitempty"`           // the execution that asked
	Occurrence   uint32            `json:"occurrence,omitempty"`     // counts questions of one name in one execution
	Text         string            `json:"text,omitempty"`           // the question, for a person
	Payload      json.RawMessage   `json:"payload,omitempty"`        // what is shown with it
	Schema       json.RawMessage   `json:"schema,omitempty"`         // JSON Schema that edits and responses must satisfy
	Verdicts     []Verdict         `json:"verdicts,omitempty"`       // allowed; empty means approve, reject, edit, respond
	Assignees    []string          `json:"assignees,omitempty"`      // who may decide; empty means anyone with the role
	RequestedBy  string            `json:"requestedBy,omitempty"`    // whose request it is
	AllowRequest bool              `json:"allowRequester,omitempty"` // the requester may decide
	Labels       map[string]string `json:"labels,omitempty"`
	CreatedAt    time.Time         `json:"createdAt"`
	ExpiresAt    time.Time         `json:"expiresAt,omitzero"` // zero: it waits for ever

	Decision *Decision `json:"decision,omitempty"` // nil while it waits
}

// Allows reports whether v is among the gate's verdicts. Cancel and Expire
// are always allowed.
func (g *Gate) Allows(v Verdict) bool {
	if v == Cancel || v == Expire {
		return true
	}
	if len(g.Verdicts) == 0 {
		return slices.Contains(defaultVerdicts, v)
	}
	return slices.Contains(g.Verdicts, v)
}

// A Decision is the one answer to a gate.
type Decision struct {
	Gate    ID              `json:"gate"`
	Verdict Verdict         `json:"verdict"`
	By      string          `json:"by"`               // who decided; required
	Actor   string          `json:"actor,omitempty"`  // who sent it, when an operator acts for By
	Reason  string          `json:"reason,omitempty"` // at most 4,000 bytes
	Value   json.RawMessage `json:"value,omitempty"`  // the edits of Edit, the answer of Respond
	Shown   Hash            `json:"shown,omitzero"`   // hash of what the decider saw; must match where given
	At      time.Time       `json:"at"`               // set by the Ledger
	Seq     uint64          `json:"seq,omitempty"`    // of its entry, set by the Ledger
}

// A DecidePolicy says whether a decision may be taken; it returns an
// [ErrForbidden] that says why not. The Ledger has already checked that the
// gate is open and the verdict allowed.
type DecidePolicy func(g *Gate, d *Decision) error

// A SchemaValidator checks JSON against a JSON Schema.
type SchemaValidator func(schema, value json.RawMessage) error
