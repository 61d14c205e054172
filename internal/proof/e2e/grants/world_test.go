package grants

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

var (
	cases  = flag.Int("cases", 300, "random cases of TestApprovals")
	seed   = flag.Uint64("seed", 20261125, "of the first of them")
	leave  = flag.String("leave", "", "acts of a case that are left out, as in 3,7: what shrinking found")
	isLoud = flag.Bool("loud", false, "say all that happens")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is one random case.
type world struct {
	t       *testing.T
	ctx     context.Context
	witness *witness
	below   posthouse.Store
	shared  bool // several processes may have the store
	graph   bool // else a flow
	rounds  int  // of a graph
	deals   []deal

	mu        sync.Mutex
	offset    time.Duration
	here      *process // nil between two
	processes int
	workers   []func()

	decided   map[posthouse.ID]*decision
	delegates map[posthouse.ID][]string
	removed   map[string]bool // threads that retention removed and that were not finished
	takenAway map[string]bool // threads of which people deleted, released or moved something
	tasks     []*posthouse.Gate
	asked     []posthouse.ID // gates that were withdrawn
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

// now is the time of the bubble, and what was skipped.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.offset)
}

// skip moves the clock of all processes on.
func (w *world) skip(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset += d
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// firstAsked returns when the first question about a content was asked: the one that was edited to
// it, and what was edited to that. It is false where the record does not say.
func (w *world) firstAsked(g *posthouse.Gate) (at time.Time, known bool) {
	if g.Branch != posthouse.MainBranch || g.Origin != "" || !strings.HasPrefix(g.Thread, "t") {
		return at, false // a fork and a copy have questions that were asked elsewhere
	}
	at = g.CreatedAt
	for before := g; before.Supersedes != ""; {
		was, err := w.lookUp(before.Supersedes)
		switch {
		case err != nil || was.Decision == nil:
			return at, false
		case was.Decision.Verdict == posthouse.Edit && !bytes.Equal(canonical(was.Decision.Value), canonical(before.Payload)):
			return at, true // what is asked has been changed since
		case was.Decision.Verdict == posthouse.Edit:
			at = was.CreatedAt
		case was.Decision.Verdict != posthouse.Approve:
			return at, false // it was withdrawn, and is asked again with the time that it had
		}
		before = was
	}
	return at, !strings.HasPrefix(g.Note, "edited by") || g.Supersedes != ""
}

func (w *world) dealOf(name string) *deal {
	i := slices.IndexFunc(w.deals, func(d deal) bool { return d.name == name })
	return &w.deals[i]
}

// A spec says which case is played.
type spec struct {
	seed   uint64
	arm    rule
	bad    wrongPeople // of the arm of [assigned]
	leave  map[int]bool
	sqlite bool
	loud   bool

	handlers bool // all payments are proposed and made by handlers
	lies     bool // functions say that they did not act, and they have
}

// play plays one case and returns what did not hold.
func play(t *testing.T, s spec, count map[string]int) (faults []fault, length int) {
	var dir string
	if s.sqlite {
		dir = t.TempDir()
	}
	synctest.Test(t, func(t *testing.T) {
		faults, length = s.play(t, dir, count)
	})
	return faults, length
}

func (s *spec) play(t *testing.T, dir string, count map[string]int) ([]fault, int) {
	rnd := rand.New(rand.NewPCG(s.seed, 9))
	w := &world{
		t: t, ctx: t.Context(), below: memstore.New(), shared: !s.sqlite, decided: map[posthouse.ID]*decision{}, delegates: map[posthouse.ID][]string{}, removed: map[string]bool{}, takenAway: map[string]bool{},
		witness: &witness{seed: s.seed, noted: map[string]int{}, stands: map[string]bool{}, forgotten: map[string]bool{}, last: map[string]int{}, paid: map[posthouse.ID]bool{}, count: count, arm: s.arm, bad: s.bad, lies: s.lies, verbose: func(string, ...any) {}},
	}
	if s.loud {
		w.witness.verbose = t.Logf
	}
	if s.sqlite {
		below, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "posthouse.db"), nil)
		w.must(err)
		defer below.Close()
		w.below = below
	}
	w.graph, w.rounds = rnd.IntN(2) == 0, 1+rnd.IntN(2)
	escalates, more := rand.New(rand.NewPCG(s.seed, 10)), rand.New(rand.NewPCG(s.seed, 11))
	for i := range 1 + rnd.IntN(3) {
		within, rescue := max(0, rnd.IntN(5)-2), rnd.IntN(4) == 0
		w.deals = append(w.deals, deal{
			name: fmt.Sprint("deal", i), way: way(rnd.IntN(int(ways))), asks: rnd.IntN(8) == 0, signalled: rnd.IntN(5) == 0, idempotent: rnd.IntN(4) == 0,
			again: rnd.IntN(4) == 0, beside: rnd.IntN(3) == 0 && s.arm != confirmed, split: rnd.IntN(3) == 0, retries: rnd.IntN(2), attempts: 1 + rnd.IntN(3),
			validFor: time.Duration(rnd.IntN(2)) * time.Hour, open: rnd.IntN(4) == 0, quorum: rnd.IntN(3) == 0, uses: 1 + rnd.IntN(5)/4, within: within, asNode: within == 0 && rescue && s.arm == 0, rescue: rescue && w.graph,
			escalates: escalates.IntN(2) == 0 || s.bad >= tooEarly,
		})
		if d := &w.deals[len(w.deals)-1]; s.bad >= tooEarly { // many edits that others judge
			d.way, d.open, d.quorum, d.asks, d.signalled, d.validFor = inPlace, false, false, false, false, 0
		}
		w.deals[len(w.deals)-1].varies(more, s)
		if d := &w.deals[len(w.deals)-1]; s.handlers || d.way == inHandler {
			d.way, d.split, d.asNode = inHandler, false, false
		}
		if d := w.deals[len(w.deals)-1]; d.rescue {
			d.name, d.spare, d.rescue, d.again = d.name+"-rescue", true, false, false
			w.deals = append(w.deals, d)
		}
	}
	w.here = w.start()
	w.employ("w1")
	w.employ("w2")
	defer func() {
		for _, stop := range w.workers {
			stop()
		}
		w.here.stop()
	}()
	length := 25 + rnd.IntN(35)
	w.begin(rnd)
	for i := range length {
		a, own := pick(rnd, s), rand.New(rand.NewPCG(rnd.Uint64(), 3))
		die, made := rnd.IntN(60), rnd.IntN(2) == 0
		if s.leave[i] {
			continue
		}
		if die < 12 {
			w.here.store.Die(1+die, made)
		}
		w.witness.verbose("act %d: %s", i, a.name)
		w.witness.tally("act " + a.name)
		a.do(w, own)
		w.pass(100 * time.Millisecond)
		w.revive()
		w.here.store.Die(0, false)
	}
	if errorIsUnknown {
		w.rest()
	}
	if w.check(); s.sqlite {
		w.witness.tally("cases over SQLite")
	}
	return w.witness.faults, length
}

