package chaos

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/posthouse/posthouse"
)

// A witness is a file that all processes append to. A line is one write, so lines of several
// processes do not mix, and their order is that in which things happened.
type witness struct {
	f *os.File

	mu   sync.Mutex
	once map[place]bool // what a program of the control arm did in this process
}

// A mark is what a line of the witness says.
type mark string

const (
	executed mark = "x" // the step begins to be executed
	recorded mark = "r" // the program has gone on with what is on record
	paid     mark = "p" // a payment begins to be made
	decided  mark = "d" // people are about to decide on a payment
)

// A statement is a line of the witness.
type statement struct {
	Mark    mark              `json:"mark"`
	Thread  string            `json:"thread"`
	Step    int               `json:"step"`
	Process int               `json:"process"`
	Amount  uint64            `json:"amount,omitempty"`  // of a payment
	Gate    posthouse.ID      `json:"gate,omitempty"`    // that is decided
	Verdict posthouse.Verdict `json:"verdict,omitempty"` // of the decision
}

// A place is a step of a run.
type place struct {
	thread string
	step   int
}

func (s *statement) place() place { return place{s.Thread, s.Step} }

func openWitness(path string) (*witness, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &witness{f: f, once: map[place]bool{}}, err
}

// write adds a line. A nil witness hears nothing.
func (w *witness) write(s statement) error {
	if w == nil {
		return nil
	}
	s.Process = os.Getpid()
	line, err := json.Marshal(&s)
	if err != nil {
		return err
	}
	_, err = w.f.Write(append(line, '\n'))
	return err
}

// first reports whether it was not asked about the place before, in this process.
func (w *witness) first(p place) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.once[p]
	w.once[p] = true
	return !before
}
