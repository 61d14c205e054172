package posthousetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A Point is a place at which a process dies.
type Point struct {
	name  string
	after bool
}

// Before is the moment at which a step or node has run and its result is not on record: the
// process that goes on runs it again.
func Before(name string) Point { return Point{name, false} }

// After is the moment at which the result of a step or node is on record and nothing followed: the
// process that goes on does not run it.
func After(name string) Point { return Point{name, true} }

// String names the point, as in "before pay".
func (p Point) String() string { return when(p.after) + " " + p.name }

func when(after bool) string {
	if after {
		return "after"
	}
	return "before"
}

// Kill has the process die at a point, once, the next time that it comes there. The Env then
// begins another one, which goes on with what is on record, and the call that was
// under way returns as if nothing had happened. The name is that of a step, of a node of a graph, or of
// an agent's call; of a step within another it is the inner name. A point that is not
// reached fails the test.
func (e *Env) Kill(at Point) {
	e.t.Helper()
	if e.kill != nil && (e.kill.at == nil || !e.kill.met) {
		e.t.Fatalf("posthousetest: Kill %s: there is a kill that was not reached", at)
	}
	e.kill = &Kill{at: &at}
}

// checkKill fails the test for a kill that was not reached.
func (e *Env) checkKill() {
	k := e.kill
	switch {
	case k == nil || k.met || k.entry == 0 && k.at == nil:
	case k.at != nil:
		e.t.Errorf("posthousetest: no run came %s; there were: %s", k.at, strings.Join(k.seen, ", "))
	default:
		e.t.Errorf("posthousetest: entry %d was not reached: without a kill the run made another one there; is something outside of a step different each time?", k.entry)
	}
}

// A Kill is where a process dies: at a [Point], or at an entry that [EveryKill] chose. Give it to
// [New] as Options.Kill.
type Kill struct {
	at    *Point
	entry int // the n-th that the programs append; 0: no entry
	after bool

	n    int
	met  bool
	seen []string // what each entry was about
}

// meets reports whether the process dies at an entry, and whether that is made.
func (k *Kill) meets(e *posthouse.Entry) (dies, made bool) {
	if k == nil || k.met {
		return false, true
	}
	names, about := contents(e)
	k.n++
	k.seen = append(k.seen, about)
	switch {
	case k.at != nil:
		k.met = slices.Contains(names, k.at.name)
		return k.met, !k.met || k.at.after
	case k.n == k.entry:
		k.met = true
		return true, k.after
	}
	return false, true
}

// contents returns the names of the steps and nodes with their result in an entry, and what the
// entry is about.
func contents(e *posthouse.Entry) (names []string, about string) {
	records, err := e.Records()
	if err != nil {
		return nil, "an entry that does not decode"
	}
	var parts []string
	for i := range records {
		r := &records[i]
		switch {
		case r.Step != nil:
			name := r.Step.Name[strings.LastIndexByte(r.Step.Name, '>')+1:]
			if !strings.HasPrefix(name, "$") {
				names = append(names, name)
			}
			parts = append(parts, "step "+r.Step.Name)
		case r.Checkpoint != nil:
			c := r.Checkpoint
			if c.Kind != posthouse.KindWait && c.Status != posthouse.StatusFailed {
				names = append(names, cmp.Or(c.Agent, c.Node))
			}
			parts = append(parts, strings.TrimSpace(c.Kind+" "+cmp.Or(c.Agent, c.Node)))
		case r.Gate != nil:
			parts = append(parts, "gate")
		case r.Decision != nil:
			parts = append(parts, "decision")
		}
	}
	if parts == nil {
		return names, "claim"
	}
	return names, strings.Join(slices.Compact(parts), ", ")
}

// A Runner is a TB with subtests of its own type, such as *testing.T.
type Runner[T any] interface {
	TB
	Run(name string, f func(T)) bool
}

// EveryKill proves that nothing of a run depends on the process that runs it. It calls a scenario
// once without a kill, and then once for each entry that the programs put on record and each side of it:
// the process dies before the entry is on record, or after it, and another one goes on. Each is a
// subtest. The scenario makes an [Env] with the Kill that it is given, and checks what must hold
// wherever a process dies, as that a tool acted once.
//
// Answers, signals and inputs are given by others than the process: no kill loses one. A scenario
// of n entries is called 2n+1 times, and each call takes about a millisecond.
func EveryKill[T Runner[T]](t T, scenario func(t T, k *Kill)) {
	t.Helper()
	whole := &Kill{}
	if !t.Run("no kill", func(t T) { scenario(t, whole) }) {
		return
	}
	if whole.n == 0 {
		t.Errorf("posthousetest: EveryKill: the programs put nothing on record; does New have Options.Kill?")
		return
	}
	for i, about := range whole.seen {
		for _, after := range []bool{false, true} {
			k := &Kill{entry: i + 1, after: after}
			t.Run(fmt.Sprintf("%s entry %d (%s)", when(after), k.entry, about), func(t T) { scenario(t, k) })
		}
	}
}
