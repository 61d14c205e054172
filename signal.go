package posthouse

import (
	"encoding/json"
	"slices"
	"time"
)

// MaxSignal is how many bytes a signal's value may have.
const MaxSignal = 1 << 20

// MaxSignalNames is how many names the signals of one thread may have.
const MaxSignalNames = 1000

// A Signal is a value that somebody sends to a thread under a name. It is on
// record whether or not anything waits for it. Waits of a branch take the
// signals of a name one by one, oldest first, each once; a wait that latches
// reads the newest and takes none.
type Signal struct {
	ID     ID              `json:"id"`           // "": a new one; sending the same again is no error and sends nothing
	Thread string          `json:"thread"`       // set by the Ledger
	Name   string          `json:"name"`         // 1 to 200 bytes of text without control characters that do not begin with $
	Value  json.RawMessage `json:"value"`        // at most [MaxSignal] bytes; empty is null
	By     string          `json:"by,omitempty"` // who sent it
	Latch  bool            `json:"latch,omitempty"`
	Early  bool            `json:"-"` // it may be sent to a thread that is not there yet

	At    time.Time `json:"at"`              // set by the Ledger
	Seq   uint64    `json:"seq"`             // of its entry, set by the Ledger
	Gates []ID      `json:"gates,omitempty"` // that it answered, set by the Ledger
}

// Signal returns the signal of a record with its body.
func (s *SignalInfo) Signal(e *Entry, body []byte) *Signal {
	return &Signal{
		ID: s.ID, Thread: e.Thread, Name: s.Name, Value: slices.Clone(body), By: s.By, Latch: s.Latch, At: e.Time(), Seq: e.Seq,
	}
}

// Decision is what the signal answers to a gate.
func (s *Signal) Decision(gate ID) *Decision {
	by := s.By
	if by == "" {
		by = "signal"
	}
	return &Decision{Gate: gate, Verdict: Respond, By: by, Value: s.Value, Signal: s.Seq, At: s.At}
}

// SignalsPart holds how far a checkpoint's branch took the signals of each
// name, for forks that begin at it: a JSON object of entries by name. The
// Ledger alone writes it.
const SignalsPart = "$signals"

// A Take says that a draft's branch takes a signal, whose value the same draft
// records.
type Take struct {
	Name   string
	Signal uint64 // its entry
}
