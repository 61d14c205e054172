package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/pgtest"
	"github.com/posthouse/posthouse/internal/record"
	"github.com/posthouse/posthouse/internal/service"
	"github.com/posthouse/posthouse/internal/site"
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
	if line.Complete == 0 || line.Kills == 0 || line.Freezes == 0 || line.Stalls == 0 || line.Payments == 0 || line.Records == 0 {
		t.Errorf("nothing was tried: %+v", line)
	}
}

// TestChaosSeesSteps that engines do not record: they are executed again and again, and
// missing from the record of each run.
func TestChaosSeesSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs servers")
	}
	if line := try(t, &Config{Runs: 10, Control: true, Calm: true}); line.Violations == 0 || line.Wrong < line.Complete {
		t.Errorf("the control arm was not caught: %+v", line)
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
	t.Logf("%+v", line.Disturbances)
	t.Logf("%d of %d runs complete in %d s, %d steps executed, %d again, %d though they were on record, %d records compared, %d runs with another outcome", line.Complete, line.Runs, line.Seconds, line.Executions, line.Again, line.Violations, line.Records, line.Wrong)
	return line
}

// TestWitness reads what a witness may say.
func TestWitness(t *testing.T) {
	path := filepath.Join(t.TempDir(), "witness")
	w, err := openWitness(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []struct {
		m    mark
		step int
	}{{executed, 0}, {executed, 0}, {recorded, 0}, {recorded, 0}, {executed, 1}, {executed, 0}} {
		if err := w.write(l.m, "t", l.step); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.f.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := hear(path)
	if err != nil || got.Executions != 4 || got.Again != 1 || len(got.Violations) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	approved, rejected := "", ""
	for i := 0; approved == "" || rejected == ""; i++ {
		thread := fmt.Sprint("run-", i)
		if v, _ := (payment{Thread: thread, Step: placeHere}).answer(); v == posthouse.Reject {
			rejected = thread
		} else {
			approved = thread
		}
	}
	lines := fmt.Sprintf("p %s %d 1\np %s %d 2\np %s %d 1\n", approved, placeHere, approved, placeHere, rejected, placeHere)
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := hear(path); err != nil || got.Payments != 3 || len(got.Violations) != 2 {
		t.Errorf("payments: %+v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("x t\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := hear(path); err == nil {
		t.Error("half a line was read")
	}
}

// TestGuaranteesQuoteTheRecord compares the table of docs/guarantees.md with the record, the
// end of which has 10,000 runs whose records were compared, and nothing was found.
func TestGuaranteesQuoteTheRecord(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	lines, err := record.Read[Line](filepath.Join(docs, "..", Record))
	if err != nil {
		t.Fatal(err)
	}
	have, err := record.Quoted(filepath.Join(docs, "guarantees.md"), Record)
	if err != nil {
		t.Fatal(err)
	}
	if want := Table(lines); have != want {
		t.Errorf("docs/guarantees.md says\n%s\nand the record\n%s", have, want)
	}
	enough := false
	for _, l := range lines {
		if l.Violations > 0 && l.Note == "" || l.Wrong > 0 || l.Complete != l.Runs || l.Control == 0 || strings.HasSuffix(l.Commit, "-dirty") {
			t.Errorf("a line that says more than it may, or less than it must: %+v", l)
		}
		// What a line has found is mended once a later one finds nothing in as many runs.
		enough = l.Violations == 0 && (enough || l.Runs >= 10_000 && l.Records > 0)
	}
	if !enough {
		t.Error("behind the last line that has found something, none is of 10,000 runs whose records were compared: make chaos")
	}
}
