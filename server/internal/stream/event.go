package stream

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/task"
)

// An Event is one message of a stream: of one thread or of all, as a server-sent event or over a
// WebSocket. The member that its kind names says what happened; of a fault it is error.
type Event struct {
	Kind   string    `json:"kind" doc:"what it tells: checkpoint, step, gate, decision, claim, removal, vote, assignment, release, signal or take, as they are recorded; values, update, message, custom, by the modes asked for; session, begin or error"`
	Cursor string    `json:"cursor,omitempty" doc:"to go on after it, as the id of a server-sent event; absent where the event is not on record, or another of the same record follows"`
	Thread string    `json:"thread,omitempty" doc:"the line of work"`
	Seq    uint64    `json:"seq,omitempty" doc:"the number of its entry in the thread's log; absent where it is not on record"`
	At     time.Time `json:"at,omitzero" doc:"when it was recorded; absent where it is not on record"`

	posthouse.Event // of a record: its kind is the one above

	Values  *Values              `json:"values,omitempty" doc:"kind values: the state of a checkpoint"`
	Update  *Values              `json:"update,omitempty" doc:"kind update: what a checkpoint changed"`
	Message *Emission            `json:"message,omitempty" doc:"kind message: a piece of text, as a program reports it while it works"`
	Custom  *Emission            `json:"custom,omitempty" doc:"kind custom: a value, as a program or a worker's handler reports it while it works"`
	Session *session.SessionInfo `json:"session,omitempty" doc:"kind session: as GET /api/session answers"`
	Error   *problem.Details     `json:"error,omitempty" doc:"kind error: what could not be read, or, without a cursor, why the stream ends"`
}

// Values are parts of a state.
type Values struct {
	Checkpoint posthouse.ID               `json:"checkpoint" doc:"the checkpoint"`
	Branch     string                     `json:"branch" doc:"its branch"`
	Node       string                     `json:"node,omitempty" doc:"the node or agent that made it"`
	Parts      map[string]json.RawMessage `json:"parts" doc:"parts of the state by name: of values all, of an update those that are not as in its parent; an opaque state is one part, state"`
	Dropped    []string                   `json:"dropped,omitempty" doc:"of an update: parts that are not there any more"`
	Codecs     map[string]string          `json:"codecs,omitempty" doc:"parts that are not JSON: shown as base64"`
}

// An Emission is what a program reports while it works. It is not on record, and is not told again.
type Emission struct {
	Step  string          `json:"step,omitempty" doc:"the step that reports it; absent outside of any"`
	Text  string          `json:"text,omitempty" doc:"of a message"`
	Value json.RawMessage `json:"value,omitempty" doc:"of kind custom"`
}

// recorded makes an event of a record.
func recorded(e *posthouse.Event) *Event {
	return &Event{Kind: e.Kind.String(), Cursor: e.Cursor, Thread: e.Thread, Seq: e.Seq, At: e.At, Event: *e}
}

// emitted makes an event of what a program or a handler reports.
func emitted(c *task.Chunk) *Event {
	if c.Value == nil {
		return &Event{Kind: "message", Thread: c.Thread, Message: &Emission{Step: c.Step, Text: c.Text}}
	}
	return &Event{Kind: "custom", Thread: c.Thread, Custom: &Emission{Step: c.Step, Value: c.Value}}
}
