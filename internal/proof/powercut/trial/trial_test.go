package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/powercut"
	"github.com/posthouse/posthouse/internal/proof/record"
)

// cuts are the power cuts of one run of the tests, 200 in all; make powercut makes more.
var cuts = map[string]int{"file": 80, "sqlite": 88, "redis": 14, "nats": 12, "postgres": 6}

// TestPowerCuts cuts the power of each store at random, in both models of names if it
// promises something in both. Nothing acknowledged is lost, and each control arm loses something.
func TestPowerCuts(t *testing.T) {
	err := powercut.New(powercut.Strict).TryMount(t.TempDir())
	if err != nil && (!powercut.Available() || os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "") {
		t.Skipf("POWER CUTS ARE NOT TESTED, no disk can be mounted here: %v", err)
	}
	if err != nil {
		t.Fatalf("there is a /dev/fuse, and no disk can be mounted: %v", err)
	}
	for _, s := range Stores() {
		if !s.Tries(Power) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			onlyFiles(t, s)
			n := cuts[s.Name]
			if testing.Short() {
				n = (n + 7) / 8
			}
			models := []powercut.Model{powercut.Ext4, powercut.Strict}
			if !s.Promises(powercut.Strict) {
				models = models[:1]
			}
			for i, model := range models {
				rounds := (n + i) / len(models)
				// One model is enough for the arms.
				line := try(t, Part{Store: s, Harness: Power, Model: model, Rounds: rounds, NoArms: i > 0})
				if line.Cuts != rounds {
					t.Errorf("%d cuts, want %d", line.Cuts, rounds)
				}
			}
		})
	}
}

// TestKills kills processes that write, and servers. The arm that acknowledges too early
// loses something.
func TestKills(t *testing.T) {
	for _, s := range Stores() {
		t.Run(s.Name, func(t *testing.T) {
			onlyFiles(t, s)
			n := 8
			if testing.Short() {
				n = 2
			}
			if line := try(t, Part{Store: s, Harness: Kill, Rounds: n}); line.Kills < n {
				t.Errorf("%d kills", line.Kills)
			}
		})
	}
}

// onlyFiles leaves other stores out of the short run: what they try is in other processes.
func onlyFiles(t *testing.T, s *Store) {
	t.Helper()
	if testing.Short() && s.Name != "file" {
		t.Skip("the harness is the same for each store")
	}
}

// try runs a part under a seed that the test prints.
func try(t *testing.T, p Part) *Line {
	t.Helper()
	if p.Store.service != nil && !p.Store.service().installed() {
		if os.Getenv("POSTHOUSE_REQUIRE_SERVICES") == "" {
			t.Skipf("no %s is installed", p.Store.Name)
		}
		t.Fatalf("no %s is installed", p.Store.Name)
	}
	p.Seed = uint64(time.Since(time.Unix(0, 0)))
	var said lastLines
	line, err := p.Run(t.Context(), &Options{Progress: said.say})
	if err != nil {
		t.Fatalf("%s, seed %d: %v; it said last:\n%s", p.Store.Name, p.Seed, err, said.last())
	}
	if line.Lost+line.Corrupt > 0 {
		t.Errorf("%s, seed %d: %d of %d acknowledged are lost, %d times it was damaged; it said last:\n%s", p.Store.Name, p.Seed, line.Lost, line.Acknowledged, line.Corrupt, said.last())
	}
	return line
}

// lastLines are the newest lines of what a trial says. A failure repeats them, since a long log may
// be cut.
type lastLines struct {
	mu  sync.Mutex
	all []string
}

func (l *lastLines) say(format string, a ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, a...))
	l.all = l.all[max(0, len(l.all)-30):]
}

func (l *lastLines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// TestGuaranteesQuoteTheRecord compares the table of docs/guarantees/records.md with the sums of
// what is on record.
func TestGuaranteesQuoteTheRecord(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "..", "docs")
	lines, err := record.Read[Line](filepath.Join(docs, "..", Record))
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) == 0 {
		t.Fatal("nothing is on record")
	}
	have, err := record.Quoted(filepath.Join(docs, "guarantees", "records.md"), Record)
	if err != nil {
		t.Fatal(err)
	}
	if want := Table(lines); have != want {
		t.Errorf("docs/guarantees/records.md says\n%s\nand the record\n%s\nwrite it anew with: go run ./internal/proof/powercut/cmd/powercut -page", have, want)
	}
	for _, l := range lines {
		if l.Commit == "" || l.Date == "" || l.Harness != Power && l.Harness != Kill || l.Cuts+l.Kills == 0 {
			t.Errorf("a line does not say what was done: %+v", l)
		}
		if s := Find(l.Store); l.Lost+l.Corrupt > 0 && l.Note == "" && s.Promises(powercut.Model(l.Model)) {
			t.Errorf("a loss that nobody has explained: %+v", l)
		}
		for name, a := range l.Arms {
			if a.Lost == 0 {
				t.Errorf("the control arm %q of %s lost nothing", name, l.Store)
			}
		}
	}
}

func TestAcksAreReadAsTheyAreSaid(t *testing.T) {
	for _, a := range []ack{
		{kind: "checkpoint", id: "a.1", hash: "ab"}, {kind: "decision", id: "b", hash: "approve"},
		{kind: "slot", id: "t", step: "s0", revision: 7, hash: "cd"},
	} {
		if got, ok := parseAck(a.String() + " ."); !ok || got != a {
			t.Errorf("%q is read as %+v", a, got)
		}
		if _, ok := parseAck(a.String()); ok {
			t.Errorf("%q is read though it was cut off", a)
		}
	}
}
