package dispatch_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/record"
)

var recordDeliveries = flag.Bool("record", false, "append what TestDeliveries finds to docs/record/deliveries.jsonl")

// deliveriesRecord is the file of lines, from the top of the module.
const deliveriesRecord = "docs/record/deliveries.jsonl"

// deliveries are a line of the record: what one run of TestDeliveries found.
type deliveries struct {
	Date       string `json:"date"`   // such as 2026-11-24
	Commit     string `json:"commit"` // of what was tried
	Seed       uint64 `json:"seed"`
	Tasks      int    `json:"tasks"` // each with three iterations and a failed attempt
	Calls      int64  `json:"calls"`
	Deliveries int64  `json:"deliveries"` // of calls, some of them twice
	Lost       int64  `json:"lost"`       // answers
	Seconds    int    `json:"seconds"`
	Wrong      int    `json:"wrong"`   // outputs, slots and logs that differ from those of calls that come once
	Control    int    `json:"control"` // of the control arm
}

func (d *deliveries) again() int64 { return d.Deliveries - d.Calls }

// begin notes what is tried, and tries the control arm.
func (d *deliveries) begin(t *testing.T) {
	t.Helper()
	var err error
	d.Commit, err = record.Commit(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	d.Date, d.Control = time.Now().UTC().Format(time.DateOnly), unnumberedSaves(t)
}

// end puts the line on record, and writes the table of the page again.
func (d *deliveries) end(t *testing.T) {
	t.Helper()
	file, page := deliveriesFiles()
	err := record.Append(file, d)
	if err == nil {
		var lines []deliveries
		lines, err = record.Read[deliveries](file)
		if err == nil {
			err = record.Quote(page, deliveriesRecord, deliveriesTable(lines))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func deliveriesFiles() (file, page string) {
	return filepath.Join("..", deliveriesRecord), filepath.Join("..", "docs", "guarantees", "records.md")
}

// deliveriesTable is the record as docs/guarantees/records.md quotes it.
func deliveriesTable(lines []deliveries) string {
	var b strings.Builder
	b.WriteString("| Tasks | Calls | Deliveries | Duplicates | Answers lost | Other outputs, slots or logs | Control arm: executions that begin with another slot |\n|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %d %% | %s | %d | %d |\n", record.Grouped(l.Tasks), record.Grouped(int(l.Calls)), record.Grouped(int(l.Deliveries)),
			100*l.again()/l.Deliveries, record.Grouped(int(l.Lost)), l.Wrong, l.Control)
	}
	return b.String()
}

// TestGuaranteesQuoteDeliveries compares the table of docs/guarantees/records.md with the record,
// which has a million deliveries, three of ten of them duplicates.
func TestGuaranteesQuoteDeliveries(t *testing.T) {
	file, page := deliveriesFiles()
	lines, err := record.Read[deliveries](file)
	if err != nil {
		t.Fatal(err)
	}
	have, err := record.Quoted(page, deliveriesRecord)
	if err != nil {
		t.Fatal(err)
	}
	if want := deliveriesTable(lines); have != want {
		t.Errorf("docs/guarantees/records.md says\n%s\nand the record\n%s", have, want)
	}
	enough := false
	for _, l := range lines {
		if l.Wrong > 0 || l.Control == 0 || l.Commit == "" {
			t.Errorf("a line that says more than it may: %+v", l)
		}
		enough = enough || l.Deliveries >= 1_000_000 && 100*l.again() >= 30*l.Deliveries
	}
	if !enough {
		t.Error("no line is of a million deliveries with 30 % duplicates: make deliveries")
	}
}
