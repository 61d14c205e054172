package damage

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const top = "../../.."

// heard is a test that is only listened to.
type heard struct {
	name     string
	said     []string
	failed   int
	cleanups []func()
}

func (h *heard) Helper()      {}
func (h *heard) Name() string { return h.name }
func (h *heard) Logf(format string, args ...any) {
	h.said = append(h.said, fmt.Sprintf(format, args...))
}
func (h *heard) Errorf(string, ...any) { h.failed++ }
func (h *heard) Cleanup(f func())      { h.cleanups = append(h.cleanups, f) }

// TestTalliesBecomeALine has two tests count, one of them in two forms, and reads what they told.
func TestTalliesBecomeALine(t *testing.T) {
	var out strings.Builder
	for i, name := range []string{"TestOne/a", "TestOne/b", "TestTwo"} {
		h := &heard{name: name}
		c := Begin(h)
		for range 999 {
			c.Found("flipped")
		}
		c.Same("flipped")
		c.Short("cut off")
		c.Older("cut off")
		if i == 2 {
			c.Served("cut off", "it is served")
		}
		if want := (Sum{Tried: 1000, Found: 999, Same: 1}); c.Of("flipped") != want {
			t.Errorf("%+v", c.Of("flipped"))
		}
		for _, f := range h.cleanups {
			f()
		}
		if h.failed != i/2 || len(h.said) != 2 {
			t.Errorf("%s failed %d times and said %q", name, h.failed, h.said)
		}
		fmt.Fprintf(&out, "=== RUN %s\n    x_test.go:7: %s\n", name, strings.Join(h.said, "\n    x_test.go:8: "))
	}
	told := 0
	tests := []string{"TestOne", "TestTwo"}
	l := &Line{Kinds: map[string]Sum{}}
	for range 2 { // as from two processes
		if err := l.read(strings.NewReader(out.String()), tests, func(string) { told++ }); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]Sum{"flipped": {Tried: 6000, Found: 5994, Same: 6}, "cut off": {Tried: 14, Short: 6, Older: 6, Served: 2}}
	if !maps.Equal(l.Kinds, want) || !slices.Equal(l.Tests, tests) || told != 18 {
		t.Errorf("%+v, after %d lines", l, told)
	}
	if err := l.read(strings.NewReader(out.String()), []string{"TestOne", "TestThree"}, func(string) {}); err == nil {
		t.Error("a test told nothing, and nobody says so")
	}
}

func TestStepIsASampleUnlessAllIsAskedFor(t *testing.T) {
	for value, want := range map[string]int{"": 29, "yes": 29, "all": 1} {
		t.Setenv(Whole, value)
		if have := Step(29); have != want {
			t.Errorf("%q: %d, want %d", value, have, want)
		}
	}
}

func TestPartsCoverAllCases(t *testing.T) {
	for n := range 100 {
		tried := 0
		for _, part := range []string{"0/3", "1/3", "2/3"} {
			t.Setenv(Part, part)
			if Mine(n) {
				tried++
			}
		}
		t.Setenv(Part, "")
		if tried != 1 || !Mine(n) {
			t.Errorf("change %d is tried by %d parts", n, tried)
		}
	}
}

// TestStoresHaveTheirTests looks for the listed tests in the packages of the stores: all that
// begin a tally are listed.
func TestStoresHaveTheirTests(t *testing.T) {
	for _, s := range Stores() {
		var have []string
		paths, err := filepath.Glob(filepath.Join(top, s.Package, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "damage.Begin(t)") {
				for name := range file.Scope.Objects {
					have = append(have, name)
				}
			}
		}
		for _, name := range s.Tests {
			if !slices.Contains(have, name) {
				t.Errorf("%s has no %s that tells a tally", s.Package, name)
			}
		}
	}
}

// TestGuaranteesQuoteTheRecord compares the page with the record.
func TestGuaranteesQuoteTheRecord(t *testing.T) {
	lines, err := record.Read[Line](filepath.Join(top, Record))
	if err != nil {
		t.Fatal(err)
	}
	have, err := record.Quoted(filepath.Join(top, "docs", "guarantees", "records.md"), Record)
	if err != nil {
		t.Fatal(err)
	}
	if want := Table(lines); have != want {
		t.Errorf("docs/guarantees/records.md quotes\n%s\nthe record says\n%s\nwrite it with: go run ./internal/proof/damage/cmd/damage -page", have, want)
	}
	for _, l := range lines {
		for kind, s := range l.Kinds {
			if s.Served > 0 || s.Found+s.Same+s.Short+s.Older != s.Tried {
				t.Errorf("%s at %s, %s: %+v", l.Store, l.Commit, kind, s)
			}
		}
	}
}
