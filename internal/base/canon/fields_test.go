package canon_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// everything has a field of each kind.
type everything struct {
	Octet    byte
	Flags    [2]bool
	Number   uint64
	Numbers  [2]uint64
	Number32 uint32
	Total    int
	Signed   int64
	Size     int
	Text     string
	Texts    []string
	Map      map[string]string
	Hash     [32]byte
	At, None time.Time
	Exact    time.Time
	Usual    [2]string
	Kinds    [3]string
	Hashes   [2][32]byte
	Marks    []uint64
	Code     string
	List     []int
}

func (e *everything) fields(f *canon.Fields) {
	f.Octet(&e.Octet)
	f.Flag(&e.Flags[0])
	f.Flag(&e.Flags[1])
	f.Number(&e.Number)
	f.Numbers(e.Numbers[:])
	f.Number32(&e.Number32)
	f.Total(&e.Total)
	canon.Signed(f, &e.Signed)
	f.Size(&e.Size)
	f.Text(&e.Text)
	f.Texts(&e.Texts)
	f.TextMap(&e.Map)
	f.Fixed(e.Hash[:])
	f.Moment(&e.At)
	f.Moment(&e.None)
	f.Nanos(&e.Exact)
	for i := range e.Usual {
		f.Usually(&e.Usual[i], "main", "main")
	}
	for i := range e.Kinds {
		f.CodeOrText(&e.Kinds[i], []string{"a", "b"}, "a kind")
	}
	for i := range e.Hashes {
		f.OptionalHash(&e.Hashes[i], "hash")
	}
	f.Ascending(&e.Marks, "marks")
	canon.Code(f, &e.Code, []string{"a", "b"})
	canon.List(f, &e.List, f.Size)
}

func TestFieldsReadWhatTheyWrote(t *testing.T) {
	want := everything{
		Octet: 7, Flags: [2]bool{true, false}, Number: 1 << 60, Numbers: [2]uint64{5, 300}, Number32: 1<<32 - 1, Total: 9, Signed: -3, Size: canon.MaxSize,
		Text: "text", Texts: []string{"x", ""}, Map: map[string]string{"k": "v"}, Hash: [32]byte{1, 31: 2}, At: time.UnixMilli(1700000000123).UTC(),
		Exact: time.Unix(1700000000, 123456789).UTC(), Usual: [2]string{"main", "other"}, Kinds: [3]string{"a", "b", "c"},
		Hashes: [2][32]byte{{}, {1}}, Marks: []uint64{0, 1, 1 << 63},
		Code: "b", List: []int{4, 5, 6},
	}
	var w canon.Fields
	w.Write([]byte("before"))
	want.fields(&w)
	b, ok := bytes.CutPrefix(w.Written(), []byte("before"))
	if !ok || !w.Writing() {
		t.Fatalf("%q does not begin with what was there", w.Written())
	}
	var r canon.Fields
	r.Reset(b, nil)
	var got everything
	if got.fields(&r); r.Done() != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read %+v, want %+v: %v", got, want, r.Done())
	}
	for n := range b {
		r.Reset(b[:n], nil)
		var cut everything
		if cut.fields(&r); !errors.Is(r.Done(), canon.ErrMalformed) {
			t.Errorf("%d of %d bytes read as %+v", n, len(b), cut)
		}
	}
}

func TestFieldsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		read func(f *canon.Fields)
	}{
		"a flag of 2":              {[]byte{2}, func(f *canon.Fields) { f.Flag(new(bool)) }},
		"33 bits":                  {canon.AppendUint(nil, 1<<32), func(f *canon.Fields) { f.Number32(new(uint32)) }},
		"a total of 33 bits":       {canon.AppendUint(nil, 1<<32), func(f *canon.Fields) { f.Total(new(int)) }},
		"more than the limit":      {canon.AppendUint(nil, canon.MaxSize+1), func(f *canon.Fields) { f.Size(new(int)) }},
		"a time beyond JSON's":     {canon.AppendUint(nil, canon.MaxMillis+1), func(f *canon.Fields) { f.Moment(new(time.Time)) }},
		"the usual text":           {canon.AppendString(nil, "main"), func(f *canon.Fields) { f.Usually(new(string), "main", "main") }},
		"a text that has a code":   {append([]byte{1}, canon.AppendString(nil, "a")...), func(f *canon.Fields) { f.CodeOrText(new(string), []string{"a"}, "a kind") }},
		"no text for a code":       {[]byte{1, 0}, func(f *canon.Fields) { f.CodeOrText(new(string), []string{"a"}, "a kind") }},
		"a code beyond its texts":  {[]byte{2}, func(f *canon.Fields) { f.CodeOrText(new(string), []string{"a"}, "a kind") }},
		"no hash in its long form": {append([]byte{1}, make([]byte, 32)...), func(f *canon.Fields) { f.OptionalHash(new([32]byte), "hash") }},
		"equal marks":              {append([]byte{2}, make([]byte, 16)...), func(f *canon.Fields) { f.Ascending(new([]uint64), "marks") }},
		"a code beyond the table":  {[]byte{1}, func(f *canon.Fields) { canon.Code(f, new(string), []string{"a"}) }},
		"a list that is cut short": {[]byte{2, 1}, func(f *canon.Fields) { canon.List(f, new([]int), f.Size) }},
	} {
		var f canon.Fields
		f.Reset(c.data, nil)
		if c.read(&f); !errors.Is(f.Done(), canon.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, f.Done())
		}
	}
}

// TestValueWithoutCode writes a value that the table does not have: it does not read.
func TestValueWithoutCode(t *testing.T) {
	var w, r canon.Fields
	w.Write(nil)
	v := "c"
	canon.Code(&w, &v, []string{"a", "b"})
	r.Reset(w.Written(), nil)
	if canon.Code(&r, &v, []string{"a", "b"}); r.Done() == nil || v != "" {
		t.Errorf("a value without a code reads as %q", v)
	}
}

// TestListReusesMemory reads items into what a slice held before.
func TestListReusesMemory(t *testing.T) {
	items := []int{8, 9}[:0]
	var f canon.Fields
	f.Reset([]byte{2, 1, 2}, nil)
	seen := 0
	canon.List(&f, &items, func(n *int) {
		seen += *n
		f.Size(n)
	})
	if seen != 17 || items[0] != 1 || items[1] != 2 {
		t.Errorf("read %v over items that add up to %d, want 17", items, seen)
	}
}

func TestEarliestMomentIsAfterTheEpoch(t *testing.T) {
	var w, r canon.Fields
	w.Write(nil)
	at := time.UnixMilli(0)
	w.Moment(&at)
	r.Reset(w.Written(), nil)
	if r.Moment(&at); at.UnixMilli() != 1 {
		t.Errorf("the epoch reads as %v", at)
	}
}

func TestUintAt(t *testing.T) {
	for _, want := range []uint64{0, 1, 127, 128, 1 << 40} {
		b := canon.AppendUint([]byte{9}, want)
		if v, next := canon.UintAt(b, 1); v != want || next != len(b) {
			t.Errorf("%d reads as %d up to byte %d of %d", want, v, next, len(b))
		}
	}
	for name, b := range map[string][]byte{"nothing": {}, "cut short": {0x80}, "not minimal": {0x80, 0}, "too long": bytes.Repeat([]byte{0xff}, 10)} {
		if v, next := canon.UintAt(b, 0); next < canon.Beyond {
			t.Errorf("%s reads as %d", name, v)
		}
	}
}
