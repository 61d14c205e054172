package grants

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/record"
)

var onRecord = flag.Bool("record", false, "append what TestApprovals finds to docs/record/grants.jsonl")

// recordName is the file of lines, from the top of the module.
const recordName = "docs/record/grants.jsonl"

// A longRun is a line of the record: what one run found.
type longRun struct {
	Date    string         `json:"date"`
	Commit  string         `json:"commit"` // of what was tried
	Seed    uint64         `json:"seed"`   // of the first case
	Cases   int            `json:"cases"`
	SQLite  int            `json:"sqlite"` // of them
	Faults  int            `json:"faults"`
	Control []string       `json:"control"` // the rules with a control arm that was caught
	Count   map[string]int `json:"count"`
}

func files() (file, page string) {
	return filepath.Join("..", "..", "..", "..", recordName), filepath.Join("..", "..", "..", "..", "docs", "guarantees", "records.md")
}

// put plays the control arms, and puts a long run on record.
func (l *longRun) put(t *testing.T) {
	t.Helper()
	var err error
	l.Commit, err = record.Commit(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	l.Date = time.Now().UTC().Format(time.DateOnly)
	for r := ownGrant; r <= confirmed; r++ {
		if _, caught := control(t, l.Seed, spec{arm: r}); caught {
			l.Control = append(l.Control, r.String())
		}
	}
	file, page := files()
	err = record.Append(file, l)
	if err == nil {
		err = quote(file, page)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func quote(file, page string) error {
	lines, err := record.Read[longRun](file)
	if err != nil {
		return err
	}
	return record.Quote(page, recordName, table(lines))
}

// table is the record as docs/guarantees/records.md quotes it.
func table(lines []longRun) string {
	var b strings.Builder
	b.WriteString("| Cases | Acts | Approvals | Refused to those who may not | Effects begun | Acted | Known not to have acted | Outcome lost | Processes lost or cut off | Faults | Rules whose control arm was caught |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		sum := func(prefixes ...string) string {
			n := 0
			for name, c := range l.Count {
				if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
					n += c
				}
			}
			return record.Grouped(n)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %d | %d of 7 |\n", record.Grouped(l.Cases), sum("act "), sum("approve done", "edit done"),
			sum("approve forbidden", "edit forbidden"), sum("effects begun"), sum("effect acted"), sum("effect undone"), sum("effect lost"), sum("processes lost", "process was"),
			l.Faults, len(l.Control))
	}
	return b.String()
}

// TestGuaranteesQuoteTheRecord compares the table of docs/guarantees/records.md with the record, which
// must have no line with a fault or without one of the control arms.
func TestGuaranteesQuoteTheRecord(t *testing.T) {
	file, page := files()
	lines, err := record.Read[longRun](file)
	if err != nil {
		t.Fatal(err)
	}
	have, err := record.Quoted(page, recordName)
	if err != nil {
		t.Fatal(err)
	}
	if want := table(lines); strings.TrimSpace(have) != strings.TrimSpace(want) {
		t.Errorf("docs/guarantees/records.md says\n%s\nand the record\n%s", have, want)
	}
	for _, l := range lines {
		if l.Faults != 0 || len(l.Control) != int(confirmed) {
			t.Errorf("%+v", l)
		}
	}
}
