package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/posthouse/posthouse"
)

// A witness is a file that all processes append to. A line is one write, so lines of several
// processes do not mix, and their order is that in which things happened.
type witness struct{ f *os.File }

// A mark is what a line of the witness says.
type mark byte

const (
	executed mark = 'x' // the step begins to be executed
	recorded mark = 'r' // the program has gone on with what is on record
	paid     mark = 'p' // a payment begins to be made
)

func openWitness(path string) (*witness, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	return &witness{f}, err
}

// write adds a line. A nil witness hears nothing.
func (w *witness) write(m mark, thread string, step int) error {
	if w == nil {
		return nil
	}
	_, err := fmt.Fprintf(w.f, "%c %s %d %d\n", m, thread, step, os.Getpid())
	return err
}

// A testimony is what a witness file says about all runs.
type testimony struct {
	Executions int      // of steps
	Again      int      // executions of a step that was executed before, and was not on record
	Violations []string // executions of steps that were on record, and payments that were not approved or made before
	Payments   int
	paid       map[place]bool
}

// A place is a step of a run.
type place struct {
	thread string
	step   int
}

// hear reads a witness file.
func hear(path string) (t testimony, err error) {
	f, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	seen := map[place]mark{}
	t.paid = map[place]bool{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		var m mark
		var p place
		var pid int
		if _, err := fmt.Sscanf(lines.Text(), "%c %s %d %d", &m, &p.thread, &p.step, &pid); err != nil {
			return t, fmt.Errorf("line %d of the witness: %w", n, err)
		}
		switch m {
		case recorded:
			seen[p] = recorded
			continue
		case paid:
			t.payment(n, pid, p)
			continue
		}
		t.Executions++
		switch seen[p] {
		case recorded:
			t.Violations = append(t.Violations, fmt.Sprintf("line %d: process %d executes step %d of %s, which is on record", n, pid, p.step, p.thread))
		case executed:
			t.Again++
		default:
			seen[p] = executed
		}
	}
	return t, lines.Err()
}

// payment notes a payment, which must be approved and the first.
func (t *testimony) payment(line, pid int, p place) {
	if t.paid[p] {
		t.Violations = append(t.Violations, fmt.Sprintf("line %d: process %d makes payment %d of %s again", line, pid, p.step, p.thread))
	}
	if verdict, _ := (payment{Thread: p.thread, Step: p.step}).answer(); verdict == posthouse.Reject {
		t.Violations = append(t.Violations, fmt.Sprintf("line %d: process %d makes payment %d of %s, which was rejected", line, pid, p.step, p.thread))
	}
	t.paid[p] = true
	t.Payments++
}
