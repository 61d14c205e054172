package posthouse

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// recode decodes a header and encodes what it found.
func recode(header []byte) []byte {
	r := fieldsOf(header)
	format := r.Byte()
	out := []byte{format}
	out = canon.AppendUint(out, r.Uint())
	n := r.Count()
	var w fields
	w.Write(canon.AppendUint(out, uint64(n)))
	for range n {
		var rec Record
		rec.fields(r, format)
		rec.fields(&w, format)
	}
	return w.Written()
}

// seedHeaders are the headers of entries with every kind of record.
func seedHeaders() [][]byte {
	at := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	id := ID("01890a5d-ac96-774b-bcce-b302099a8057")
	own, _ := id.UUID()
	full := &Header{
		ID: "by.hand", Parent: id, ParentSeq: 3, Thread: "t", Coordination: "c", Branch: "b", Kind: KindFork, Status: StatusWaiting,
		Run: "r", Graph: "g", Fingerprint: "f", Node: "n", Agent: "a", Next: []string{"x", ""}, Step: 7, Source: &Source{"s", id},
		Labels: map[string]string{"k": "v", "l": ""}, By: "alice", Error: "e", CreatedAt: at, Revision: 2, Size: 300, Order: OrderKey{1},
	}
	ref := func(name string) PartRef {
		return PartRef{Name: name, Codec: "raw", Size: 9, Last: 1, Full: 2, Chain: 1, Dead: 4}
	}
	list := PartList{Total: 3, Changes: []PartChange{
		{PartRef: ref("full"), Middle: []Piece{{N: 3}, {N: 4, Back: 2, Rec: 1, Off: 5}}},
		{PartRef: ref("splice"), Op: PartSplice, Prefix: 1, Suffix: 2, Middle: []Piece{{N: 1}}},
		{PartRef: ref("drop"), Op: PartDrop},
	}, Unchanged: []PartRef{ref("same")}}
	var seeds [][]byte
	for _, rec := range []Record{
		{Kind: RecordCheckpoint, Checkpoint: full, Parts: list, Size: 4},
		{Kind: RecordCheckpoint, Checkpoint: &Header{ID: id, Order: own, Branch: MainBranch, Kind: KindSave}, Parts: PartList{Manifest: 1}},
		{Kind: RecordStep, Step: &StepInfo{Task: "1/n", Name: "llm", Occurrence: 1, Branch: MainBranch, Codec: "json", Effect: EffectPure}, Size: 1},
		{Kind: RecordStep, Step: &StepInfo{Task: "1/n", Name: "llm", Branch: MainBranch, Codec: "raw"}, Size: 40, Sealed: true},
		{Kind: RecordGate, Gate: &GateInfo{ID: GatePrefix + id, Name: "ok", Task: "1/n", Branch: "b", ExpiresAt: at, Kind: "choice"}},
		{Kind: RecordGate, Gate: &GateInfo{ID: GatePrefix + id, Name: "go", Task: "1/n", Branch: "b", Kind: GateSignal, Signal: "go", Latch: true}},
		{Kind: RecordSignal, Signal: &SignalInfo{ID: id, Name: "go", By: "alice", Latch: true, Prev: 2}, Size: 4},
		{Kind: RecordSignal, Signal: &SignalInfo{ID: id, Name: SignalCancel, Branch: "b"}, Size: 2},
		{Kind: RecordSignal, Signal: &SignalInfo{ID: id, Name: "go", By: "alice", Requesters: []string{"bob", "carl"}, Prev: 2}, Size: 4},
		{Kind: RecordTake, Take: &TakeInfo{Branch: "b", Name: "go", Signal: 3}},
		{Kind: RecordGate, Gate: &GateInfo{ID: GatePrefix + id, Name: "ok", Task: "1/n", Branch: "b", ExpiresAt: at, EscalateAt: at}},
		{Kind: RecordGate, Gate: &GateInfo{ID: GatePrefix + id, Name: "ok", Task: "1/n", Branch: "b", Content: Hash{7}, Supersedes: "mine"}},
		{Kind: RecordGate, Gate: &GateInfo{ID: "mine", Name: "ok", Branch: "b", Supersedes: GatePrefix + id}},
		{Kind: RecordStep, Step: &StepInfo{Task: "1/n", Name: "pay", Codec: "json", Branch: MainBranch, Effect: EffectExternal, Grant: GatePrefix + id, Unordered: true}},
		{Kind: RecordDecision, Decision: &DecideInfo{Gate: "mine", GateSeq: 2, Verdict: Edit, By: "alice"}},
		{Kind: RecordVote, Vote: &VoteInfo{Gate: GatePrefix + id, GateSeq: 2, Prior: 3, Verdict: Approve, By: "alice"}},
		{Kind: RecordAssignment, Assignment: &AssignInfo{Gate: "mine", GateSeq: 2, By: "alice", Escalation: true}},
		{Kind: RecordAssignment, Assignment: &AssignInfo{Gate: "mine", GateSeq: 2, Prior: 4, By: "alice", TakesBack: 3}, Size: 9},
		{Kind: RecordNotice, Notice: &NoticeInfo{Gate: "mine", GateSeq: 2, Prior: 4, Kind: NoticeReminder, By: RuntimeActor, Until: at}, Size: 9},
		{Kind: RecordNotice, Notice: &NoticeInfo{Gate: GatePrefix + id, GateSeq: 2, Kind: "of a later version", By: "alice"}},
		{Kind: RecordGate, Gate: &GateInfo{ID: "mine", Name: "ok", Branch: "b", RemindAt: at, ExpiresAt: at}},
		{Kind: RecordGate, Gate: &GateInfo{ID: "mine", Name: "pay>outcome", Branch: "b", Kind: GateOutcome, Settles: true}},
		{Kind: RecordDecision, Decision: &DecideInfo{Gate: "mine", GateSeq: 2, Verdict: Happened, By: "alice"}},
		{Kind: RecordVote, Vote: &VoteInfo{Gate: GatePrefix + id, GateSeq: 2, Prior: 3, Verdict: Redo, By: "alice"}},
		{Kind: RecordAudience, Audience: &AudienceInfo{Gate: "mine", Marks: []uint64{1, 1 << 63}}},
		{Kind: RecordAudience, Audience: &AudienceInfo{Gate: GatePrefix + id, Anyone: true}},
		{Kind: RecordClaim, Claim: &ClaimInfo{Owner: "host", Fence: 3, Run: "r", Unclaim: true}},
		{Kind: RecordRemoval, Removal: &RemovalInfo{Reason: "r", By: "b", Whole: true, Count: 2, Archived: 1, Heads: []BranchHead{{"b", id, 1, StatusDone}}, Gates: []ID{"g", GatePrefix + id}}},
		{Kind: RecordRemoval, Removal: &RemovalInfo{Archived: 7, Version: 3}, Size: 2},
	} {
		h := entryHeader{time: at, records: []Record{rec, {Kind: RecordClaim, Claim: &ClaimInfo{Owner: "o"}}}}
		seeds = append(seeds, h.append(nil))
	}
	for _, m := range []*ReleaseInfo{
		{First: 1, Fence: 3, Checkpoints: 2, Heads: []BranchHead{{MainBranch, id, 1, StatusDone}, {"b", "mine", 2, StatusWaiting}}},
		{First: 2, Base: Hash{1}, Tags: []string{"stable", "may"}, By: "alice", Reason: "r", Failed: true},
	} {
		h := entryHeader{time: at, records: []Record{{Kind: RecordClaim, Claim: &ClaimInfo{Owner: "o"}}, {Kind: RecordRelease, Release: m}}}
		seeds = append(seeds, h.append(nil))
	}
	return seeds
}

