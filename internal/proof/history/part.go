package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/posthouse/posthouse/internal/proof/history/model"
	"github.com/posthouse/posthouse/internal/proof/record"
	"github.com/posthouse/posthouse/internal/proof/site"
)

// A Line is what a part found with one kind of store, as it is recorded.
type Line struct {
	Date            string         `json:"date"`   // such as 2026-11-23
	Commit          string         `json:"commit"` // of what was tried
	Store           string         `json:"store"`
	Seed            uint64         `json:"seed"`            // of the first history; each has the next one
	Histories       int            `json:"histories"`       // of each model
	Operations      map[string]int `json:"operations"`      // by model
	Unknown         map[string]int `json:"unknown"`         // of them without an answer
	Refused         map[string]int `json:"refused"`         // of them, by model and code
	NotLinearizable map[string]int `json:"notLinearizable"` // histories, by model
	Undecided       int            `json:"undecided"`       // histories that could not be checked in a minute
	Kills           int            `json:"kills"`           // of clients' processes
	Stops           int            `json:"stops"`           // of them for a while
	Restarts        int            `json:"restarts"`        // of servers that were killed
	Cuts            int            `json:"cuts"`            // of connections
	Controls        map[string]int `json:"controls"`        // histories until each was caught, by control and model; 0: it was not
	Note            string         `json:"note,omitempty"`  // what sets the part apart, such as why it ended early
}

// Part makes so many histories on a site, and tries each control. say is told what happens.
// It stops early when ctx ends, and returns what it has found until then.
func Part(ctx context.Context, s *site.Site, histories int, seed uint64, say func(format string, a ...any)) (*Line, error) {
	l := &Line{
		Store: s.Kind.Name, Seed: seed, Operations: map[string]int{}, Unknown: map[string]int{}, Refused: map[string]int{}, NotLinearizable: map[string]int{}, Controls: map[string]int{},
	}
	for name := range model.All() {
		l.NotLinearizable[name] = 0
	}
	for _, c := range Controls() {
		if err := l.control(ctx, s, &c); err != nil {
			return l, err
		}
	}
	say("%s: controls caught in histories %v", s.Kind.Name, l.Controls)
	for ; l.Histories < histories && ctx.Err() == nil; seed++ {
		result, err := (&Run{Site: s, Seed: seed}).Do(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return l, nil
			}
			return l, err
		}
		l.add(result)
		if text := result.Explain(); text != "" {
			say("%s, seed %d\n%s", s.Kind.Name, seed, text)
		}
	}
	return l, nil
}

func (l *Line) add(r *Result) {
	l.Histories++
	for name, v := range r.Verdicts {
		l.Operations[name] += r.Operations[name]
		l.Unknown[name] += r.Unknown[name]
		switch v {
		case porcupine.Illegal:
			l.NotLinearizable[name]++
		case porcupine.Unknown:
			l.Undecided++
		}
	}
	for name, n := range r.Refused {
		l.Refused[name] += n
	}
	l.Kills += r.Kills
	l.Stops += r.Stops
	l.Restarts += r.Restarts
	l.Cuts += r.Cuts
}

// control makes histories on a broken store until it is caught by each model that must.
// Whether two clients meet is up to chance.
func (l *Line) control(ctx context.Context, s *site.Site, c *Control) error {
	for _, name := range c.Models {
		l.Controls[c.Name+": "+name] = 0
	}
	missing := len(c.Models)
	for n := 1; n <= controlHistories && missing > 0; n++ {
		result, err := (&Run{Site: s, Seed: l.Seed + uint64(n), Control: c.Name}).Do(ctx)
		if err != nil {
			return fmt.Errorf("control %q: %w", c.Name, err)
		}
		for _, name := range c.Models {
			if at := c.Name + ": " + name; l.Controls[at] == 0 && result.Verdicts[name] == porcupine.Illegal {
				l.Controls[at] = n
				missing--
			}
		}
	}
	if missing > 0 {
		return fmt.Errorf("%s: the control %q is not caught: %v", s.Kind.Name, c.Name, l.Controls)
	}
	return nil
}

// controlHistories is how many histories a control may take to be caught.
const controlHistories = 20

// Bad returns what is wrong with a line, nil if nothing is.
func (l *Line) Bad() error {
	for name, n := range l.NotLinearizable {
		if n > 0 {
			return fmt.Errorf("%s: %d histories of %s are not linearizable", l.Store, n, name)
		}
	}
	if l.Undecided > 0 && l.Note == "" {
		return fmt.Errorf("%s: %d histories are too large to be checked", l.Store, l.Undecided)
	}
	for name, n := range l.Controls {
		if n == 0 {
			return fmt.Errorf("%s: the control %q is not caught", l.Store, name)
		}
	}
	return nil
}

// Table is the sums of a record as docs/guarantees/records.md quotes them.
func Table(lines []Line) string {
	sums := map[string]*Line{}
	for _, l := range lines {
		s := sums[l.Store]
		if s == nil {
			s = &Line{Store: l.Store, Operations: map[string]int{}, Unknown: map[string]int{}, NotLinearizable: map[string]int{}, Controls: map[string]int{}}
			sums[l.Store] = s
		}
		s.Histories += l.Histories
		s.Undecided += l.Undecided
		s.Kills += l.Kills
		s.Stops += l.Stops
		s.Restarts += l.Restarts
		s.Cuts += l.Cuts
		for name, n := range l.Operations {
			s.Operations[name] += n
			s.Unknown[name] += l.Unknown[name]
			s.NotLinearizable[name] += l.NotLinearizable[name]
		}
		for name, n := range l.Controls {
			if n > 0 {
				s.Controls[name]++
			}
		}
	}
	var b strings.Builder
	b.WriteString("| Store | Histories | Operations on heads, slots, gates, leases | Without an answer | Not linearizable | Not decided | Processes killed | Stopped | Servers killed | Connections cut | Controls caught |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := sums[name]
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %d | %d | %d | %d | %d | %s | %d of %d |\n", name, s.Histories,
			byModel(s.Operations), record.Grouped(sum(s.Unknown)), sum(s.NotLinearizable), s.Undecided, s.Kills, s.Stops, s.Restarts, record.Grouped(s.Cuts),
			len(s.Controls), len(controlNames()))
	}
	return b.String()
}

func byModel(n map[string]int) string {
	return fmt.Sprintf("%s, %s, %s, %s", record.Grouped(n["heads"]), record.Grouped(n["slots"]), record.Grouped(n["gates"]), record.Grouped(n["leases"]))
}

func sum(n map[string]int) (all int) {
	for _, v := range n {
		all += v
	}
	return all
}

// controlNames are the controls with the models that must notice each.
func controlNames() (names []string) {
	for _, c := range Controls() {
		for _, m := range c.Models {
			names = append(names, c.Name+": "+m)
		}
	}
	return names
}

// Record is the file of lines, from the top of the module.
const Record = "docs/record/histories.jsonl"
