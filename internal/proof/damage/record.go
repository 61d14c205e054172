package damage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/proof/record"
)

// Record is the file of lines, from the top of the module.
const Record = "docs/record/damage.jsonl"

// A Line is what the tests of a store found, as it is recorded.
type Line struct {
	Date   string         `json:"date"`   // such as 2026-11-23
	Commit string         `json:"commit"` // of what was tried
	Store  string         `json:"store"`
	Tests  []string       `json:"tests"`
	Kinds  map[string]Sum `json:"kinds"` // by what was done
	Note   string         `json:"note,omitempty"`
}

// Table is the newest line of each store as docs/guarantees/records.md quotes it.
func Table(lines []Line) string {
	newest := map[string]Line{}
	for _, l := range lines {
		newest[l.Store] = l
	}
	var b strings.Builder
	b.WriteString("| Store | What was done | How often | Found | Read as before | A list is short, `verify` tells | The last writes are missing, a witness tells | Served |\n|---|---|---|---|---|---|---|---|\n")
	for _, store := range slices.Sorted(maps.Keys(newest)) {
		l := newest[store]
		for _, kind := range slices.Sorted(maps.Keys(l.Kinds)) {
			s := l.Kinds[kind]
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %d |\n", store, kind, record.Grouped(s.Tried), record.Grouped(s.Found),
				record.Grouped(s.Same), record.Grouped(s.Short), record.Grouped(s.Older), s.Served)
		}
	}
	return b.String()
}
