package core

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
)

// TestIDsAscend checks that ids are unique, sort by creation and survive their
// short form, while the clock stands, jumps and runs from several goroutines.
func TestIDsAscend(t *testing.T) {
	var s IDSource
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	last := posthouse.ID("")
	for i := range 300_000 {
		switch {
		case i%1000 == 0:
			at = at.Add(time.Millisecond)
		case i == 5000:
			at = at.Add(-time.Hour)
		}
		id := s.New(at)
		if id <= last {
			t.Fatalf("id %d: %s does not follow %s", i, id, last)
		}
		last = id
	}
	if k, ok := last.UUID(); !ok || k.ID() != last {
		t.Errorf("%s does not survive its short form", last)
	}
	if ms := time.UnixMilli(int64(millis(mustKey(t, s.New(at.Add(48*time.Hour)))))); ms.Sub(at).Round(time.Hour) != 48*time.Hour {
		t.Errorf("the id's time is %s", ms)
	}
	seen := make([]map[posthouse.ID]bool, 4)
	var wg sync.WaitGroup
	for g := range seen {
		wg.Go(func() {
			seen[g] = map[posthouse.ID]bool{}
			for range 10_000 {
				seen[g][s.New(at)] = true
			}
		})
	}
	wg.Wait()
	all := map[posthouse.ID]bool{}
	for _, m := range seen {
		for id := range m {
			all[id] = true
		}
	}
	if len(all) != 40_000 {
		t.Errorf("%d of 40,000 ids differ", len(all))
	}
}

func mustKey(t *testing.T, id posthouse.ID) posthouse.OrderKey {
	k, ok := id.UUID()
	if !ok {
		t.Fatalf("%s is no UUIDv7", id)
	}
	return k
}

func millis(k posthouse.OrderKey) (ms uint64) {
	for _, b := range k[:6] {
		ms = ms<<8 | uint64(b)
	}
	return ms
}

func TestIDCounterOverflows(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := IDSource{ms: uint64(at.UnixMilli()), count: 1<<26 - 2}
	a, b, c := s.New(at), s.New(at), s.New(at)
	if a >= b || b >= c {
		t.Errorf("%s, %s, %s do not ascend", a, b, c)
	}
}

func TestOnlyCanonicalUUIDsAreShort(t *testing.T) {
	var s IDSource
	id := s.New(time.Now())
	for _, bad := range []posthouse.ID{
		"", "x", posthouse.ID(id[:35]), id + "0", "0198C5A2-0000-7000-8000-000000000000", "0198c5a2-0000-4000-8000-000000000000",
		"0198c5a2-0000-7000-c000-000000000000", "0198c5a2_0000-7000-8000-000000000000", "0198c5g2-0000-7000-8000-000000000000",
	} {
		if _, ok := bad.UUID(); ok {
			t.Errorf("%q passes for a canonical UUIDv7", bad)
		}
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := posthouse.Header{Seq: rapid.Uint64().Draw(t, "seq")}
		copy(h.Order[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "order"))
		k, seq, err := posthouse.ParseCursor(h.Cursor())
		if err != nil || k != h.Order || seq != h.Seq {
			t.Fatalf("%s: %v %d %v", h.Cursor(), k, seq, err)
		}
	})
}

// TestIDsFollow checks that a child's id sorts after a parent that another
// process made, in the same millisecond or with a clock a little ahead, and that
// no parent can drag the ids far into the future.
func TestIDsFollow(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 1000 {
		var other, own IDSource
		for _, ahead := range []time.Duration{0, time.Millisecond, time.Second, -time.Second} {
			parent := other.New(at.Add(ahead))
			own.Follow(mustKey(t, parent), at)
			if child := own.New(at); child <= parent {
				t.Fatalf("%s: %s does not follow %s", ahead, child, parent)
			}
		}
	}
	var other, own IDSource
	own.Follow(mustKey(t, other.New(at.Add(time.Hour))), at)
	if id := own.New(at); millis(mustKey(t, id)) != uint64(at.UnixMilli()) {
		t.Errorf("%s was dragged along", id)
	}
}