func TestSeedHeadersRecode(t *testing.T) {
	for i, header := range seedHeaders() {
		e := Entry{Thread: "t", Generation: 1, Seq: 9, Header: header}
		if _, err := e.Records(); err != nil {
			t.Errorf("seed %d: %v", i, err)
		}
		if got := recode(header); !bytes.Equal(got, header) {
			t.Errorf("seed %d: %x\nwritten again %x", i, header, got)
		}
	}
}

// FuzzEntryRecords decodes headers: what decodes has one encoding, leads back
// only, and is safe to show and to fold.
func FuzzEntryRecords(f *testing.F) {
	for _, h := range seedHeaders() {
		f.Add(h, "t", uint64(9))
	}
	f.Fuzz(func(t *testing.T, header []byte, thread string, seq uint64) {
		e := &Entry{Thread: thread, Generation: 1, Seq: seq, Header: header}
		e.Hash = e.Sum()
		recs, err := e.Records()
		sameByReader(t, e, recs, err)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Fatalf("an error that is neither: %v", err)
			}
			return
		}
		if again := recode(header); !bytes.Equal(again, header) {
			t.Fatalf("read %x, written again %x", header, again)
		}
		for i := range recs {
			if c := recs[i].Checkpoint; c != nil && c.ParentSeq >= seq && c.ParentSeq != 0 {
				t.Fatalf("entry %d has a parent in entry %d", seq, c.ParentSeq)
			}
		}
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(recs); err != nil {
			t.Fatalf("it cannot be shown: %v", err)
		}
		info := &ThreadInfo{Thread: thread}
		if err := info.Apply(e); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, info)
	})
}

