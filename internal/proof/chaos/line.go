package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/internal/proof/record"
)

// Record is the file of lines, from the top of the module.
const Record = "docs/record/chaos.jsonl"

// A Line is what one trial found, as it is recorded.
type Line struct {
	Date     string `json:"date"`   // such as 2026-11-23
	Commit   string `json:"commit"` // of what was tried
	Seed     uint64 `json:"seed"`
	Runs     int    `json:"runs"`
	Complete int    `json:"complete"`
	Seconds  int    `json:"seconds"`
	Disturbances
	Executions int `json:"executions"` // of steps
	Again      int `json:"again"`      // executions of steps that were not on record after an earlier one
	Violations int `json:"violations"` // executions of steps that were on record, and faults of payments
	Wrong      int `json:"wrong"`      // runs that ended otherwise than a run that nothing happened to

	// Records were compared with those of runs that nothing happened to, beside the output: steps,
	// questions, answers, checkpoints and parts of the state. 0: nothing but the output was.
	Records int `json:"records,omitempty"`

	// Payments are effects under an approval that were executed, Approvals the decisions that approved
	// them, and Unknown the outcomes that people were asked about. For runs with one of these the
	// results of steps and the final state are compared. Earlier lines lack these fields.
	Payments  int `json:"payments,omitempty"`
	Approvals int `json:"approvals,omitempty"`
	Unknown   int `json:"unknown,omitempty"`

	Control int           `json:"control"`        // steps of the control arm that were executed again
	Arms    map[fault]int `json:"arms,omitempty"` // what else was seen in the control arm, and how often
	Note    string        `json:"note,omitempty"` // for who reads the line

	what     []string
	findings []finding
}

// Convict notes what was seen in the control arm.
func (l *Line) Convict(arm *Line) {
	l.Arms = arm.seen()
	l.Control = l.Arms[stepAgain]
	delete(l.Arms, stepAgain)
}

// seen returns how often each fault was found.
func (l *Line) seen() map[fault]int {
	seen := map[fault]int{}
	for _, f := range l.findings {
		seen[f.fault]++
	}
	return seen
}

// String is the line in words.
func (l *Line) String() string {
	d := &l.Disturbances
	return fmt.Sprintf("%d of %d runs complete in %d s; %d kills, %d freezes, %d stalls, %d kills of Postgres and %d of NATS, %d times the queue wiped; "+
		"%d steps executed, %d again, %d faults; %d payments under %d approvals, %d unknown outcomes; %d records compared, %d runs with another outcome",
		l.Complete, l.Runs, l.Seconds, d.Kills, d.Freezes, d.Stalls, d.Postgres, d.NATS, d.Queue,
		l.Executions, l.Again, l.Violations, l.Payments, l.Approvals, l.Unknown, l.Records, l.Wrong)
}

// Bad returns what the trial found that must not be; nothing is good.
func (l *Line) Bad() []string { return l.what }

// arm is what the control arm has shown.
func (l *Line) arm() string {
	text := strconv.Itoa(l.Control)
	for i, f := range slices.Sorted(maps.Keys(l.Arms)) {
		text += fmt.Sprintf("%s %s %d", map[bool]string{true: ";", false: ","}[i == 0], f, l.Arms[f])
	}
	return text
}

// Table is the record as docs/guarantees/records.md quotes it.
func Table(lines []Line) string {
	var b strings.Builder
	b.WriteString("| Runs | Complete | Processes killed, frozen, cut off | Postgres, NATS killed, queue wiped | Steps executed | Executed again, not on record | Executed again, on record, or paid wrongly | Payments, approvals, unknown outcomes | Records compared | Runs with another outcome | Control arm: executed again; faults of payments | Note |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		records := "outputs only"
		if l.Records > 0 {
			records = record.Grouped(l.Records)
		}
		effects := "none"
		if l.Payments > 0 {
			effects = fmt.Sprint(record.Grouped(l.Payments), ", ", record.Grouped(l.Approvals), ", ", l.Unknown)
		}
		wiped := "no queue"
		if l.Queue > 0 {
			wiped = strconv.Itoa(l.Queue)
		}
		fmt.Fprintf(&b, "| %s | %s | %d, %d, %d | %d, %d, %s | %s | %d | %d | %s | %s | %d | %s | %s |\n", record.Grouped(l.Runs), record.Grouped(l.Complete),
			l.Kills, l.Freezes, l.Stalls, l.Postgres, l.NATS, wiped, record.Grouped(l.Executions), l.Again, l.Violations, effects, records, l.Wrong, l.arm(), l.Note)
	}
	return b.String()
}
