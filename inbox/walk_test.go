package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/reads"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// manyQuestions opens a ledger with two questions in each of many threads: one is decided, one waits.
// The decisions are a minute apart, and each thread was asked all its questions before the first.
func manyQuestions(t testing.TB, threads int) (*ledger.Ledger, *reads.Counter) {
	t.Helper()
	s := &reads.Counter{Store: memstore.New()}
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	l := must.Get(ledger.Open(s, &ledger.Options{Now: func() time.Time { return now }}))(t)
	t.Cleanup(func() { must.Do(t, l.Close()) })
	var ids []posthouse.ID
	for i := range threads {
		c := must.Get(l.Commit(t.Context(), &ledger.Draft{Thread: fmt.Sprint("order-", i), Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "shop",
		}, Gates: []posthouse.Gate{{Name: "refund"}, {Name: "tell"}}}))(t)
		ids = append(ids, c.Gates[0].ID)
	}
	for _, id := range ids {
		now = now.Add(time.Minute)
		must.Get(l.Decide(t.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	}
	return l, s
}

// walked reads all questions of a state, and returns how many there were and what was read for each.
func walked(t *testing.T, threads int, q inbox.Query) (found int, each float64) {
	t.Helper()
	l, s := manyQuestions(t, threads)
	w := inbox.Walk{Most: 10 * threads}
	s.N = 0
	must.Do(t, w.Read(t.Context(), l, q, func(*inbox.Item) bool { found++; return true }))
	if w.More || w.Looked != found {
		t.Errorf("%d threads: it looked at %d of %d questions, more %v", threads, w.Looked, found, w.More)
	}
	return found, float64(s.N) / float64(max(found, 1))
}

// TestAWalkReadsEachQuestionOnce: what a walk reads of the store for each question does not grow with
// the threads there are: it does not look for its place among all of them again and again.
func TestAWalkReadsEachQuestionOnce(t *testing.T) {
	const few, many = 100, 1000
	for name, q := range map[string]inbox.Query{
		"open": {}, "decided": {State: inbox.Decided}, "of a question": {State: inbox.Decided, Question: "refund"}, "of a program": {State: inbox.Decided, Program: "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			n, each := walked(t, few, q)
			if n != few {
				t.Fatalf("found %d questions, want %d", n, few)
			}
			n, more := walked(t, many, q)
			if n != many {
				t.Fatalf("found %d questions, want %d", n, many)
			}
			if more > 1.1*each || more > 10 {
				t.Errorf("each question takes %.1f reads among %d threads, and %.1f among %d", each, few, more, many)
			}
		})
	}
}

// TestSettledReadsAllStatesAtOnce: what is settled is found as by state, the newest first, and the logs are
// read once for it.
func TestSettledReadsAllStatesAtOnce(t *testing.T) {
	l, s := manyQuestions(t, 100)
	open := inbox.Walk{Most: 1000}
	n := 0
	must.Do(t, open.Read(t.Context(), l, inbox.Query{}, func(item *inbox.Item) bool {
		if n++; n%2 == 0 {
			must.Get(l.Withdraw(t.Context(), item.Gate.ID, ledger.Withdrawal{By: "runtime", Operator: true}))(t)
		}
		return true
	}))
	count := func(f func(each func(*inbox.Item) bool)) (found []*posthouse.Gate, n int) {
		s.N = 0
		f(func(item *inbox.Item) bool { found = append(found, item.Gate); return true })
		return found, s.N
	}
	single, eachState := count(func(each func(*inbox.Item) bool) {
		w := inbox.Walk{Most: 1000}
		for _, state := range inbox.States()[1:] {
			must.Do(t, w.Read(t.Context(), l, inbox.Query{State: state}, each))
		}
	})
	settled, once := count(func(each func(*inbox.Item) bool) {
		w := inbox.Walk{Most: 1000}
		must.Do(t, w.Settled(t.Context(), l, inbox.Query{}, each))
		if w.Looked != 150 || w.More {
			t.Errorf("it looked at %d of 150 questions, more %v", w.Looked, w.More)
		}
	})
	if len(single) != 150 || len(settled) != 150 {
		t.Fatalf("found %d by state and %d at once, want 150", len(single), len(settled))
	}
	for i, g := range settled {
		if i > 0 && g.Decision.At.After(settled[i-1].Decision.At) {
			t.Errorf("question %d was settled after the one before it", i)
		}
	}
	// The gates themselves are read either way.
	if once > eachState*2/3 {
		t.Errorf("all states at once took %d reads, and one by one %d", once, eachState)
	}
}

// TestAWalkEnds: a walk that may read few questions reads no more, however many there are, and says that
// there are others; one that is told to stop has read no further.
func TestAWalkEnds(t *testing.T) {
	l, s := manyQuestions(t, 2000)
	for name, q := range map[string]inbox.Query{"open": {}, "decided": {State: inbox.Decided}} {
		t.Run(name, func(t *testing.T) {
			all := inbox.Walk{Most: 50}
			found := 0
			s.N = 0
			must.Do(t, all.Read(t.Context(), l, q, func(*inbox.Item) bool { found++; return true }))
			if found != 50 || all.Looked != 50 || !all.More {
				t.Errorf("it read %d of 50 questions: %+v", found, all)
			}
			if s.N > 500 {
				t.Errorf("to read 50 questions took %d reads", s.N)
			}
			exact := inbox.Walk{Most: 2000}
			must.Do(t, exact.Read(t.Context(), l, q, func(*inbox.Item) bool { return true }))
			if exact.Looked != 2000 || exact.More {
				t.Errorf("with just as many as it may read it is %+v", exact)
			}
			stopped := inbox.Walk{Most: 50}
			must.Do(t, stopped.Read(t.Context(), l, q, func(*inbox.Item) bool { return false }))
			if stopped.Looked != 1 || stopped.More {
				t.Errorf("told to stop at the first it is %+v", stopped)
			}
		})
	}
}

// BenchmarkWalk reads all decided questions, one in each thread, and reports what each took.
func BenchmarkWalk(b *testing.B) {
	for _, threads := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint("threads=", threads), func(b *testing.B) {
			l, s := manyQuestions(b, threads)
			s.N = 0
			for b.Loop() {
				w := inbox.Walk{Most: threads}
				must.Do(b, w.Read(b.Context(), l, inbox.Query{State: inbox.Decided}, func(*inbox.Item) bool { return true }))
			}
			b.ReportMetric(float64(s.N)/float64(b.N*threads), "reads/question")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*threads), "ns/question")
		})
	}
}