// sameByReader holds a HeaderReader that has read another entry, and then this
// one twice, against what Records says.
func sameByReader(t *testing.T, e *Entry, recs []Record, want error) {
	t.Helper()
	var r HeaderReader
	if _, err := r.Read(&Entry{Thread: "t", Generation: 1, Seq: 9, Header: seedHeaders()[0]}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		hs, err := r.Read(e)
		if (err == nil) != (want == nil) {
			t.Fatalf("a reader of headers says %v, Records %v", err, want)
		}
		for i := range recs {
			if c := recs[i].Checkpoint; c != nil {
				if len(hs) == 0 || !reflect.DeepEqual(hs[0], c) {
					t.Fatalf("headers %+v, want %+v", hs, c)
				}
				hs = hs[1:]
			}
		}
		if len(hs) > 0 {
			t.Fatalf("headers that are not there: %+v", hs)
		}
	}
}

// FuzzHeaderReader reads entries of one reader one after another, with a filter
// and without: what it keeps of one says nothing about another, and what it gave
// out stays as it was.
func FuzzHeaderReader(f *testing.F) {
	for _, h := range seedHeaders() {
		f.Add(h, h, uint64(9), "")
	}
	es := append(headerEntries(rand.New(rand.NewPCG(7, 7)), 20), alikeEntries(5)...)
	for i, e := range es[1:] {
		f.Add(es[i].Header, e.Header, e.Seq, "")
		f.Add(es[i].Header, e.Header, e.Seq, "n")
	}
	f.Fuzz(func(t *testing.T, one, other []byte, seq uint64, node string) {
		r := HeaderReader{Query: Query{Node: node}}
		var given, want []*Header
		for _, header := range [][]byte{one, other, one, one} {
			e := &Entry{Thread: "t", Generation: 1, Seq: seq, Header: header}
			e.Hash = e.Sum()
			recs, bad := e.Records()
			hs, err := r.Read(e)
			if (err == nil) != (bad == nil) {
				t.Fatalf("a reader of headers says %v, Records %v", err, bad)
			}
			given = append(given, hs...)
			for i := range recs {
				if c := recs[i].Checkpoint; c != nil && r.Query.Match(c) {
					want = append(want, c)
				}
			}
		}
		if len(given) != len(want) {
			t.Fatalf("%d headers, want %d", len(given), len(want))
		}
		for i := range given {
			if !reflect.DeepEqual(given[i], want[i]) {
				t.Fatalf("header %d is %+v, want %+v", i, given[i], want[i])
			}
		}
	})
}

func roundTrip(t *testing.T, info *ThreadInfo) {
	t.Helper()
	data, err := info.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back ThreadInfo
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatalf("a summary does not read back: %v", err)
	}
	again, _ := back.MarshalBinary()
	if !bytes.Equal(data, again) {
		t.Fatalf("summary %x, written again %x", data, again)
	}
}

func FuzzThreadInfo(f *testing.F) {
	info := &ThreadInfo{Thread: "t"}
	for i, h := range seedHeaders() {
		e := &Entry{Thread: "t", Generation: max(info.Generation, 1), Seq: uint64(i + 1), Prev: info.Link, Header: h}
		if i == 0 {
			continue // its references lead before the log
		}
		e.Seq, e.Prev = uint64(i)+8, info.Link
		e.Hash = e.Sum()
		if info.Apply(e) == nil {
			data, _ := info.MarshalBinary()
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var info ThreadInfo
		if err := info.UnmarshalBinary(data); err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if again, _ := info.MarshalBinary(); !bytes.Equal(again, data) {
			t.Fatalf("read %x, written again %x", data, again)
		}
		info.Runnable()
		info.Branch("")
	})
}

