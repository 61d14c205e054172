package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
)

func slotCases() []Case {
	return []Case{
		{
			Name: "slots/put, get, delete",
			Rule: "A put is read back with its revision; a slot that is absent is ErrNotFound; deleting what is absent is no error. The thread needs no log.",
			Run:  slotsBasic,
		}, {
			Name: "slots/a write names the revision it saw",
			Rule: "Put and delete fail with ErrConflict unless Revision is the slot's, 0 for absent; AnyRevision is unconditional. A failed write changes nothing.",
			Run:  slotsRevision,
		}, {
			Name: "slots/revisions grow across deletes",
			Rule: "A revision is never used twice, so that a writer that slept through a delete and a new put is refused.",
			Run:  slotsRevisionGrows,
		}, {
			Name: "slots/a fence keeps older writers out",
			Rule: "A write under a lower fence than the slot has seen is ErrFenced, also after a delete; the same or a higher fence passes; fence 0 is not fenced.",
			Run:  slotsFence,
		}, {
			Name: "slots/keys are two fields of any characters",
			Rule: "Thread and step are told apart and compared byte by byte, with dots, slashes, quotes, wildcards and case.",
			Run:  slotsKeys,
		}, {
			Name: "slots/values up to 1 MiB",
			Rule: "A value of 1 MiB is kept; a larger one is ErrTooLarge and changes nothing; an empty one is there, and empty.",
			Run:  slotsSize,
		}, {
			Name: "slots/one winner at each revision",
			Rule: "Of racing writers that saw the same revision exactly one succeeds; no increment is lost.",
			Run:  slotsRace,
		}, {
			Name: "slots/lie beside the log",
			Rule: "Slots change no log, summary or list; removing entries or bodies leaves them; removing a thread whole takes its slots and no others.",
			Run:  slotsBeside,
		}, {
			Name:  "slots/are listed by their keys",
			Rule:  "Slots yields each slot that is there, deleted ones not, of one thread or of all, in the order of thread and step, with value, revision and fence.",
			Needs: NeedSlotLister,
			Run:   slotsListed,
		},
	}
}

func slotsListed(t *T) {
	lister := t.Store.(posthouse.SlotLister)
	var want []string
	for _, thread := range []string{"$process", "a", "a%", "b"} {
		for i := range 30 {
			key := posthouse.SlotKey{Thread: thread, Step: fmt.Sprintf("s%02d", i)}
			t.put(key, key.Step, 0, uint64(i))
			if i%7 == 3 {
				_, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: 1, Fence: uint64(i)})
				t.OK(err)
				continue
			}
			want = append(want, fmt.Sprint(key, key.Step, 1, i))
		}
	}
	check := func(thread string, want []string) {
		t.Helper()
		var got []string
		for s, err := range lister.Slots(t.ctx, thread) {
			t.OK(err)
			got = append(got, fmt.Sprint(s.Key, string(s.Value), s.Revision, s.Fence))
		}
		if !slices.Equal(got, want) {
			t.Errorf("the slots of %q are %v, want %v", thread, got, want)
		}
	}
	check("", want)
	check("a", want[len(want)/4:len(want)/2])
	check("nobody", nil)
	for range lister.Slots(t.ctx, "") {
		break // a consumer that stops is no error
	}
}

// put writes a slot, which must succeed.
func (t *T) put(key posthouse.SlotKey, value string, revision, fence uint64) posthouse.Slot {
	t.Helper()
	s, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte(value), Revision: revision, Fence: fence})
	t.OK(err)
	return s
}

// wantSlot reads a slot, which must exist.
func (t *T) wantSlot(key posthouse.SlotKey, value string, revision uint64) posthouse.Slot {
	t.Helper()
	s, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	if err != nil || string(s.Value) != value || s.Revision != revision {
		t.Errorf("slot %q: got %.40q at revision %d and error %v, want %.40q at %d", key, s.Value, s.Revision, err, value, revision)
	}
	return s
}

func (t *T) wantNoSlot(key posthouse.SlotKey) {
	t.Helper()
	s, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	t.WantCode(fmt.Sprintf("slot %q (%.40q)", key, s.Value), err, posthouse.CodeNotFound)
}

