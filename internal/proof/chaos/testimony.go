package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A fault is what a trial must not find.
type fault string

const (
	stepAgain  fault = "step-again" // a step was executed that was on record
	tooEarly   fault = "too-early"  // a payment was made before people decided on it
	unasked    fault = "unasked"    // people were never asked about it
	refused    fault = "refused"    // people rejected it
	twice      fault = "twice"      // it was made before
	altered    fault = "altered"    // what was paid is not what was approved
	unrecorded fault = "unrecorded" // the record does not show that it was made
	notMade    fault = "not-made"   // it is on record, or approved in a complete run, and was not made
)

// A finding is a fault of a run.
type finding struct {
	fault  fault
	thread string
	text   string
}

// A deed is what the witness says of a payment.
type deed struct {
	payments []statement
	licenses []statement // the decisions that approve it, each gate once
	rejected bool
	early    []string // payments before any decision, as they are described
}

// A testimony is what a witness file says about all runs.
type testimony struct {
	Executions int       // of steps
	Again      int       // executions of a step that was executed before, and was not on record
	Violations []finding // of executions of steps that were on record, and of payments
	Payments   int
	Approvals  int // decisions that approve a payment, as it is or edited

	seen  map[place]mark
	deeds map[place]*deed
	lines int
}

// An ear reads a witness file while others write it.
type ear struct {
	f    *os.File
	r    *bufio.Reader
	rest string // the begin of a line
	told testimony
}

func listen(path string) (*ear, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &ear{f: f, r: bufio.NewReader(f), told: testimony{seen: map[place]mark{}, deeds: map[place]*deed{}}}, nil
}

// hear reads what was written since.
func (e *ear) hear() error {
	for {
		text, err := e.r.ReadString('\n')
		e.rest += text
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line := e.rest
		e.rest = ""
		if err := e.told.line(line); err != nil {
			return err
		}
	}
}

// end reads the rest, and returns what the whole file says.
func (e *ear) end() (*testimony, error) {
	err := e.hear()
	if err == nil && e.rest != "" {
		err = fmt.Errorf("the witness ends with %q, which is no line", e.rest)
	}
	e.told.noApproval()
	return &e.told, err
}

// made reports whether a payment was made.
func (t *testimony) made(p place) bool {
	d := t.deeds[p]
	return d != nil && len(d.payments) > 0
}

func (t *testimony) found(f fault, thread, format string, args ...any) {
	t.Violations = append(t.Violations, finding{f, thread, fmt.Sprintf(format, args...)})
}

func (t *testimony) line(text string) error {
	t.lines++
	var s statement
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fmt.Errorf("line %d of the witness: %w", t.lines, err)
	}
	switch s.Mark {
	case recorded:
		t.seen[s.place()] = recorded
	case executed:
		t.Executions++
		switch t.seen[s.place()] {
		case recorded:
			t.found(stepAgain, s.Thread, "line %d: process %d executes step %d of %s, which is on record", t.lines, s.Process, s.Step, s.Thread)
		case executed:
			t.Again++
		default:
			t.seen[s.place()] = executed
		}
	case paid:
		t.payment(s)
	case decided:
		t.decision(s)
	default:
		return fmt.Errorf("line %d of the witness has mark %q", t.lines, s.Mark)
	}
	return nil
}

func (t *testimony) deed(p place) *deed {
	d := t.deeds[p]
	if d == nil {
		d = &deed{}
		t.deeds[p] = d
	}
	return d
}

// decision notes what people are about to decide. They say it again where the answer was lost.
func (t *testimony) decision(s statement) {
	d := t.deed(s.place())
	switch {
	case s.Verdict == posthouse.Reject:
		d.rejected = true
	case s.Verdict == posthouse.Approve || s.Verdict == posthouse.Edit || s.Verdict == posthouse.Redo:
		if !slices.ContainsFunc(d.licenses, func(l statement) bool { return l.Gate == s.Gate }) {
			d.licenses = append(d.licenses, s)
			t.Approvals++
		}
	}
}

// payment notes a payment, which must be approved as it is made, and the first.
func (t *testimony) payment(s statement) {
	t.Payments++
	d := t.deed(s.place())
	what := fmt.Sprintf("line %d: process %d makes payment %d of %s", t.lines, s.Process, s.Step, s.Thread)
	switch {
	case len(d.licenses) == 0 && d.rejected:
		t.found(refused, s.Thread, "%s, which was rejected", what)
	case len(d.licenses) == 0:
		d.early = append(d.early, what)
	case !slices.ContainsFunc(d.licenses, func(l statement) bool { return l.Amount == s.Amount }):
		t.found(altered, s.Thread, "%s: %d, approved is %d", what, s.Amount, d.licenses[0].Amount)
	}
	if len(d.payments) > 0 {
		t.found(twice, s.Thread, "%s again, approved %d times", what, len(d.licenses))
	}
	d.payments = append(d.payments, s)
}

// noApproval sorts payments that were not approved when they were made.
func (t *testimony) noApproval() {
	for p, d := range t.deeds {
		for _, what := range d.early {
			switch {
			case len(d.licenses) > 0:
				t.found(tooEarly, p.thread, "%s before it is approved", what)
			case d.rejected:
				t.found(refused, p.thread, "%s before it is rejected", what)
			default:
				t.found(unasked, p.thread, "%s, and nobody is ever asked", what)
			}
		}
		d.early = nil
	}
}
