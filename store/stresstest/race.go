package stresstest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

func raceCases() []storetest.Case {
	return []storetest.Case{
		{
			Name: "race/one winner at each position",
			Rule: "Of racing appends behind the same tail exactly one succeeds; each loser gets ErrConflict with the winner as tail.",
			Run:  racePosition,
		}, {
			Name: "race/losers that go on lose nothing",
			Rule: "Writers of one thread that read the tail and try again after a conflict all get through; the log has each acknowledged entry once, at the place that was acknowledged.",
			Run:  raceRetry,
		}, {
			Name: "race/one winner for each id",
			Rule: "Of racing appends to different threads that bring the same id exactly one succeeds; the others get ErrExists and leave nothing.",
			Run:  raceID,
		}, {
			Name: "race/a refusal is of one append",
			Rule: "Of appends that come at once, and may share a commit, each is judged alone: one that conflicts or brings a taken id fails with its own error and leaves nothing, and the others succeed.",
			Run:  raceRefusals,
		}, {
			Name: "race/parallel threads lose nothing",
			Rule: "8 goroutines with 100 checkpoints each, every one on its own thread: all are there, in the logs, the index and the lists.",
			Run:  raceThreads,
		}, {
			Name: "race/readers see whole entries",
			Rule: "While appends go on, what is listed can be found and read, a summary's tail can be read, and a log has no hole.",
			Run:  raceReaders,
		},
	}
}

func racePosition(t *storetest.T) {
	const racers, rounds = 8, 25
	info := &posthouse.ThreadInfo{Thread: "t1"}
	for round := range rounds {
		batches, errs := make([]*posthouse.Batch, racers), make([]error, racers)
		for i := range batches {
			l := t.Builder.Resume(info)
			batches[i] = l.Next(l.Checkpoint(posthouse.Header{}, fmt.Sprint("racer ", i)))
		}
		storetest.Together(racers, func(i int) { errs[i] = t.Store.Append(t.Context(), batches[i]) })
		winner := slices.Index(errs, nil)
		if winner < 0 {
			t.Fatalf("round %d: nobody won: %v", round, errs)
		}
		for i, err := range errs {
			if i != winner {
				t.WantCode(fmt.Sprintf("round %d: racer %d", round, i), err, posthouse.CodeConflict)
				t.WantTail(fmt.Sprintf("round %d: racer %d", round, i), err, batches[winner].Thread.Tail)
			}
		}
		info = batches[winner].Thread
	}
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), info)
	if n := len(t.List(posthouse.Query{})); n != rounds {
		t.Errorf("there are %d checkpoints, want the %d winners", n, rounds)
	}
}

func raceRetry(t *storetest.T) {
	const writers, each = 8, 20
	acked := make([]map[uint64]posthouse.Hash, writers)
	storetest.Together(writers, func(i int) {
		acked[i] = map[uint64]posthouse.Hash{}
		for n := 0; n < each; {
			l, err := t.Tail("t1")
			if err != nil {
				t.Errorf("writer %d: %v", i, err)
				return
			}
			b := l.Next(l.Step(fmt.Sprint("writer-", i), fmt.Append(nil, i, n)))
			switch err := t.Store.Append(t.Context(), b); {
			case err == nil:
				acked[i][b.Entry.Seq] = b.Entry.Hash
				n++
			case !errors.Is(err, posthouse.ErrConflict):
				t.Errorf("writer %d: %v", i, err)
				return
			}
		}
	})
	es := t.Read("t1", posthouse.Range{})
	if len(es) != writers*each {
		t.Errorf("the log has %d entries, want %d", len(es), writers*each)
	}
	for i := range acked {
		for seq, hash := range acked[i] {
			if seq > uint64(len(es)) || es[seq-1].Hash != hash {
				t.Errorf("entry %d, acknowledged to writer %d, is not there", seq, i)
			}
		}
	}
	chained(t, es)
}

// chained fails unless the log is whole.
func chained(t *storetest.T, es []*posthouse.Entry) {
	t.Helper()
	var info posthouse.ThreadInfo
	for _, e := range es {
		if err := errors.Join(e.Check(), info.Apply(e)); err != nil {
			t.Errorf("the log does not hold together: %v", err)
			return
		}
	}
}

func raceID(t *storetest.T) {
	const racers = 8
	for round := range 15 {
		id, key := t.Builder.ID()
		errs := make([]error, racers)
		batches := make([]*posthouse.Batch, racers)
		for i := range racers {
			l := t.Builder.Log(fmt.Sprintf("t%d-%d", round, i))
			batches[i] = l.Next(l.Checkpoint(posthouse.Header{ID: id, Order: key}, fmt.Sprint("racer ", i)))
		}
		storetest.Together(racers, func(i int) { errs[i] = t.Store.Append(t.Context(), batches[i]) })
		winner := slices.Index(errs, nil)
		if winner < 0 {
			t.Fatalf("round %d: nobody won: %v", round, errs)
		}
		t.WantPlace(id, batches[winner].Entry.Thread, 1)
		for i, err := range errs {
			if i != winner {
				t.WantCode(fmt.Sprintf("round %d: racer %d", round, i), err, posthouse.CodeExists)
				t.WantEntries("a loser's thread", t.Read(batches[i].Entry.Thread, posthouse.Range{}), nil)
			}
		}
		if n := len(t.Threads(posthouse.ThreadQuery{})); n != round+1 {
			t.Fatalf("round %d: there are %d threads", round, n)
		}
	}
}