func (t *T) slotFails(what string, key posthouse.SlotKey, op posthouse.SlotOp, code posthouse.Code) {
	t.Helper()
	_, err := t.Store.Slot(t.ctx, key, op)
	t.WantCode(what, err, code)
}

func slotsBasic(t *T) {
	key := posthouse.SlotKey{Thread: "t1", Step: "upload"}
	t.wantNoSlot(key)
	_, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete})
	t.OK(err)
	s := t.put(key, "one", 0, 0)
	if s.Revision == 0 {
		t.Error("a put returned revision 0, which means absent")
	}
	t.wantSlot(key, "one", s.Revision)
	s2 := t.put(key, "two", s.Revision, 0)
	if s2.Revision <= s.Revision {
		t.Errorf("the revision went from %d to %d", s.Revision, s2.Revision)
	}
	t.wantSlot(key, "two", s2.Revision)
	for range 2 {
		_, err = t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: s2.Revision})
		t.OK(err) // the second time there is nothing left
		t.wantNoSlot(key)
	}
}

func slotsRevision(t *T) {
	key := posthouse.SlotKey{Thread: "t1", Step: "s"}
	t.slotFails("put over a revision that is not there", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: 7}, posthouse.CodeConflict)
	t.wantNoSlot(key)
	one := t.put(key, "one", 0, 0)
	t.slotFails("put as if absent", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("x")}, posthouse.CodeConflict)
	two := t.put(key, "two", one.Revision, 0)
	for _, stale := range []uint64{0, one.Revision, two.Revision + 1} {
		t.slotFails("put", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("x"), Revision: stale}, posthouse.CodeConflict)
		t.slotFails("delete", key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: stale}, posthouse.CodeConflict)
		t.wantSlot(key, "two", two.Revision)
	}
	three := t.put(key, "three", posthouse.AnyRevision, 0)
	t.wantSlot(key, "three", three.Revision)
	_, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision})
	t.OK(err)
	t.wantNoSlot(key)
	t.put(key, "unconditional, though absent", posthouse.AnyRevision, 0)
}

func slotsRevisionGrows(t *T) {
	key := posthouse.SlotKey{Thread: "t1", Step: "s"}
	last := uint64(0)
	for i := range 5 {
		s := t.put(key, fmt.Sprint(i), 0, 0)
		if s.Revision <= last {
			t.Errorf("put %d got revision %d after %d", i, s.Revision, last)
		}
		if last != 0 {
			t.slotFails("put over a deleted revision", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: last}, posthouse.CodeConflict)
		}
		last = s.Revision
		_, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: last})
		t.OK(err)
		t.slotFails("put over a deleted revision", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: last}, posthouse.CodeConflict)
	}
}

func slotsFence(t *T) {
	key := posthouse.SlotKey{Thread: "t1", Step: "s"}
	t.put(key, "a", 0, 5)
	s := t.put(key, "b", posthouse.AnyRevision, 5)
	if got := t.wantSlot(key, "b", s.Revision); got.Fence != 5 {
		t.Errorf("the slot's fence is %d, want 5", got.Fence)
	}
	t.slotFails("put under an older fence", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: s.Revision, Fence: 4}, posthouse.CodeFenced)
	t.slotFails("delete under an older fence", key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: s.Revision, Fence: 4}, posthouse.CodeFenced)
	t.wantSlot(key, "b", s.Revision)
	t.put(key, "c", s.Revision, 9)
	t.slotFails("put under the fence of before", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Fence: 5}, posthouse.CodeFenced)
	t.put(key, "d", posthouse.AnyRevision, 0)
	t.slotFails("an unfenced write does not lower the fence", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Fence: 8}, posthouse.CodeFenced)
	_, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: posthouse.AnyRevision, Fence: 10})
	t.OK(err)
	t.slotFails("the fence outlives a delete", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Fence: 9}, posthouse.CodeFenced)
	t.put(key, "e", 0, 10)
}

