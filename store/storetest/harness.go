package storetest

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// A Harness says how to open a store and what to expect of it.
type Harness struct {
	// Open opens a store with its data in dir, a directory of one case that is empty at
	// first. A store that keeps its data elsewhere uses dir as a name for it. The suite
	// calls Open again with the same dir for the same data, after Close or from another
	// process. Open must fail the test rather than return nil. The suite closes the
	// store. Required.
	Open func(t TB, dir string) posthouse.Store

	// Durable says that an acknowledged write survives Close and a killed process.
	Durable bool

	// MaxEntry is the largest entry that the store takes, in bytes; default 16 MiB. The
	// contract requires room for a state of 8 MiB.
	MaxEntry int

	// Only selects the cases that have it in their name. Default: all.
	Only string

	// Short skips repetitions of a case with other numbers. In a test binary the flag
	// -short sets it too.
	Short bool

	// Long repeats races and random histories for minutes. POSTHOUSE_LONG=1 sets it too. It
	// goes before Short.
	Long bool

	// Seed determines the random histories. Default: a new seed each time, which a failure
	// prints.
	Seed uint64

	// Again starts this program again, so that it calls Run with this harness in another
	// process. The suite sets that process's environment. Default: the test binary, with
	// the running test selected. A durable store needs it in a program that is not a
	// test binary.
	Again func(ctx context.Context) *exec.Cmd
}

// A Case tests one rule.
type Case struct {
	Name  string // theme/rule
	Rule  string // in full, printed when it is broken
	Run   func(t *T)
	Needs Need // default: the rule applies to every store
}

// A Need is something that a store must have for a rule to apply.
type Need int

// The needs: an optional interface of the store, or a field of its harness.
const (
	NeedNothing      Need = iota
	NeedWatcher           // the store is a [posthouse.Watcher]
	NeedChecker           // the store is a [posthouse.Checker]
	NeedDurable           // [Harness.Durable]
	NeedSlotLister        // the store is a [posthouse.SlotLister]
	NeedBulkAppender      // the store is a [posthouse.BulkAppender]
	NeedInformer          // the store is a [posthouse.Informer]
	NeedBulkReader        // the store is a [lists.BulkReader]
)

var missing = []string{
	"", "it is no posthouse.Watcher", "it is no posthouse.Checker", "it is not durable", "it is no posthouse.SlotLister",
	"it is no posthouse.BulkAppender", "it is no posthouse.Informer", "it is no lists.BulkReader",
}

// Cases lists the suite, theme by theme. A new theme is a function that
// returns its cases, added here.
func Cases() []Case {
	return slices.Concat(
		appendCases(), bulkCases(), idCases(), readCases(), listCases(), threadCases(), activityCases(), labelCases(),
		slotCases(), nameCases(), removeCases(), watchCases(), boundaryCases(), lifecycleCases(),
		infoCases(), reopenCases(),
	)
}

// Run runs the suite. In a test binary call it from a test function, or from a subtest
// without special characters in its name: the durable cases start the binary again to
// run the same test in another process.
func Run[R Runner[R]](t R, h Harness) { RunCases(t, h, Cases()) }

// RunCases runs the caller's own cases as Run does: each as a subtest, on a store of its
// own. Packages stresstest, lineartest and ledgertest use it.
func RunCases[R Runner[R]](t R, h Harness, cases []Case) {
	if h.Open == nil {
		t.Fatal("storetest: Harness.Open is not set")
	}
	if dir := os.Getenv(childEnv); dir != "" {
		h.child(t, dir)
		return
	}
	h = h.withDefaults()
	has := h.abilities(t)
	for _, c := range cases {
		if !strings.Contains(c.Name, h.Only) {
			continue
		}
		if !has[c.Needs] {
			t.Logf("does not apply to this store, since %s: %s", missing[c.Needs], c.Name)
			continue
		}
		t.Run(c.Name, func(t R) {
			if p, ok := any(t).(interface{ Parallel() }); ok {
				p.Parallel()
			}
			h.run(t, c)
		})
	}
}

func (h Harness) withDefaults() Harness {
	if h.MaxEntry == 0 {
		h.MaxEntry = 16 << 20
	}
	h.Long = h.Long || os.Getenv("POSTHOUSE_LONG") != ""
	h.Short = !h.Long && (h.Short || testFlag("short") == "true")
	return h
}

// abilities returns the needs that the store meets.
func (h Harness) abilities(t TB) map[Need]bool {
	s := h.Open(t, t.TempDir())
	_, watches := s.(posthouse.Watcher)
	_, checks := s.(posthouse.Checker)
	_, slots := s.(posthouse.SlotLister)
	_, bulk := s.(posthouse.BulkAppender)
	_, informs := s.(posthouse.Informer)
	_, reads := s.(lists.BulkReader)
	if err := s.Close(); err != nil {
		t.Fatalf("storetest: closing an empty store: %v", err)
	}
	return map[Need]bool{
		NeedNothing: true, NeedWatcher: watches, NeedChecker: checks, NeedDurable: h.Durable, NeedSlotLister: slots, NeedBulkAppender: bulk, NeedInformer: informs,
		NeedBulkReader: reads,
	}
}

// patience returns how long a case may take before its context ends.
func (h Harness) patience() time.Duration {
	if h.Long {
		return time.Hour
	}
	return 5 * time.Minute
}

func (h Harness) run(t TB, c Case) {
	ctx, cancel := context.WithTimeout(context.Background(), h.patience())
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.Rule)
		}
	})
	e := &T{TB: t, Harness: h, Builder: NewBuilder(), ctx: ctx, dir: t.TempDir()}
	e.Store = e.OpenStore(e.dir)
	c.Run(e)
	if !t.Failed() {
		e.Check(e.Store)
	}
}

// Check runs the check of a store that is a [posthouse.Checker].
func (t *T) Check(s posthouse.Store) {
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
