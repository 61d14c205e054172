package posthouse

import (
	"bytes"
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
