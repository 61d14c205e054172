package client

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// An Event is one thing that happened: a record, or what a program reports while it works. Kind names
// the member that is set.
type Event struct {
	Kind   string    `json:"kind"`             // of a record as [posthouse.RecordKind] has it; or values, update, message, custom
	Cursor string    `json:"cursor,omitempty"` // to go on after it; "" for what is not on record, and where another of the same record follows
	Thread string    `json:"thread,omitempty"`
	Seq    uint64    `json:"seq,omitempty"` // of its entry in the thread's log
	At     time.Time `json:"at,omitzero"`

	posthouse.Event // of a record: see [Event.Record]

	Values  *Values   `json:"values,omitempty"`  // the state of a checkpoint, of mode values
	Update  *Values   `json:"update,omitempty"`  // what a checkpoint changed, of mode updates
	Message *Emission `json:"message,omitempty"` // a piece of text, of mode messages
	Custom  *Emission `json:"custom,omitempty"`  // a value, of mode custom

	Error Document `json:"error,omitempty"` // the problem of an entry that cannot be read
}

// A Document is JSON that is not a value on record.
type Document []byte

// UnmarshalJSON keeps the bytes.
func (d *Document) UnmarshalJSON(data []byte) error {
	*d = slices.Clone(data)
	return nil
}

// MarshalJSON returns them.
func (d Document) MarshalJSON() ([]byte, error) {
	if d == nil {
		return []byte("null"), nil
	}
	return d, nil
}

// Values are parts of a state.
type Values struct {
	Checkpoint posthouse.ID               `json:"checkpoint"`
	Branch     string                     `json:"branch"`
	Node       string                     `json:"node,omitempty"`
	Parts      map[string]json.RawMessage `json:"parts"`             // by name; the bytes on record
	Dropped    []string                   `json:"dropped,omitempty"` // of an update: parts that are not there any more
	Codecs     map[string]string          `json:"codecs,omitempty"`  // of parts that are not JSON: they are base64 in a string
}

// An Emission is what a program or a worker's handler reports while it works. It is not on record.
type Emission struct {
	Step  string          `json:"step,omitempty"`
	Text  string          `json:"text,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Record returns the event as the log has it. It is nil for one that is not of a record.
func (e *Event) Record() *posthouse.Event {
	var kind posthouse.RecordKind
	if e.Kind == "" || kind.UnmarshalText([]byte(e.Kind)) != nil {
		return nil
	}
	rec := e.Event
	rec.Kind, rec.Cursor, rec.Thread, rec.Seq, rec.At = kind, e.Cursor, e.Thread, e.Seq, e.At
	return &rec
}
