package chaos

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/record"
	"github.com/posthouse/posthouse/internal/proof/service"
	"github.com/posthouse/posthouse/internal/proof/site"
)

func TestMain(m *testing.M) {
	site.Serving()
	Child()
	goleak.VerifyTestMain(m)
}

// TestChaos disturbs two engines and four workers for as long as runs are begun: all are
// complete, have on record what runs have that nothing happens to, and nothing that was on
// record was executed again.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	line := try(t, &Config{Runs: 2000, For: time.Minute})
	for _, what := range line.Bad() {
		t.Error(what)
	}
	if line.Complete == 0 || line.Kills == 0 || line.Freezes == 0 || line.Stalls == 0 || line.Payments == 0 || line.Approvals == 0 || line.Records == 0 {
		t.Errorf("nothing was tried: %+v", line)
	}
}

// TestChaosSeesFaults has engines that do not record steps, which are executed again and again
// and missing from each record, and payments that are made too early, unasked, though rejected,
// twice, of another amount or off the record, or not at all. Each is found, and sound runs are
// not blamed.
func TestChaosSeesFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs servers")
	}
	line := try(t, &Config{Runs: 2 * (len(defects()) + 1), Engines: 1, Workers: 2, Control: true, Calm: true})
	t.Log(line.seen())
	for _, what := range line.Unseen() {
		t.Error(what)
	}
}

func try(t *testing.T, c *Config) *Line {
	t.Helper()
	if !pgtest.Installed() {
		service.Missing(t, "Postgres", "its server is not installed")
	}
	c.Seed, c.Progress = uint64(time.Since(time.Unix(0, 0))), t.Logf
	line, err := Run(t.Context(), c)
	if err != nil {
		t.Fatalf("seed %d: %v", c.Seed, err)
	}
	t.Log(line)
	return line
}

// TestGuaranteesQuoteTheRecord compares the table of docs/guarantees/records.md with the record. The
// record ends with 10,000 runs with payments, stalls and compared records, and without a fault.
func TestGuaranteesQuoteTheRecord(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	lines, err := record.Read[Line](filepath.Join(docs, "..", Record))
	if err != nil {
		t.Fatal(err)
	}
	have, err := record.Quoted(filepath.Join(docs, "guarantees", "records.md"), Record)
	if err != nil {
		t.Fatal(err)
	}
	if want := Table(lines); have != want {
		t.Errorf("docs/guarantees/records.md says\n%s\nand the record\n%s", have, want)
	}
	enough := false
	for _, l := range lines {
		if l.Violations > 0 && l.Note == "" || l.Wrong > 0 || l.Complete != l.Runs || l.Control == 0 || strings.HasSuffix(l.Commit, "-dirty") {
			t.Errorf("a line that says more than it may, or less than it must: %+v", l)
		}
		// A fault that a line found counts as mended once a later line finds nothing in
		// as many runs.
		enough = l.Violations == 0 && (enough || l.Runs >= 10_000 && l.Records > 0 && l.Payments > 0 && l.Approvals > 0 && l.Stalls > 0 && len(l.Arms) == len(defects()))
	}
	if !enough {
		t.Error("after the last line that has found something, none is of 10,000 runs with payments and stalls whose records were compared: make chaos")
	}
}
