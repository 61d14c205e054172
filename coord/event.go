package coord

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// A Kind says what happened in a coordination.
type Kind string

// The kinds of event. The coordinator emits the first five and
// CommitmentRecorded by itself, [Fork] emits ForkCreated; handlers and agents
// report the others with [Emit].
const (
	CoordinationStarted   Kind = "CoordinationStarted"   // a request was taken: Text is its message
	CoordinationCompleted Kind = "CoordinationCompleted" // the handler returned: Text and Data conclude, Error if it failed
	AgentDispatched       Kind = "AgentDispatched"       // an agent was called: Skill, Args
	AgentCompleted        Kind = "AgentCompleted"        // it answered: Text, Data, ElapsedMS
	AgentFailed           Kind = "AgentFailed"           // it did not: Error, Args, ElapsedMS
	AgentEvaluated        Kind = "AgentEvaluated"        // an answer was judged: Text, Data
	AgentHandoff          Kind = "AgentHandoff"          // one agent passed the work on: To
	RouteEvaluated        Kind = "RouteEvaluated"        // a route was chosen: To, Text says why
	AgentActivityChanged  Kind = "AgentActivityChanged"  // what an agent is doing: Text
	CircuitStateChanged   Kind = "CircuitStateChanged"   // an agent's circuit breaker moved: Text is the new state
	ForkCreated           Kind = "ForkCreated"           // another line of work began: Fork
	CommitmentRecorded    Kind = "CommitmentRecorded"    // an agent did something for somebody: Commitment
)

// An Event is one thing that happened in a coordination. Fields that do not
// belong to its kind are empty. The JSON form is stable: fields are added, never
// renamed.
type Event struct {
	ID           posthouse.ID `json:"id"`
	Kind         Kind         `json:"kind"`
	Cause        posthouse.ID `json:"causeId,omitempty"` // the event that led to this one; empty for a root
	Coordination string       `json:"coordinationId"`    // the coordinator's name
	Thread       string       `json:"thread,omitempty"`  // the request's thread; empty: the coordination is the thread
	Branch       string       `json:"branch,omitempty"`  // empty: main
	Run          string       `json:"run,omitempty"`
	At           time.Time    `json:"at"`

	Agent     string          `json:"agentName,omitempty"`
	Skill     string          `json:"skill,omitempty"`
	To        string          `json:"to,omitempty"` // the agent or route that follows
	By        string          `json:"by,omitempty"` // the person who caused it
	Args      json.RawMessage `json:"args,omitempty"`
	Text      string          `json:"text,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Error     string          `json:"error,omitempty"`
	ElapsedMS int64           `json:"elapsedMs,omitempty"`

	Commitment *Commitment `json:"commitment,omitempty"` // of CommitmentRecorded
	Fork       *ForkLink   `json:"fork,omitempty"`       // of ForkCreated
}

// A Commitment says which agent did what for whom, and with what outcome. It holds no
// signature of its own: where a journal checkpoints it, the thread's hash chain and its
// signatures cover it like every record.
type Commitment struct {
	Issuer    string `json:"issuer"`              // "coordinator:" and its name
	Principal string `json:"principal,omitempty"` // who sent the request that it belongs to
	Subject   string `json:"subject"`             // the agent
	Scope     string `json:"scope"`               // the skill
	Outcome   string `json:"outcome"`             // "completed" or "failed": it is recorded when that is known
}

// Outcomes of a [Commitment].
const (
	OutcomeCompleted = "completed"
	OutcomeFailed    = "failed"
)

// A ForkLink says where a line of work came from.
type ForkLink struct {
	Coordination string       `json:"coordinationId"`
	Thread       string       `json:"thread"`
	Event        posthouse.ID `json:"eventId"`                // the journaled event forked at
	Checkpoint   posthouse.ID `json:"checkpointId,omitempty"` // the checkpoint that event became
}

func (e Event) clone() Event {
	e.Args, e.Data = bytes.Clone(e.Args), bytes.Clone(e.Data)
	if e.Commitment != nil {
		c := *e.Commitment
		e.Commitment = &c
	}
	if e.Fork != nil {
		f := *e.Fork
		e.Fork = &f
	}
	return e
}

func (e *Event) thread() string {
	return cmp.Or(e.Thread, e.Coordination)
}

// String returns the event as one line for a log: time, kind, coordination,
// thread and whatever else is set, control characters escaped.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(e.At.UTC().Format("2006-01-02T15:04:05.000Z"))
	fmt.Fprintf(&b, " %-21s %s", quoteWord(string(e.Kind)), quoteWord(e.Coordination))
	field := func(name, value string) {
		if value != "" {
			b.WriteString(" " + name + "=" + quoteWord(value))
		}
	}
	field("thread", e.Thread)
	if e.Branch != posthouse.MainBranch {
		field("branch", e.Branch)
	}
	field("agent", e.Agent)
	field("skill", e.Skill)
	field("to", e.To)
	field("by", e.By)
	if c := e.Commitment; c != nil {
		field("issuer", c.Issuer)
		field("principal", c.Principal)
		field("subject", c.Subject)
		field("scope", c.Scope)
		field("outcome", c.Outcome)
	}
	if f := e.Fork; f != nil {
		field("from", f.Thread)
		field("event", string(f.Event))
	}
	field("text", e.Text)
	field("error", e.Error)
	if e.ElapsedMS > 0 {
		field("elapsed", (time.Duration(e.ElapsedMS) * time.Millisecond).String())
	}
	return b.String()
}

// quoteWord quotes what would break a line of words apart, or reach a terminal as a control
// character.
func quoteWord(s string) string {
	for _, r := range s {
		if r <= ' ' || r == '"' || r == '=' || !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}