func slotsKeys(t *T) {
	keys := []posthouse.SlotKey{
		{Thread: "a.b", Step: "c"}, {Thread: "a", Step: "b.c"}, {Thread: "a", Step: "B.c"}, {Thread: "A", Step: "b.c"}, {Thread: "a", Step: "b"},
		{Thread: "$process", Step: "host-1"}, {Thread: "a", Step: "x/y"}, {Thread: "a", Step: "../x"}, {Thread: "a", Step: "%"}, {Thread: "a", Step: "%2E"},
		{Thread: "a", Step: "*"}, {Thread: "a", Step: ">"}, {Thread: "a", Step: "it's \"quoted\""}, {Thread: "a", Step: "two words"}, {Thread: "a", Step: "é"},
		{Thread: "a", Step: "e\u0301"}, {Thread: "a", Step: "日本"}, {Thread: "a", Step: strings.Repeat("s", 200)}, {Thread: "a.", Step: "b"}, {Thread: "a", Step: ".b"},
	}
	revs := map[posthouse.SlotKey]uint64{}
	for i, key := range keys {
		t.wantNoSlot(key)
		revs[key] = t.put(key, fmt.Sprint("value ", i), 0, 0).Revision
	}
	for i, key := range keys {
		t.wantSlot(key, fmt.Sprint("value ", i), revs[key])
	}
	_, err := t.Store.Slot(t.ctx, keys[0], posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: revs[keys[0]]})
	t.OK(err)
	t.wantNoSlot(keys[0])
	t.wantSlot(keys[1], "value 1", revs[keys[1]])
}

func slotsSize(t *T) {
	key := posthouse.SlotKey{Thread: "t1", Step: "s"}
	s := t.put(key, "", 0, 0)
	t.wantSlot(key, "", s.Revision)
	big := string(Filler(1<<20, "slot"))
	s = t.put(key, big, s.Revision, 0)
	t.wantSlot(key, big, s.Revision)
	t.slotFails("1 MiB and a byte", key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte(big + "x"), Revision: s.Revision}, posthouse.CodeTooLarge)
	t.wantSlot(key, big, s.Revision)
}

func slotsRace(t *T) {
	key := posthouse.SlotKey{Thread: "t1", Step: "counter"}
	t.put(key, "", 0, 0)
	const writers, each = 8, 10
	var wg sync.WaitGroup
	var puts atomic.Int64
	for range writers {
		wg.Go(func() {
			for n := 0; n < each; {
				s, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
				if err != nil {
					t.Errorf("get: %v", err)
					return
				}
				_, err = t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: append(s.Value, '+'), Revision: s.Revision})
				switch {
				case err == nil:
					n++
					puts.Add(1)
				case !isCode(err, posthouse.CodeConflict):
					t.Errorf("put: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	s, err := t.Store.Slot(t.ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
	t.OK(err)
	if int64(len(s.Value)) != puts.Load() || puts.Load() != writers*each {
		t.Errorf("%d puts succeeded and the slot counts %d, want %d", puts.Load(), len(s.Value), writers*each)
	}
}

func slotsBeside(t *T) {
	l, es := t.log("t1", 4)
	mine, other, nolog := posthouse.SlotKey{Thread: "t1", Step: "s"}, posthouse.SlotKey{Thread: "t1.s", Step: "s"}, posthouse.SlotKey{Thread: "t2", Step: "s"}
	a, b, c := t.put(mine, "mine", 0, 0), t.put(other, "other", 0, 0), t.put(nolog, "no log", 0, 0)
	t.WantEntries("Read", t.Read("t1", posthouse.Range{}), es)
	t.WantThreads("Threads", t.Threads(posthouse.ThreadQuery{}), l.Info)
	for _, r := range []posthouse.Removal{{Thread: "t1", Bodies: []posthouse.BodyRef{{Seq: 1}}}, {Thread: "t1", Below: 3}} {
		_, err := t.Store.Remove(t.ctx, r)
		t.OK(err)
		t.wantSlot(mine, "mine", a.Revision)
	}
	_, err := t.Store.Remove(t.ctx, posthouse.Removal{Thread: "t1", All: true})
	t.OK(err)
	t.wantNoSlot(mine)
	t.wantSlot(other, "other", b.Revision)
	t.wantSlot(nolog, "no log", c.Revision)
	_, err = t.Store.Remove(t.ctx, posthouse.Removal{Thread: "t2", All: true})
	t.OK(err)
	t.wantNoSlot(nolog)
}
