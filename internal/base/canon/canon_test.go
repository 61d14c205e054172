package canon_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/posthouse/posthouse/internal/base/canon"
)

func TestRoundTrip(t *testing.T) {
	m := map[string]string{"b": "2", "a": "1", "": "empty"}
	var b []byte
	for _, u := range []uint64{0, 1, 127, 128, math.MaxUint64} {
		b = canon.AppendUint(b, u)
	}
	for _, i := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64} {
		b = canon.AppendInt(b, i)
	}
	b = canon.AppendString(b, "text")
	b = canon.AppendBytes(b, []byte{0, 255})
	b = canon.AppendStrings(b, []string{"x", "", "y"})
	b = canon.AppendMap(b, m)
	b = canon.AppendMap(b, nil)
	b = append(b, 7)

	r := canon.NewReader(b)
	for _, u := range []uint64{0, 1, 127, 128, math.MaxUint64} {
		if got := r.Uint(); got != u {
			t.Errorf("uint %d, want %d", got, u)
		}
	}
	for _, i := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64} {
		if got := r.Int(); got != i {
			t.Errorf("int %d, want %d", got, i)
		}
	}
	if s, p := r.String(), r.Bytes(); s != "text" || !bytes.Equal(p, []byte{0, 255}) {
		t.Errorf("string %q, bytes %v", s, p)
	}
	if ss := r.Strings(); len(ss) != 3 || ss[0] != "x" || ss[1] != "" || ss[2] != "y" {
		t.Errorf("strings %q", ss)
	}
	if got := r.Map(); !maps.Equal(got, m) {
		t.Errorf("map %v", got)
	}
	if got := r.Map(); got != nil {
		t.Errorf("an empty map is %v", got)
	}
	if c := r.Byte(); c != 7 || r.Len() != 0 || r.Done() != nil {
		t.Errorf("byte %d, %d left, %v", c, r.Len(), r.Done())
	}
}

func TestReaderRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		read func(*canon.Reader)
	}{
		"empty":                {nil, func(r *canon.Reader) { r.Byte() }},
		"left over":            {[]byte{1, 2}, func(r *canon.Reader) { r.Byte() }},
		"varint cut":           {[]byte{0x80}, func(r *canon.Reader) { r.Uint() }},
		"varint not minimal":   {[]byte{0x80, 0}, func(r *canon.Reader) { r.Uint() }},
		"varint too long":      {bytes.Repeat([]byte{0xff}, 11), func(r *canon.Reader) { r.Uint() }},
		"count beyond the end": {[]byte{200, 1, 0}, func(r *canon.Reader) { r.Count() }},
		"string beyond":        {[]byte{3, 'a', 'b'}, func(r *canon.Reader) { _ = r.String() }},
		"raw beyond":           {[]byte{3}, func(r *canon.Reader) { r.Raw(2) }},
		"raw negative":         {[]byte{3}, func(r *canon.Reader) { r.Raw(-1) }},
		"list cut":             {[]byte{2, 1, 'a'}, func(r *canon.Reader) { r.Strings() }},
		"keys out of order":    {[]byte{2, 1, 'b', 0, 1, 'a', 0}, func(r *canon.Reader) { r.Map() }},
		"a key twice":          {[]byte{2, 1, 'a', 0, 1, 'a', 0}, func(r *canon.Reader) { r.Map() }},
		"a caller's complaint": {[]byte{1}, func(r *canon.Reader) { r.Byte(); r.Fail("%d is too many", 1); r.Fail("later") }},
	} {
		r := canon.NewReader(c.data)
		c.read(r)
		if err := r.Done(); !errors.Is(err, canon.ErrMalformed) {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
		before := r.Err()
		r.Uint()
		r.Byte()
		if r.Raw(0) != nil || r.Err() != before {
			t.Errorf("%s: the first error does not stick", name)
		}
	}
}

// TestHostileCountsCostNothing reads counts that promise more than there is.
func TestHostileCountsCostNothing(t *testing.T) {
	data := canon.AppendUint(nil, 1<<20)
	data = append(data, bytes.Repeat([]byte{0xff}, 1<<20)...) // items that do not decode
	items := 0
	r := canon.NewReader(data)
	for range r.Items() {
		items++
		r.Uint()
	}
	if items != 1 || r.Err() == nil {
		t.Errorf("%d items were read after the first error", items-1)
	}
	if n := testing.AllocsPerRun(10, func() { canon.NewReader(data).Strings() }); n > 20 {
		t.Errorf("%v allocations for a list that is not there", n)
	}
}

