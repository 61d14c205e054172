package chaos

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/internal/record"
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
	Violations int `json:"violations"` // executions of steps that were on record
	Wrong      int `json:"wrong"`      // runs that ended otherwise than a run that nothing happened to

	// Records were compared with those of runs that nothing happened to, beside the output: steps,
	// questions, answers, checkpoints and parts of the state. 0: nothing but the output was.
	Records int `json:"records,omitempty"`

	// Payments are effects under an approval that were executed; runs with one of unknown outcome,
	// of which people were asked, are not compared. Lines from before have none.
	Payments int `json:"payments,omitempty"`
	Unknown  int `json:"unknown,omitempty"`

	Control int    `json:"control"`        // violations of the control arm
	Note    string `json:"note,omitempty"` // for who reads the line

	what []string
}

// Bad returns what the trial found that must not be; nothing is good.
func (l *Line) Bad() []string { return l.what }

// Table is the record as docs/guarantees.md quotes it.
func Table(lines []Line) string {
	var b strings.Builder
	b.WriteString("| Runs | Complete | Processes killed, frozen, cut off | Postgres, NATS killed, queue wiped | Steps executed | Executed again, not on record | Executed again, on record | Effects executed, runs with an unknown outcome | Records compared | Runs with another outcome | Control arm: executed again | Note |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		records := "outputs only"
		if l.Records > 0 {
			records = record.Grouped(l.Records)
		}
		effects := "none"
		if l.Payments > 0 {
			effects = fmt.Sprint(record.Grouped(l.Payments), ", ", l.Unknown)
		}
		wiped := "no queue"
		if l.Queue > 0 {
			wiped = strconv.Itoa(l.Queue)
		}
		fmt.Fprintf(&b, "| %s | %s | %d, %d, %d | %d, %d, %s | %s | %d | %d | %s | %s | %d | %d | %s |\n", record.Grouped(l.Runs), record.Grouped(l.Complete),
			l.Kills, l.Freezes, l.Stalls, l.Postgres, l.NATS, wiped, record.Grouped(l.Executions), l.Again, l.Violations, effects, records, l.Wrong, l.Control, l.Note)
	}
	return b.String()
}
