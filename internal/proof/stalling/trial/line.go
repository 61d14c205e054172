package trial

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse/internal/proof/record"
)

// Record is the file of lines, from the top of the module.
const Record = "docs/record/stalls.jsonl"

// A Line is what one trial found, as it is recorded.
type Line struct {
	Date       string `json:"date"`   // such as 2026-11-23
	Commit     string `json:"commit"` // of what was tried
	Store      string `json:"store"`
	Seed       uint64 `json:"seed"`
	Stalls     int    `json:"stalls"`
	Complete   int    `json:"complete"`
	Seconds    int    `json:"seconds"`
	Alone      int    `json:"alone"`      // stalls in which no other process took the thread over
	Executions int    `json:"executions"` // of steps and effects
	Unknown    int    `json:"unknown"`    // effects with a question to people whether they happened
	Violations int    `json:"violations"` // what was executed that must not be
	Control    int    `json:"control"`    // violations of the control arm
	Note       string `json:"note,omitempty"`

	what []string
}

// Bad returns what the trial found that must not be; nothing is good.
func (l *Line) Bad() []string { return l.what }

// Table is the record as docs/guarantees/records.md quotes it.
func Table(lines []Line) string {
	var b strings.Builder
	b.WriteString("| Store | Stalls | Nobody took over | Steps and effects executed | Outcomes asked of people | Executed again | Control arm: executed again | Note |\n|---|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %d | %d | %d | %s |\n", l.Store, record.Grouped(l.Complete), l.Alone, record.Grouped(l.Executions), l.Unknown, l.Violations, l.Control, l.Note)
	}
	return b.String()
}
