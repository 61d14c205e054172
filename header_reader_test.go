package posthouse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// headerEntries makes a history in which neighbours resemble each other, now
// more, now less.
func headerEntries(rnd *rand.Rand, n int) []*Entry {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	var ids testIDs
	var es []*Entry
	var parent *Header
	pick := func(ss ...string) string { return ss[rnd.IntN(len(ss))] }
	list := PartList{Total: 1, Changes: []PartChange{{PartRef: PartRef{Name: OpaquePart, Codec: "raw", Size: 9}, Middle: []Piece{{N: 9}}}}}
	c := &Header{}
	for i := range n {
		seq := uint64(i + 1)
		if rnd.IntN(3) == 0 { // something new
			c = &Header{
				Coordination: pick("", "t", "c"), Branch: pick(MainBranch, "b"), Run: pick("", "r"), Graph: pick("", "g"), Fingerprint: pick("", "f"),
				Node: pick("n", "m"), Agent: pick("", "a", fmt.Sprintf("%0100d", i)), By: pick("", "by"), Error: pick("", "e"),
			}
			if rnd.IntN(2) == 0 {
				c.Next = []string{"x", pick("y", "z", "")}[:1+rnd.IntN(2)]
			}
			if rnd.IntN(4) == 0 {
				c.Labels = map[string]string{"k": pick("v", "w")}
			}
			if rnd.IntN(4) == 0 {
				c.Source = &Source{pick("s", "other"), ID(pick("by.hand", "by.foot"))}
			}
			list.Changes[0].Size, list.Changes[0].Last = rnd.IntN(300), min(uint64(rnd.IntN(5)), seq-1)
			list.Changes[0].Full = list.Changes[0].Last
		}
		h := *c
		h.ID, h.Kind, h.Status, h.Step, h.Size = ids.new(at), KindNode, StatusRunning, seq, 1
		h.Thread, h.Order = "t", OrderKey{byte(i), 1}
		if k, ok := h.ID.UUID(); ok && rnd.IntN(8) > 0 {
			h.Order = k
		}
		if rnd.IntN(8) == 0 {
			h.ID = ID(fmt.Sprint("foreign-", i))
		}
		if parent != nil {
			h.Parent, h.ParentSeq = parent.ID, seq-1
		}
		if rnd.IntN(8) == 0 {
			h.CreatedAt = at.Add(time.Duration(i))
		}
		parts := list
		parts.Manifest = seq % 4
		if parts.Manifest >= seq {
			parts.Manifest = 0
		}
		if parts.Manifest == 0 {
			parts.Unchanged = []PartRef{{Name: "same", Codec: "json", Last: min(2, seq-1)}}
		}
		if rnd.IntN(2) == 0 {
			h.Took, h.Attempts = time.Duration(rnd.IntN(3))*time.Millisecond, rnd.IntN(3)
		}
		records := []Record{{Kind: RecordCheckpoint, Checkpoint: &h, Parts: parts, Size: 3}}
		switch rnd.IntN(8) {
		case 0:
			records = append(records, Record{Kind: RecordGate, Gate: &GateInfo{ID: GatePrefix + ids.new(at), Name: "ok", Branch: "b"}})
		case 1:
			second := h
			second.ID, second.Order = "second", OrderKey{1, byte(i)}
			records = append(records, Record{Kind: RecordCheckpoint, Checkpoint: &second, Parts: parts})
		case 2:
			records = []Record{{Kind: RecordStep, Step: &StepInfo{Task: "1/n", Name: "llm", Branch: MainBranch, Codec: "json", Took: time.Duration(rnd.IntN(3)) * time.Millisecond, Attempts: rnd.IntN(3)}}}
		case 3:
			records = []Record{{Kind: RecordSignal, Signal: &SignalInfo{ID: "signal", Name: "s", Prev: seq - 1}}}
		case 4:
			records = []Record{{Kind: RecordClaim, Claim: &ClaimInfo{Owner: "o", Fence: 1}}}
		}
		head := entryHeader{time: at.Add(time.Duration(i) * time.Second), records: records}
		e := &Entry{Thread: "t", Generation: 1, Seq: seq, Header: head.append(nil)}
		e.Hash = e.Sum()
		es, parent = append(es, e), &h
	}
	return es
}