// shrink leaves out acts of a case for as long as the same rule is broken.
func shrink(t *testing.T, s spec, r rule, length int) spec {
	fails := func(s spec) bool {
		faults, _ := play(t, s, map[string]int{})
		return slices.ContainsFunc(faults, func(f fault) bool { return f.rule == r })
	}
	s.leave = maps.Clone(s.leave)
	for size := length / 2; size > 0; size /= 2 {
		for from := 0; from < length; from += size {
			try := s
			try.leave = maps.Clone(s.leave)
			if try.leave == nil {
				try.leave = map[int]bool{}
			}
			more := false
			for i := from; i < min(from+size, length); i++ {
				more = more || !try.leave[i]
				try.leave[i] = true
			}
			if more && fails(try) {
				s = try
			}
		}
	}
	return s
}

func (s *spec) String() string {
	left := make([]string, 0, len(s.leave))
	for _, i := range slices.Sorted(maps.Keys(s.leave)) {
		left = append(left, fmt.Sprint(i))
	}
	return fmt.Sprintf("-cases 1 -seed %d -leave %s", s.seed, strings.Join(left, ","))
}

// specOf says how the case of a seed is played: one in eight over SQLite.
func specOf(seed uint64, arm rule) spec {
	return spec{seed: seed, arm: arm, sqlite: seed%8 == 7}
}