func TestReaderShares(t *testing.T) {
	var shared canon.Strings
	long := string(bytes.Repeat([]byte("l"), 100))
	b := canon.AppendStrings(nil, []string{"a", "", "b", long})
	for range 2 { // the second time most are remembered
		for _, b := range [][]byte{b, canon.AppendStrings(nil, []string{"c", "a", "ab"})} {
			var r, plain canon.Reader
			r.Reset(b, &shared)
			plain.Reset(bytes.Clone(b), nil)
			if got, want := r.Strings(), plain.Strings(); !slices.Equal(got, want) || r.Done() != nil {
				t.Errorf("strings %q, want %q: %v", got, want, r.Done())
			}
		}
	}
	var r canon.Reader
	if n := testing.AllocsPerRun(10, func() {
		r.Reset(b[1:3], &shared)
		_ = r.String()
	}); n > 0 {
		t.Errorf("%v allocations for a string that is known", n)
	}
	for i := range b {
		b[i] = 'x' // what was read is no part of the input
	}
	r.Reset([]byte{1, 'a'}, &shared)
	if s := r.String(); s != "a" {
		t.Errorf("the string a became %q", s)
	}
}

func TestReaderConsumes(t *testing.T) {
	r := canon.NewReader([]byte{1, 2, 3})
	if r.Consume([]byte{2}) || !r.Consume([]byte{1, 2}) || r.Consume([]byte{3, 4}) || !bytes.Equal(r.Rest(), []byte{3}) {
		t.Errorf("%v is left", r.Rest())
	}
	r.Fail("enough")
	if r.Consume([]byte{3}) || len(r.Rest()) > 0 || r.Len() != 0 {
		t.Error("something is left after an error")
	}
}

func TestUints(t *testing.T) {
	want := []uint64{0, 127, 128, math.MaxUint64, 5}
	var b []byte
	for _, u := range want {
		b = canon.AppendUint(b, u)
	}
	got := make([]uint64, len(want))
	r := canon.NewReader(b)
	if r.Uints(got); !slices.Equal(got, want) || r.Done() != nil {
		t.Errorf("%v, want %v: %v", got, want, r.Done())
	}
	r = canon.NewReader(b[:3])
	if r.Uints(got); !slices.Equal(got, []uint64{0, 127, 0, 0, 0}) || !errors.Is(r.Done(), canon.ErrMalformed) {
		t.Errorf("%v and %v of what is cut short", got, r.Done())
	}
}

func TestItemsCanBeLeft(t *testing.T) {
	r := canon.NewReader([]byte{3, 'a', 'b', 'c'})
	for i := range r.Items() {
		if r.Byte() == 'b' && i == 1 {
			break
		}
	}
	if r.Byte() != 'c' || r.Done() != nil {
		t.Errorf("left early: %v", r.Err())
	}
}

func TestHash(t *testing.T) {
	want := sha256.Sum256([]byte("\x01d\x02ab\x00"))
	if got := canon.Hash("d", []byte("ab"), nil); got != want {
		t.Errorf("hash %x, want %x", got, want)
	}
	seen := map[[32]byte]string{}
	for name, h := range map[string][32]byte{
		"one part": canon.Hash("d", []byte("ab")), "split": canon.Hash("d", []byte("a"), []byte("b")),
		"shifted": canon.Hash("da", []byte("b")), "none": canon.Hash("d"), "empty": canon.Hash("d", nil),
		"large": canon.Hash("d", make([]byte, 1000)),
	} {
		if other := seen[h]; other != "" {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
}

// FuzzReader drives a reader by the input: the first half says what to read.
// The test writes what it read, and must get the same bytes.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5}, []byte{1, 2, 3})
	f.Add([]byte{5, 5}, []byte{2, 1, 'a', 1, 'b', 1, 'c', 0, 0})
	f.Add([]byte{4, 2, 1}, []byte{2, 1, 'x', 0, 0xff, 0xff, 3, 5})
	f.Add([]byte{1}, []byte{0x80, 0})
	f.Fuzz(func(t *testing.T, ops, data []byte) {
		r := canon.NewReader(data)
		var out []byte
		for _, op := range ops {
			switch op % 6 {
			case 0:
				out = append(out, r.Byte())
			case 1:
				out = canon.AppendUint(out, r.Uint())
			case 2:
				out = canon.AppendInt(out, r.Int())
			case 3:
				out = canon.AppendBytes(out, r.Bytes())
			case 4:
				out = canon.AppendStrings(out, r.Strings())
			case 5:
				out = canon.AppendMap(out, r.Map())
			}
			if r.Err() != nil {
				break
			}
			if read := data[:len(data)-r.Len()]; !bytes.Equal(out, read) {
				t.Fatalf("read %x, written again %x", read, out)
			}
		}
		if err := r.Done(); err != nil && !errors.Is(err, canon.ErrMalformed) {
			t.Fatal(err)
		}
	})
}