func checkpointsOf(t *testing.T, e *Entry, q *Query) (hs []*Header) {
	t.Helper()
	all, err := e.Checkpoints()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if q.Match(&all[i]) {
			hs = append(hs, &all[i])
		}
	}
	return hs
}

// TestHeaderReaderReadsWhatRecordsReads also changes every header once it was
// read: what others have must stay as it is.
func TestHeaderReaderReadsWhatRecordsReads(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		es := headerEntries(rnd, 100)
		switch seed % 3 {
		case 1:
			slices.Reverse(es)
		case 2:
			rnd.Shuffle(len(es), func(i, j int) { es[i], es[j] = es[j], es[i] })
		}
		r := HeaderReader{Query: Query{Node: []string{"", "n"}[seed%2]}}
		var kept, want []*Header
		for _, e := range es {
			hs, err := r.Read(e)
			if err != nil {
				t.Fatal(err)
			}
			expect := checkpointsOf(t, e, &r.Query)
			if len(hs) != len(expect) {
				t.Fatalf("seed %d: %d headers in entry %d, want %d", seed, len(hs), e.Seq, len(expect))
			}
			for i, h := range hs {
				if !reflect.DeepEqual(h, expect[i]) {
					t.Fatalf("seed %d: entry %d:\n%+v\nwant\n%+v", seed, e.Seq, h, expect[i])
				}
				if k, ok := h.ID.UUID(); r.Own(i) != (ok && k == h.Order) {
					t.Errorf("own is %v for id %s with order key %s", r.Own(i), h.ID, h.Order)
				}
				if rnd.IntN(2) == 0 {
					kept, want = append(kept, h), append(want, expect[i])
					continue
				}
				for j := range h.Next {
					h.Next[j] = "changed"
				}
				h.Next, h.Gates = append(h.Next, "more"), append(h.Gates, "more")
				if h.Labels != nil {
					h.Labels["k"] = "changed"
				}
				if h.Source != nil {
					h.Source.Thread = "changed"
				}
				h.Node, h.Hash = "changed", Hash{1}
			}
		}
		for i := range kept {
			if !reflect.DeepEqual(kept[i], want[i]) {
				t.Fatalf("seed %d: a header became\n%+v\nwas\n%+v", seed, kept[i], want[i])
			}
		}
	}
}