func histogram(count map[string]int) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&b, "\n%7d %s", count[k], k)
	}
	return b.String()
}

// TestApprovals plays random cases: no effect happens without a decision of its own, whoever
// carries it out, and whatever people and processes do at the same time.
func TestApprovals(t *testing.T) {
	count := map[string]int{}
	for i := range *cases {
		s := specOf(*seed+uint64(i), 0)
		s.loud = *isLoud
		for _, left := range strings.Split(*leave, ",") {
			n := 0
			if _, err := fmt.Sscan(left, &n); err == nil {
				if s.leave == nil {
					s.leave = map[int]bool{}
				}
				s.leave[n] = true
			}
		}
		if faults, length := play(t, s, count); len(faults) > 0 {
			for _, f := range faults {
				t.Error(f)
			}
			short := s
			if !s.loud {
				short = shrink(t, s, faults[0].rule, length)
			}
			t.Fatalf("of case %d; it fails with %s", i, &short)
		}
	}
	for _, what := range []string{
		"asked again", "approve forbidden", "edit done", "delegate done", "effect acted", "effect undone", "effect lost after it acted", "effect lost before it acted", "effects of handlers",
		"outcome happened done", "outcome redo done", "outcome given up done", "process was cut off", "processes lost", "fork done", "replay done", "anew done", "copy done",
		"update done", "save done", "retry done", "retention done", "withdraw done", "signal done", "cases over SQLite",
		"release done", "delete done", "delete thread done", "import done", "items of maps", "winners of selects", "siblings failed", "parts before effects", "effects ended by a timeout", "deaths after the outcome",
	} {
		if count[what] == 0 && *cases >= 300 {
			t.Errorf("nothing was counted as %q", what)
		}
	}
	t.Logf("%d cases from seed %d:%s", *cases, *seed, histogram(count))
	if *onRecord {
		(&longRun{Seed: *seed, Cases: *cases, SQLite: count["cases over SQLite"], Count: count}).put(t)
	}
}

// maxControl is how many cases a control arm has to be caught in.
const maxControl = 250

// control plays cases of a control arm until its rule is seen not to hold.
func control(t *testing.T, seed uint64, arm spec) (cases int, caught bool) {
	r := arm.arm
	for i := range maxControl {
		s := specOf(seed+uint64(i), r)
		s.handlers, s.bad, s.lies = arm.handlers, arm.bad, arm.lies
		if arm.lies {
			s.arm = 0
		}
		faults, _ := play(t, s, map[string]int{})
		if slices.ContainsFunc(faults, func(f fault) bool { return f.rule == r }) {
			return i + 1, true
		}
	}
	return maxControl, false
}

// The control arms: for each rule a setting in which it does not hold. The same cases find that.
func TestApprovalsCatches(t *testing.T) {
	for r := ownGrant; r <= confirmed; r++ {
		t.Run(strings.ReplaceAll(r.String(), " ", "-"), func(t *testing.T) {
			n, caught := control(t, *seed, spec{arm: r})
			if t.Logf("%d cases", n); !caught {
				t.Error("nothing was noticed")
			}
		})
	}
	for name, arm := range map[string]spec{
		"handlers-own-grant": {arm: ownGrant, handlers: true}, "handlers-no-answer": {arm: noAnswer, handlers: true},
		"assigned-by-delegation": {arm: assigned, bad: delegates}, "assigned-too-early": {arm: assigned, bad: tooEarly}, "assigned-too-late": {arm: assigned, bad: tooLate},
		"own-grant-by-a-false-word": {arm: ownGrant, lies: true},
		"asked":                     {arm: asked},
	} {
		t.Run(name, func(t *testing.T) {
			n, caught := control(t, *seed, arm)
			if t.Logf("%d cases", n); !caught {
				t.Error("nothing was noticed")
			}
		})
	}
}