func FuzzParseCursor(f *testing.F) {
	h := &Header{Order: OrderKey{1, 2, 3}, Seq: 7}
	f.Add(h.Cursor())
	f.Add("")
	f.Add(strings.Repeat("f", 32) + "-18446744073709551615")
	f.Fuzz(func(t *testing.T, s string) {
		k, seq, err := ParseCursor(s)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		c := (&Header{Order: k, Seq: seq}).Cursor()
		if k2, seq2, err := ParseCursor(c); err != nil || k2 != k || seq2 != seq {
			t.Fatalf("%q is %v, %d; written again %q: %v", s, k, seq, c, err)
		}
	})
}

func FuzzID(f *testing.F) {
	for _, s := range []string{"", "a", "01890a5d-ac96-774b-bcce-b302099a8057", "gate-01890a5d-ac96-774b-bcce-b302099a8057", "../x", "a\x00", strings.Repeat("x", 201), "$default"} {
		f.Add(s)
	}
	valid := regexp.MustCompile(`^[A-Za-z0-9._:$-]{1,200}$`)
	f.Fuzz(func(t *testing.T, s string) {
		id := ID(s)
		err := id.Validate()
		if want := valid.MatchString(s) && !strings.HasSuffix(s, "\n"); (err == nil) != want {
			t.Fatalf("%q: %v", s, err)
		}
		if err != nil && !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
		var w fields
		w.Write(nil)
		w.id(&id)
		w.gateID(&id)
		var a, b ID
		r := fieldsOf(w.Written())
		r.id(&a)
		r.gateID(&b)
		if a != id || b != id || r.Done() != nil {
			t.Fatalf("%q reads back as %q and %q: %v", s, a, b, r.Done())
		}
		if k, ok := id.UUID(); ok && k.ID() != id {
			t.Fatalf("%q is the UUID %q", s, k.ID())
		}
	})
}

// FuzzCheckJSON compares with encoding/json: whatever is accepted decodes, and
// nests no deeper than allowed.
func FuzzCheckJSON(f *testing.F) {
	for _, s := range []string{`{}`, `[1,"a\"]",{"b":null}]`, `"` + "\xff" + `"`, strings.Repeat("[", 129) + strings.Repeat("]", 129), `{"a":"\\"}`, `nul`, `"[[["`, `\u005b`, `1 2`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := CheckJSON("value", data)
		if err != nil && !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
		depth, ok := depthOf(data)
		if want := utf8.Valid(data) && ok && depth <= MaxDepth; (err == nil) != want {
			t.Fatalf("%q: %v; valid UTF-8 %v, valid JSON %v, depth %d", data, err, utf8.Valid(data), ok, depth)
		}
	})
}

// depthOf measures the depth of valid JSON with the standard decoder.
func depthOf(data []byte) (deepest int, ok bool) {
	if !json.Valid(data) {
		return 0, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for depth := 0; ; {
		tok, err := d.Token()
		if err != nil {
			return deepest, true
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

func FuzzSplitSignature(f *testing.F) {
	f.Add(JoinSignature("ed25519:0011223344556677", make([]byte, 64)))
	f.Add([]byte{})
	f.Add([]byte{0, 1})
	f.Add([]byte{0x81, 0, 'a', 1})
	f.Fuzz(func(t *testing.T, sig []byte) {
		id, raw, err := SplitSignature(sig)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		if id == "" || len(raw) == 0 || !bytes.Equal(JoinSignature(id, raw), sig) {
			t.Fatalf("%x is %q and %x", sig, id, raw)
		}
	})
}

func FuzzHashText(f *testing.F) {
	f.Add([]byte(hex.EncodeToString(make([]byte, 32))))
	f.Add([]byte(strings.Repeat("Ab", 32)))
	f.Add([]byte("xyz"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var h Hash
		if err := h.UnmarshalText(text); err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		again, _ := h.MarshalText()
		var back Hash
		if err := back.UnmarshalText(again); err != nil || back != h {
			t.Fatalf("%q is %s, which is %s: %v", text, h, back, err)
		}
	})
}