// TestHeaderReaderRefusesWhatRecordsRefuses breaks headers after good ones that
// they resemble, at each byte.
func TestHeaderReaderRefusesWhatRecordsRefuses(t *testing.T) {
	es := append(headerEntries(rand.New(rand.NewPCG(7, 7)), 20), alikeEntries(5)...)
	var r HeaderReader
	refused := 0
	var before *Entry // has parts that a later manifest is compared with
	try := func(good, bad *Entry, how string) {
		t.Helper()
		if before != nil {
			if _, err := r.Read(before); err != nil {
				t.Fatal(err)
			}
		}
		hs, err := r.Read(good)
		if err != nil || !reflect.DeepEqual(append([]*Header(nil), hs...), checkpointsOf(t, good, &Query{})) {
			t.Fatalf("entry %d: %+v, %v", good.Seq, hs, err)
		}
		want, wantErr := bad.Records()
		hs, err = r.Read(bad)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("entry %d, %s: %v, want %v", good.Seq, how, err, wantErr)
		}
		if err != nil {
			refused++
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Fatal(err)
			}
		}
		for j, h := range hs {
			if c := want[j].Checkpoint; len(hs) == len(want) && !reflect.DeepEqual(h, c) {
				t.Fatalf("entry %d, %s:\n%+v\nwant\n%+v", good.Seq, how, h, c)
			}
		}
	}
	for _, e := range es {
		for i, b := range e.Header {
			if testing.Short() && i%8 != 0 {
				continue
			}
			all := [][]byte{
				e.Header[:i], changed(e.Header, i, 0xff), changed(e.Header, i, 0), changed(e.Header, i), changed(e.Header, i, b, 0),
				changed(e.Header, i, b|0x80, 0), changed(e.Header, i, b|0x80, 0x7f), changed(e.Header, i, b|0x80, 0xff, 0xff, 0xff, 0xff, 0x7f),
			}
			for bit := range 8 {
				all = append(all, changed(e.Header, i, b^1<<bit))
			}
			for _, broken := range all {
				bad := *e
				bad.Header = broken
				try(e, &bad, fmt.Sprintf("broken at byte %d: %x", i, broken))
			}
		}
		for seq := range e.Seq {
			bad := *e
			bad.Seq = seq
			try(e, &bad, fmt.Sprint("as entry ", seq))
		}
		bad := *e
		bad.Thread = "c"
		try(e, &bad, "in thread c")
		before = e
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// changed returns b with other bytes in the place of one.
func changed(b []byte, at int, by ...byte) []byte {
	return slices.Concat(b[:at], by, b[at+1:])
}

// alikeEntries makes a history of steps that differ in nothing but what must.
func alikeEntries(n int) (es []*Entry) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	var ids testIDs
	var parent ID
	for i := range n {
		id, seq := ids.new(at), uint64(i+9)
		k, _ := id.UUID()
		parts := PartList{Manifest: seq / 2, Total: 1, Changes: []PartChange{{PartRef: PartRef{Name: "p", Codec: "raw", Size: 3, Last: 1}, Middle: []Piece{{N: 3}}}}}
		h := entryHeader{time: at, records: []Record{{Kind: RecordCheckpoint, Size: 3, Parts: parts, Checkpoint: &Header{
			ID: id, Order: k, Parent: parent, ParentSeq: seq - 1, Branch: MainBranch, Coordination: "c", Graph: "g", Node: "n", Next: []string{"n"},
			Kind: KindNode, Status: StatusRunning, Step: seq, Size: 300,
		}}}}
		if i == 0 {
			h.records[0].Checkpoint.ParentSeq = 0
		}
		if i == n-1 {
			h.records[0].Parts.Manifest = 0
		}
		e := &Entry{Thread: "t", Generation: 1, Seq: seq, Header: h.append(nil)}
		e.Hash = e.Sum()
		es, parent = append(es, e), id
	}
	return es
}

// TestHeaderReaderSharesMemory is why there is one: most headers cost no
// allocation, and one that is kept keeps few others.
func TestHeaderReaderSharesMemory(t *testing.T) {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	var ids testIDs
	var es []*Entry
	for i := range 320 {
		id := ids.new(at)
		k, _ := id.UUID()
		h := entryHeader{time: at, records: []Record{{Kind: RecordCheckpoint, Parts: PartList{Manifest: 1}, Checkpoint: &Header{
			ID: id, Order: k, Branch: MainBranch, Graph: "g", Node: "n", Next: []string{"n"},
		}}}}
		es = append(es, &Entry{Thread: "t", Seq: uint64(i + 9), Header: h.append(nil)})
	}
	n := testing.AllocsPerRun(10, func() {
		var r HeaderReader
		for _, e := range es {
			if _, err := r.Read(e); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n > 320/4 {
		t.Errorf("%v allocations for 320 headers", n)
	}
	r := HeaderReader{Query: Query{Node: "other"}}
	if n := testing.AllocsPerRun(1, func() {
		for _, e := range es {
			_, _ = r.Read(e)
		}
	}); n > 320/8 || len(r.shared.headers) > 1 {
		t.Errorf("%v allocations, room for %d headers, where none matches", n, len(r.shared.headers))
	}
}

// testIDs makes ids that ascend.
type testIDs struct{ n uint64 }

func (s *testIDs) new(at time.Time) ID {
	s.n++
	var k OrderKey
	binary.BigEndian.PutUint64(k[:], uint64(at.UnixMilli())<<16)
	binary.BigEndian.PutUint64(k[8:], s.n)
	k[6] |= 0x70
	k[8] |= 0x80
	return k.ID()
}

// TestMaxMillisIsThatOfEncodings compares the last time that users may give with the last that is
// encoded.
func TestMaxMillisIsThatOfEncodings(t *testing.T) {
	if last := uint64(canon.MaxMillis); MaxMillis != last {
		t.Errorf("times may be up to %d, and are encoded up to %d", uint64(MaxMillis), last)
	}
}
