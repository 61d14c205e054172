package posthouse

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// A StepInfo is the header of a recorded step result. It takes at most 120 bytes with
// everyday names. The body is the result.
type StepInfo struct {
	Task       string `json:"task"`       // the execution it belongs to
	Name       string `json:"name"`       // as written in the program
	Occurrence uint32 `json:"occurrence"` // counts results of one name in one execution, from 0
	Branch     string `json:"branch,omitempty"`
	Codec      string `json:"codec"`
	Effect     Effect `json:"effect,omitempty"`
	Grant      ID     `json:"grant,omitempty"` // the gate that licensed it by its decision
	Unordered  bool   `json:"loose,omitempty"` // a fork copied it from before its step restarted: its place does not count

	Took     time.Duration `json:"-"`                  // see [Story]
	Began    time.Time     `json:"beganAt,omitzero"`   // Took before its entry was made; not written
	Attempts int           `json:"attempts,omitempty"` // see [Story]
}

func (s *StepInfo) fields(f *fields, format byte) {
	f.Text(&s.Task)
	f.Text(&s.Name)
	f.Number32(&s.Occurrence)
	f.branch(&s.Branch)
	f.codec(&s.Codec)
	f.Octet((*byte)(&s.Effect))
	if format >= entryBound {
		f.optionalGateID(&s.Grant)
		f.Flag(&s.Unordered)
	}
	if format >= entryStory {
		f.story(&s.Took, &s.Attempts)
	}
}

// An Effect says what repeating a step would do to the world.
type Effect uint8

// The effect classes. A recorded success is replayed in every class; the class
// tells people and policies what an unrecorded attempt may have done.
const (
	EffectUnset    Effect = iota
	EffectPure            // computes only
	EffectRead            // reads the world
	EffectWrite           // writes, idempotently
	EffectExternal        // acts on the world once
	EffectHuman           // a person answered
)

var effectNames = [...]string{"", "pure", "read", "write", "external", "human"}

// String returns the name of the class, "" for the zero value.
func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return "effect(" + strconv.Itoa(int(e)) + ")"
}

// MarshalText writes the class's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalJSON reads a name, and the number that earlier versions wrote.
// [ErrInvalid] for any other text.
func (e *Effect) UnmarshalJSON(b []byte) error {
	if n, err := strconv.ParseUint(string(b), 10, 8); err == nil && int(n) < len(effectNames) {
		*e = Effect(n)
		return nil
	}
	b = bytes.Trim(b, `"`)
	for i, name := range effectNames {
		if name == string(b) {
			*e = Effect(i)
			return nil
		}
	}
	return Invalid("effect", "%.40q is not a class of effects; those are pure, read, write, external and human", b)
}

// A StepRecord is a recorded step result.
type StepRecord struct {
	Step
	Seq uint64
	At  time.Time
}

// A Story says how a step, or a node, came to what is on record of it.
type Story struct {
	// Took is how long the attempt took that ended so: it began that long before its entry was
	// made. It is kept in milliseconds. A copy and a fork keep it.
	Took time.Duration `json:"-"`
	// Attempts counts that attempt and those before it that failed and are on record. An attempt that
	// a crash cut off is not. It is kept with Took: both are 0 for a first attempt that took less than a
	// millisecond and has no notes, and for what a version wrote that kept neither.
	Attempts int `json:"-"`

	Error string `json:"lastError,omitempty"` // of the attempt before, or its own where one failed; longer than [MaxText] it is cut
	Notes []Note `json:"notes,omitempty"`     // in the order in which they were made
}

// The limits of notes.
const (
	MaxNotes     = 64       // of one execution of a step, or of a node between two of its records
	MaxNotesSize = 64 << 10 // bytes of these, encoded
	MaxLine      = 1000     // bytes of a note's line
)

// A Note is what a program says about a step, beside its result. It is for people, and for
// accounts of models. Each field is optional, and shown as it was given. Notes are encrypted where
// states are, and go when their step's result goes.
type Note struct {
	Line  string `json:"line,omitempty" doc:"a sentence for people"`      // at most [MaxLine] bytes
	Model string `json:"model,omitempty" doc:"the model that was called"` // at most [MaxID] bytes
	// Input is what the step was given: any value that JSON can hold. Read back it is a json.RawMessage.
	Input        any    `json:"input,omitempty" doc:"what the step was given"`
	InputTokens  int64  `json:"inputTokens,omitempty" doc:"tokens that the model read"`
	OutputTokens int64  `json:"outputTokens,omitempty" doc:"tokens that the model wrote"`
	Cost         string `json:"cost,omitempty" doc:"what it cost, such as 0.0042 USD; text as the program gave it"` // at most [MaxID] bytes
	// Values are others by name, as Input. A name has 1 to [MaxID] bytes.
	Values map[string]any `json:"values,omitempty" doc:"other values by name"`
}

// UnmarshalJSON keeps Input and Values as the bytes that they are.
func (n *Note) UnmarshalJSON(b []byte) error {
	type plain Note
	in := struct {
		*plain
		Input  json.RawMessage            `json:"input"`
		Values map[string]json.RawMessage `json:"values"`
	}{plain: (*plain)(n)}
	*n = Note{}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if in.Input != nil {
		n.Input = in.Input
	}
	if in.Values != nil {
		n.Values = make(map[string]any, len(in.Values))
		for name, v := range in.Values {
			n.Values[name] = v
		}
	}
	return nil
}

// A NoteInfo is the header of the notes on the step or checkpoint before it in its entry. The body
// is a [Story] as JSON, of which the error and the notes count.
type NoteInfo struct {
	Branch string `json:"branch,omitempty"`
	Line   bool   `json:"line,omitempty"` // a note has a line for people
}

func (n *NoteInfo) fields(f *fields) {
	f.branch(&n.Branch)
	f.Flag(&n.Line)
}

// hasStory reports whether a header says how long an attempt took, or how many there were.
func hasStory(took time.Duration, attempts int) bool { return took >= time.Millisecond || attempts > 0 }

// story is how long an attempt took, in milliseconds, and how many there were.
func (f *fields) story(took *time.Duration, attempts *int) {
	ms := uint64(took.Milliseconds())
	f.Number(&ms)
	f.Total(attempts)
	if f.Writing() {
		return
	}
	if ms > MaxMillis {
		f.Fail("an attempt that took %d ms", ms)
		ms = 0
	}
	*took = time.Duration(ms) * time.Millisecond
}

// beganBefore returns when an attempt began that ended at a time.
func beganBefore(at time.Time, took time.Duration, attempts int) (began time.Time) {
	if hasStory(took, attempts) {
		began = at.Add(-took)
	}
	return began
}