func raceRefusals(t *storetest.T) {
	const racers, rounds = 12, 20
	first := t.Builder.Log("taken")
	taken := first.Next(first.Checkpoint(posthouse.Header{}, "first"))
	if err := t.Store.Append(t.Context(), taken); err != nil {
		t.Fatalf("append: %v", err)
	}
	for round := range rounds {
		batches, errs := make([]*posthouse.Batch, racers), make([]error, racers)
		for i := range racers {
			l := t.Builder.Log(fmt.Sprintf("r%d-%d", round, i))
			h := posthouse.Header{}
			if i%3 == 1 {
				h.ID, h.Order = taken.IDs[0].ID, taken.IDs[0].Header.Order
			}
			b := l.Next(l.Checkpoint(h, fmt.Sprint("racer ", i)))
			if i%3 == 2 { // after an entry that is not there
				l.Took(b)
				b = l.Next(l.Step("late", nil))
			}
			batches[i] = b
		}
		storetest.Together(racers, func(i int) { errs[i] = t.Store.Append(t.Context(), batches[i]) })
		for i, err := range errs {
			what, log := fmt.Sprintf("round %d: racer %d", round, i), t.Read(batches[i].Entry.Thread, posthouse.Range{})
			switch i % 3 {
			case 0:
				if err != nil || len(log) != 1 {
					t.Errorf("%s: %v, %d entries; want its append to succeed", what, err, len(log))
				}
				t.WantPlace(batches[i].IDs[0].ID, batches[i].Entry.Thread, 1)
			case 1:
				t.WantCode(what, err, posthouse.CodeExists)
				t.WantEntries(what, log, nil)
			case 2:
				t.WantCode(what, err, posthouse.CodeConflict)
				t.WantEntries(what, log, nil)
			}
		}
	}
	t.WantPlace(taken.IDs[0].ID, "taken", 1)
}

func raceThreads(t *storetest.T) {
	const writers, each = 8, 100
	want := make([][]*posthouse.Entry, writers)
	storetest.Together(writers, func(i int) {
		l := t.Builder.Log(fmt.Sprint("t", i))
		for n := range each {
			b := l.Next(l.Checkpoint(posthouse.Header{Coordination: "desk"}, fmt.Sprint("state ", n)))
			if err := t.Store.Append(t.Context(), b); err != nil {
				t.Errorf("writer %d: %v", i, err)
				return
			}
			l.Took(b)
			want[i] = append(want[i], b.Entry)
		}
	})
	for i, es := range want {
		name := fmt.Sprint("t", i)
		t.WantEntries(name, t.Read(name, posthouse.Range{}), es)
		for _, h := range t.List(posthouse.Query{Thread: name}) {
			t.WantPlace(h.ID, name, h.Seq)
		}
	}
	if n := len(t.List(posthouse.Query{Coordination: "desk"})); n != writers*each {
		t.Errorf("the coordination lists %d checkpoints, want %d", n, writers*each)
	}
}

func raceReaders(t *storetest.T) {
	const writers, each = 4, 40
	var done atomic.Int64
	storetest.Together(writers*2, func(i int) {
		if i >= writers {
			for done.Load() < writers && !t.Failed() {
				glance(t, fmt.Sprint("t", i-writers))
			}
			return
		}
		defer done.Add(1)
		l := t.Builder.Log(fmt.Sprint("t", i))
		for range each {
			b := l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", []byte("x")))
			if err := t.Store.Append(t.Context(), b); err != nil {
				t.Errorf("Append: %v", err)
				return
			}
			l.Took(b)
		}
	})
}

// glance compares the store's different answers about a thread that grows. It runs on
// several goroutines, so it does not stop the test.
func glance(t *storetest.T, thread string) {
	l, err := t.Tail(thread)
	if err != nil {
		t.Errorf("Threads: %v", err)
		return
	}
	hs, err := storetest.Collect(t, t.Store.List(t.Context(), posthouse.Query{Thread: thread}))
	if err != nil {
		t.Errorf("List: %v", err)
		return
	}
	es, err := storetest.Collect(t, t.Store.Read(t.Context(), thread, posthouse.Range{}))
	if err != nil {
		t.Errorf("Read: %v", err)
		return
	}
	chained(t, es)
	tail := l.Info.Tail
	if tail.Seq > uint64(len(es)) || tail.Seq > 0 && es[tail.Seq-1].Hash != tail.Hash {
		t.Errorf("thread %s: the summary said entry %d, the log read after it has %d", thread, tail.Seq, len(es))
	}
	if uint64(len(hs)) < tail.Seq || len(hs) > len(es) {
		t.Errorf("thread %s: %d checkpoints listed between a summary of %d and a log of %d", thread, len(hs), tail.Seq, len(es))
	}
	for _, h := range hs {
		if ref, err := t.Store.Find(t.Context(), h.ID); err != nil || ref.Seq != h.Seq {
			t.Errorf("thread %s: %q is listed at %d and found at %v (%v)", thread, h.ID, h.Seq, ref, err)
			return
		}
	}
}
