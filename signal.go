package posthouse

import (
	"encoding/json"
	"slices"
	"time"
)

// MaxSignal bounds a signal's value, in bytes.
const MaxSignal = 1 << 20

// MaxSignalNames bounds the names that signals of one thread have.
const MaxSignalNames = 1000

// A Signal is a value that somebody sends to a thread under a name. It is recorded
// whether or not anything waits for it. Waits of a branch take the signals of a name
// one by one, oldest first, each once. A wait that latches reads the newest signal and
// does not take it.
type Signal struct {
	ID     ID              `json:"id"`           // "": a new one; sending the same id and content again sends nothing
	Thread string          `json:"thread"`       // set by the Ledger
	Name   string          `json:"name"`         // 1 to 200 bytes of text without control characters, not beginning with $
	Value  json.RawMessage `json:"value"`        // at most [MaxSignal] bytes; empty is null
	By     string          `json:"by,omitempty"` // who sent it
	Latch  bool            `json:"latch,omitempty"`
	Early  bool            `json:"-"` // it may be sent to a thread that does not exist yet

	At    time.Time `json:"at"`              // set by the Ledger
	Seq   uint64    `json:"seq"`             // of its entry, set by the Ledger
	Gates []ID      `json:"gates,omitempty"` // that it answered, set by the Ledger

	// Requesters are all people for whom a program sent it, beside By. They are requesters of
	// the questions that its taker asks. The Ledger sets it.
	Requesters []string `json:"requesters,omitempty"`
}

// Signal returns the signal of a record with its body.
func (s *SignalInfo) Signal(e *Entry, body []byte) *Signal {
	return &Signal{
		ID: s.ID, Thread: e.Thread, Name: s.Name, Value: slices.Clone(body), By: s.By, Latch: s.Latch, At: e.Time(), Seq: e.Seq, Requesters: slices.Clone(s.Requesters),
	}
}

// Decision returns the decision that the signal makes of a gate.
func (s *Signal) Decision(gate ID) *Decision {
	by := s.By
	if by == "" {
		by = "signal"
	}
	return &Decision{Gate: gate, Verdict: Respond, By: by, Value: s.Value, Signal: s.Seq, At: s.At, Requesters: s.Requesters}
}

// SignalsPart is the part that holds which signals of each name a checkpoint's branch
// took, for forks that begin there: a JSON object of entries by name. Only the Ledger
// writes it.
const SignalsPart = "$signals"

// A Take says that a draft's branch takes a signal. The same draft records the
// signal's value.
type Take struct {
	Name   string
	Signal uint64 // its entry
}

// Clone returns a deep copy that shares nothing with s.
func (s *Signal) Clone() *Signal {
	c := *s
	c.Value, c.Gates = slices.Clone(s.Value), slices.Clone(s.Gates)
	c.Requesters = slices.Clone(s.Requesters)
	return &c
}
