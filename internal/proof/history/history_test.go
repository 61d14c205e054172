package history_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/posthouse/posthouse/internal/proof/history"
	"github.com/posthouse/posthouse/internal/proof/record"
	"github.com/posthouse/posthouse/internal/proof/site"
)

// TestHistories has clients of each kind of store work at once while crews, connections and
// servers go away. Their observations are linearizable: heads, slots, gates and leases.
// make histories runs more; POSTHOUSE_SEED repeats a seed.
func TestHistories(t *testing.T) {
	n := 2
	if testing.Short() {
		n = 1
	}
	for _, kind := range site.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel() // most of it waits for disks
			s := start(t, kind)
			for range n {
				run := history.Run{Site: s, Seed: seed(t), Small: true}
				result, err := run.Do(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("seed %d: %v of unknown outcome %v, %d kills, %d stops, %d restarts, %d connections cut",
					run.Seed, result.Operations, result.Unknown, result.Kills, result.Stops, result.Restarts, result.Cuts)
				if text := result.Explain(); text != "" {
					t.Errorf("seed %d\n%s", run.Seed, text)
				}
				for name, v := range result.Verdicts {
					if result.Operations[name] < 10 {
						t.Errorf("seed %d: %d operations of %s, %v", run.Seed, result.Operations[name], name, v)
					}
				}
			}
		})
	}
}

// TestBrokenStoresAreCaught is the control arm of TestHistories: for each model a store that
// is broken in its way.
func TestBrokenStoresAreCaught(t *testing.T) {
	s := start(t, site.Find("memory"))
	for _, c := range history.Controls() {
		t.Run(c.Name, func(t *testing.T) {
			left := map[string]bool{}
			for _, name := range c.Models {
				left[name] = true
			}
			for range 20 { // chance decides whether two clients meet
				run := history.Run{Site: s, Seed: seed(t), Control: c.Name}
				result, err := run.Do(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for name, v := range result.Verdicts {
					if v == porcupine.Illegal {
						delete(left, name)
					}
				}
				if len(left) == 0 {
					return
				}
			}
			t.Errorf("not caught: %v", left)
		})
	}
}

func start(t *testing.T, kind *site.Kind) *site.Site {
	t.Helper()
	if !kind.Installed() {
		if os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "" {
			t.Skipf("no %s is installed", kind.Name)
		}
		t.Fatalf("no %s is installed", kind.Name)
	}
	s, err := kind.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("POSTHOUSE_SEED")
	if text == "" {
		return rand.Uint64N(1 << 32)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestGuaranteesQuoteTheRecord compares the table of docs/guarantees/records.md with the sums of
// what is on record.
func TestGuaranteesQuoteTheRecord(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	lines, err := record.Read[history.Line](filepath.Join(top, history.Record))
	if err != nil {
		t.Fatal(err)
	}
	have, err := record.Quoted(filepath.Join(top, "docs", "guarantees", "records.md"), history.Record)
	if err != nil {
		t.Fatal(err)
	}
	if want := history.Table(lines); have != want {
		t.Errorf("docs/guarantees/records.md says\n%s\nand the record\n%s\nmake histories writes it anew", have, want)
	}
	for _, l := range lines {
		if l.Commit == "" || l.Date == "" || site.Find(l.Store) == nil || l.Histories == 0 {
			t.Errorf("a line does not say what was done: %+v", l)
		}
		if err := l.Bad(); err != nil {
			t.Error(err)
		}
	}
}
