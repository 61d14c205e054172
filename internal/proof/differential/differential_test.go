package differential_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/differential"
	"github.com/posthouse/posthouse/internal/proof/record"
	"github.com/posthouse/posthouse/internal/proof/site"
)

func TestMain(m *testing.M) {
	site.Serving()
	goleak.VerifyTestMain(m)
}

// TestSameTrace gives all stores the same 200 random sequences. make differential runs more;
// POSTHOUSE_SEED repeats a seed.
func TestSameTrace(t *testing.T) {
	n, each := 200, 25
	if testing.Short() {
		n, each = 10, 10
	}
	s := start(t)
	first := seed(t)
	for i := 0; i < n; i += each {
		found, err := s.Run(t.Context(), differential.Batch{Seed: first + uint64(i), Sequences: each})
		if err != nil {
			t.Fatalf("seed %d: %v", first, err)
		}
		if found.Difference != "" {
			t.Fatal(found.Difference)
		}
	}
	t.Logf("seed %d, %v", first, s.Names)
}

// TestAStoreThatDiffersIsCaught is the control arm of TestSameTrace: a store that ignores
// the limit of a read differs, and the sequence is shortened.
func TestAStoreThatDiffersIsCaught(t *testing.T) {
	s, err := differential.Start(t.TempDir(), "file", "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Spoil = differential.Control
	for i := range 20 {
		found, err := s.Run(t.Context(), differential.Batch{Seed: uint64(20 * i), Sequences: 20})
		if err != nil {
			t.Fatal(err)
		}
		if found.Difference == "" {
			continue
		}
		if !strings.Contains(found.Difference, "shortened") || !strings.Contains(found.Difference, "seed") || !strings.Contains(found.Difference, "sqlite: ") {
			t.Errorf("the report is\n%s", found.Difference)
		}
		t.Log(found.Difference)
		return
	}
	t.Error("it is not caught")
}

// TestTheSameSeedGivesTheSameSequence is what a seed in a report is for.
func TestTheSameSeedGivesTheSameSequence(t *testing.T) {
	var reports []string
	for range 2 {
		s, err := differential.Start(t.TempDir(), "sqlite")
		if err != nil {
			t.Fatal(err)
		}
		s.Spoil = func(_ string, s posthouse.Store) posthouse.Store { return failing{s} }
		found, err := s.Run(t.Context(), differential.Batch{Seed: 7, Sequences: 3})
		s.Close()
		if err != nil || found.Difference == "" {
			t.Fatalf("found %+v, error %v", found, err)
		}
		reports = append(reports, found.Difference)
	}
	if reports[0] != reports[1] {
		t.Errorf("one seed gives\n%s\nand\n%s", reports[0], reports[1])
	}
}

// failing is a store that takes no entry.
type failing struct{ posthouse.Store }

func (failing) Append(context.Context, *posthouse.Batch) error { return posthouse.ErrFull }

func start(t *testing.T) *differential.Sites {
	t.Helper()
	s, err := differential.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if len(s.Missing) > 0 && os.Getenv("POSTHOUSE_REQUIRE_SERVICES") != "" {
		t.Fatalf("not installed: %v", s.Missing)
	}
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
	lines, err := record.Read[differential.Line](filepath.Join(top, differential.Record))
	if err != nil {
		t.Fatal(err)
	}
	have, err := record.Quoted(filepath.Join(top, "docs", "guarantees", "records.md"), differential.Record)
	if err != nil {
		t.Fatal(err)
	}
	if want := differential.Table(lines); have != want {
		t.Errorf("docs/guarantees/records.md says\n%s\nand the record\n%s\nmake differential writes it anew", have, want)
	}
	for _, l := range lines {
		if l.Commit == "" || l.Date == "" || l.Sequences == 0 || len(l.Stores) == 0 || l.Control == 0 || l.Differences > 0 {
			t.Errorf("a line does not say what was done, or a difference is not explained: %+v", l)
		}
	}
}
