package differential

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/proof/record"
)

// Record is the file of lines, from the top of the module.
const Record = "docs/record/differential.jsonl"

// A Line is what a part found, as it is recorded.
type Line struct {
	Date        string   `json:"date"`   // such as 2026-11-23
	Commit      string   `json:"commit"` // of what was tried
	Stores      []string `json:"stores"` // that were compared with the store in memory
	Seed        uint64   `json:"seed"`   // of the first sequence; each has the next one
	Sequences   int      `json:"sequences"`
	Operations  int      `json:"operations"`  // that each store was given
	Differences int      `json:"differences"` // batches with a trace that differs
	Control     int      `json:"control"`     // sequences until a store that reads on after a limit was caught; 0: it was not
}

// sharing is how many sequences share their stores.
const sharing = 25

// Part plays so many sequences, and tries the control first. say is told what happens. It
// stops early when ctx ends, and returns what it has found until then.
func (s *Sites) Part(ctx context.Context, sequences int, seed uint64, say func(format string, a ...any)) (*Line, error) {
	l := &Line{Stores: s.Names, Seed: seed}
	broken := *s
	broken.Spoil = Control
	for n := sharing; l.Control == 0; n += sharing {
		found, err := broken.Run(ctx, Batch{Seed: seed + uint64(n), Sequences: sharing})
		switch {
		case err != nil:
			return l, err
		case found.Difference != "":
			l.Control = n
		case n > 20*sharing:
			return l, errors.New("the control is not caught")
		}
	}
	for l.Sequences < sequences && ctx.Err() == nil {
		found, err := s.Run(ctx, Batch{Seed: seed + uint64(l.Sequences), Sequences: min(sharing, sequences-l.Sequences)})
		if err != nil {
			if ctx.Err() != nil {
				return l, nil
			}
			return l, err
		}
		l.Sequences += found.Sequences
		l.Operations += found.Operations
		if found.Difference != "" {
			l.Differences++
			say("%s", found.Difference)
		}
	}
	return l, nil
}

// Table is the sums of a record as docs/guarantees/records.md quotes them.
func Table(lines []Line) string {
	sums := map[string]*Line{}
	for _, l := range lines {
		stores := strings.Join(l.Stores, ", ")
		s := sums[stores]
		if s == nil {
			s = &Line{}
			sums[stores] = s
		}
		s.Sequences += l.Sequences
		s.Operations += l.Operations
		s.Differences += l.Differences
		if l.Control > 0 {
			s.Control++
		}
	}
	var b strings.Builder
	b.WriteString("| Compared with memory | Sequences | Operations on each | Traces that differ | Controls caught |\n|---|---|---|---|---|\n")
	for _, stores := range slices.Sorted(maps.Keys(sums)) {
		s := sums[stores]
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d |\n", stores, record.Grouped(s.Sequences), record.Grouped(s.Operations), s.Differences, s.Control)
	}
	return b.String()
}
