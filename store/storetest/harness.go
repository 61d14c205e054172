package storetest

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// A Harness says how to get at a store and what to expect of it.
type Harness struct {
	// Open opens a store whose data is in dir, a directory that belongs to one
	// case and is empty at first; a store that keeps its data elsewhere takes
	// dir as a name for it. It is called again with the same dir, after Close
	// or from another process, for the same data. It fails the test rather
	// than return nil. The suite closes what it opened. Required.
	Open func(t testing.TB, dir string) posthouse.Store

	// Durable says that what was acknowledged is there after Close and after
	// the process was killed.
	Durable bool

	// MaxEntry is the largest entry the store takes, in bytes. Default 16 MiB;
	// the contract asks for room for a state of 8 MiB.
	MaxEntry int

	// Cipher is what the Ledger seals bodies with in the cases of theme ledger:
	// those rules hold with one as they do without. Default: none.
	Cipher posthouse.Cipher

	// Only selects cases whose name contains it. Default: all.
	Only string
}

// A Case tests one rule.
type Case struct {
	Name string // theme/rule
	Rule string // in full, printed when it is broken
	Run  func(t *T)

	needs need
}

// A need is what a store must have for a rule to apply to it.
type need int

const (
	needNothing need = iota
	needWatcher
	needChecker
	needDurable
	needSlotLister
	needBulk
)

var needNames = []string{
	"", "it is no posthouse.Watcher", "it is no posthouse.Checker", "it is not durable", "it is no posthouse.SlotLister",
	"it is no posthouse.BulkAppender",
}

// Cases lists the suite, theme by theme. A new theme is a function that
// returns its cases, added here.
func Cases() []Case {
	return slices.Concat(
		appendCases(), bulkCases(), idCases(), readCases(), listCases(), threadCases(),
		slotCases(), nameCases(), removeCases(), watchCases(), boundaryCases(), lifecycleCases(),
		machineCases(), raceCases(), linearCases(), faultCases(), reopenCases(), ledgerCases(),
	)
}

// Run runs the suite. It must be called from a test function, or from a
// subtest whose name has no odd characters, since the durable cases start the
// test binary anew to run this same test in another process.
func Run(t *testing.T, h Harness) {
	if h.Open == nil {
		t.Fatal("storetest: Harness.Open is not set")
	}
	if dir := os.Getenv(childEnv); dir != "" {
		h.child(t, dir)
		return
	}
	if h.MaxEntry == 0 {
		h.MaxEntry = 16 << 20
	}
	has := h.abilities(t)
	for _, c := range Cases() {
		if !strings.Contains(c.Name, h.Only) {
			continue
		}
		if !has[c.needs] {
			t.Logf("does not apply to this store, since %s: %s", needNames[c.needs], c.Name)
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			h.run(t, c)
		})
	}
}

// abilities tells which needs the store meets.
func (h Harness) abilities(t testing.TB) map[need]bool {
	s := h.Open(t, t.TempDir())
	_, watches := s.(posthouse.Watcher)
	_, checks := s.(posthouse.Checker)
	_, slots := s.(posthouse.SlotLister)
	_, bulk := s.(posthouse.BulkAppender)
	if err := s.Close(); err != nil {
		t.Fatalf("storetest: closing an empty store: %v", err)
	}
	return map[need]bool{
		needNothing: true, needWatcher: watches, needChecker: checks, needDurable: h.Durable, needSlotLister: slots, needBulk: bulk,
	}
}

// patience is how long a case may take before what it waits for is given up.
const patience = 5 * time.Minute

func (h Harness) run(t testing.TB, c Case) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.Rule)
		}
	})
	e := &T{TB: t, Harness: h, Builder: NewBuilder(), test: t, ctx: ctx, dir: t.TempDir()}
	e.Store = e.open(e.dir)
	c.Run(e)
	if !t.Failed() {
		e.check(e.Store)
	}
}

// check asks a store that can what it thinks of itself.
func (t *T) check(s posthouse.Store) {
	t.Helper()
	ch, ok := s.(posthouse.Checker)
	if !ok {
		return
	}
	for err := range ch.Check(t.ctx) {
		if !isCode(err, posthouse.CodeClosed) { // some cases close their store
			t.Errorf("afterwards, the store's own check says: %v", err)
		}
	}
}

// A T is one case at work: a test, a store that is empty at first, and a
// builder of entries.
type T struct {
	TB
	Harness Harness
	Store   posthouse.Store
	Builder *Builder

	test testing.TB // the same test, or the one that rapid's checks run in
	ctx  context.Context
	dir  string
}

// TB is what cases need of a test.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
}

// open opens a store that is closed when the case ends.
func (t *T) open(dir string) posthouse.Store {
	t.Helper()
	s := t.Harness.Open(t.test, dir)
	t.test.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.test.Errorf("Close: %v", err)
		}
	})
	return s
}

// fresh opens one more empty store.
func (t *T) fresh() posthouse.Store {
	t.Helper()
	dir, err := os.MkdirTemp(t.dir, "store-")
	t.ok(err)
	return t.open(dir)
}

// ok stops the case at an error that should not be.
func (t *T) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
