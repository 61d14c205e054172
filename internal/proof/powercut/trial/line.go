package trial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/proof/record"
)

// A Line is what one part found, as it is recorded.
type Line struct {
	Date         string         `json:"date"`   // such as 2026-11-23
	Commit       string         `json:"commit"` // of what was tried
	Harness      Harness        `json:"harness"`
	Store        string         `json:"store"`
	Model        string         `json:"model,omitempty"`
	Seed         uint64         `json:"seed"`
	Cuts         int            `json:"cuts,omitempty"`
	Kills        int            `json:"kills,omitempty"`
	Acknowledged int            `json:"acknowledged"`
	Lost         int            `json:"lost"`               // acknowledged and not there afterwards
	Corrupt      int            `json:"corrupt"`            // rounds after which the store did not open or verify
	Repaired     int            `json:"repaired,omitempty"` // times that a server's own tool had to cut off a torn end
	Note         string         `json:"note,omitempty"`     // what sets a part apart, such as a defect that was there still
	Arms         map[string]Arm `json:"arms,omitempty"`     // the control arms by name
}

// An Arm is what a control arm lost.
type Arm struct {
	Rounds int `json:"rounds"`
	Lost   int `json:"lost"`
}

func (l *Line) rounds() int { return l.Cuts + l.Kills }

// Sums adds up lines by harness, store, model and note, in the order of their names. Of the
// control arms it has how many parts caught each.
func Sums(lines []Line) []Line {
	sums := map[[4]string]*Line{}
	for _, l := range lines {
		key := [4]string{string(l.Harness), l.Store, l.Model, l.Note}
		s := sums[key]
		if s == nil {
			s = &Line{Harness: l.Harness, Store: l.Store, Model: l.Model, Note: l.Note, Arms: map[string]Arm{}}
			sums[key] = s
		}
		s.Cuts += l.Cuts
		s.Kills += l.Kills
		s.Acknowledged += l.Acknowledged
		s.Lost += l.Lost
		s.Corrupt += l.Corrupt
		s.Repaired += l.Repaired
		for name, a := range l.Arms {
			have := s.Arms[name]
			s.Arms[name] = Arm{have.Rounds + a.Rounds, have.Lost + a.Lost}
		}
	}
	var all []Line
	for _, s := range sums {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.Harness, a.Harness), cmp.Compare(a.Store, b.Store), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Note, b.Note))
	})
	return all
}

// Table is the sums of a record as docs/guarantees/records.md quotes them.
func Table(lines []Line) string {
	var b strings.Builder
	b.WriteString("| Store | What happened | How often | Acknowledged | Lost | Damaged | Repaired | Control arms: lost in rounds |\n|---|---|---|---|---|---|---|---|\n")
	for _, l := range Sums(lines) {
		what, n := "processes killed", l.Kills
		if l.Harness == Power {
			what, n = "power cuts, "+l.Model+" names", l.Cuts
		}
		if l.Note != "" {
			what += ", " + l.Note
		}
		var arms []string
		for _, name := range slices.Sorted(maps.Keys(l.Arms)) {
			arms = append(arms, fmt.Sprintf("%s: %d in %d", name, l.Arms[name].Lost, l.Arms[name].Rounds))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d | %d | %s |\n", l.Store, what, record.Grouped(n), record.Grouped(l.Acknowledged), l.Lost, l.Corrupt, l.Repaired, strings.Join(arms, "; "))
	}
	return b.String()
}

// Record is the file of lines, from the top of the module.
const Record = "docs/record/durability.jsonl"
