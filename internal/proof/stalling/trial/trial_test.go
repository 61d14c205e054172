package trial

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/record"
	"github.com/posthouse/posthouse/internal/proof/service"
	"github.com/posthouse/posthouse/internal/proof/site"
)

func TestMain(m *testing.M) {
	site.Serving()
	Frozen()
	goleak.VerifyTestMain(m)
}

// TestStalls cuts processes off from each shared store for longer than their leases. Nothing
// on record runs again, and no effect twice.
func TestStalls(t *testing.T) {
	for _, k := range site.Kinds() {
		if !k.Shared {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			line := try(t, &Config{Kind: k, Stalls: 6, Concurrency: 6})
			for _, what := range line.Bad() {
				t.Error(what)
			}
			if line.Complete != 6 || line.Executions < 24 {
				t.Errorf("not all was tried: %+v", line)
			}
		})
	}
}

// TestStallsAreSeen if the process that was cut off believes that it alone has the store.
func TestStallsAreSeen(t *testing.T) {
	for range 20 { // each time it is caught in one case of six
		if try(t, &Config{Kind: site.Find("redis"), Stalls: 12, Concurrency: 12, Control: true}).Violations > 0 {
			return
		}
	}
	t.Error("the control arm was not caught")
}

// TestFrozenOverSQLite stops processes over SQLite for longer than their lease. The other process
// that asks for the store is refused for as long, nothing runs twice, and where the frozen one is
// killed the other goes on. In the control arm the other runs on a copy of the store, which is
// seen.
func TestFrozenOverSQLite(t *testing.T) {
	if !halts {
		t.Fatal("no process can be stopped here: it needs SIGSTOP")
	}
	for _, control := range []bool{false, true} {
		c := &Config{Stalls: 5, Concurrency: 5, Lease: 200 * time.Millisecond, Seed: uint64(time.Since(time.Unix(0, 0))), Now: time.Now, Control: control}
		if control {
			c.Stalls, c.Concurrency = 2, 2
		}
		line, err := RunFrozen(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("control %v: %+v", control, *line)
		switch bad := line.Bad(); {
		case control && len(bad) == 0:
			t.Error("two processes on copies of a store were not seen to run things twice")
		case !control && len(bad) > 0:
			t.Error(strings.Join(bad, "\n"))
		case line.Complete != c.Stalls || line.Executions < c.Stalls*deeds():
			t.Errorf("not all was tried: %+v", line)
		}
	}
}

// TestGuaranteesQuoteTheRecord compares the table of docs/guarantees/records.md with the record, which
// has 1,000 stalls of each shared store in which nothing was found.
func TestGuaranteesQuoteTheRecord(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "..", "docs")
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
	enough := map[string]bool{}
	for _, l := range lines {
		if l.Violations > 0 && l.Note == "" || l.Complete != l.Stalls || l.Control == 0 || strings.HasSuffix(l.Commit, "-dirty") {
			t.Errorf("a line that says more than it may, or less than it must: %+v", l)
		}
		enough[l.Store] = l.Violations == 0 && (enough[l.Store] || l.Stalls >= 1000)
	}
	for _, k := range site.Kinds() {
		if k.Shared && !enough[k.Name] {
			t.Errorf("after the last line of %s that has found something, none is of 1,000 stalls: make stalls", k.Name)
		}
	}
}

func try(t *testing.T, c *Config) *Line {
	t.Helper()
	if !c.Kind.Installed() {
		service.Missing(t, c.Kind.Name, "its server is not installed")
	}
	c.Seed, c.Now = uint64(time.Since(time.Unix(0, 0))), time.Now
	line, err := Run(t.Context(), c)
	if err != nil && !c.Control {
		t.Fatalf("seed %d: %v", c.Seed, err)
	}
	t.Logf("seed %d: %+v", c.Seed, *line)
	return line
}
