package redisstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/redisstore"
)

// TestDamagedSlots flips each bit of slots, sets each byte to what other slots begin with,
// cuts them off and swaps them: no damaged slot is served or overwritten. A deleted slot
// is among them, since its fence counts. The others are served as before.
func TestDamagedSlots(t *testing.T) {
	s, c := open(t, redisstore.Options{}), connect(t, redistest.URL(t))
	keys := []posthouse.SlotKey{{Thread: "t", Step: "a"}, {Thread: "t", Step: "b"}, {Thread: "u", Step: "a"}, {Thread: "u", Step: "gone"}}
	for i, key := range keys {
		op := posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Fence: 7, Value: fmt.Appendf(nil, "value %d", i)}
		if _, err := s.Slot(t.Context(), key, op); err != nil {
			t.Fatal(err)
		}
		op.Verb = posthouse.SlotDelete
		if key.Step == "gone" {
			if _, err := s.Slot(t.Context(), key, op); err != nil {
				t.Fatal(err)
			}
		}
	}
	place := func(key posthouse.SlotKey) string { return "{" + prefixOf(t.Name()) + "}:slots:" + key.Thread }
	values := make([]string, len(keys))
	for i, key := range keys {
		m := do(t, c, "HGET", place(key), key.Step)
		values[i], _ = m.ToString()
	}
	put := func(i int, value string) { do(t, c, "HSET", place(keys[i]), keys[i].Step, value) }
	damaged := func(i int, what string) {
		t.Helper()
		if got, err := s.Slot(t.Context(), keys[i], posthouse.SlotOp{}); !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("keys[i] %v, what %s, got %+v, error %v", keys[i], what, got, err)
		}
		var err error
		for _, e := range s.Slots(t.Context(), keys[i].Thread) {
			err = errors.Join(err, e)
		}
		if !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("%v, %s: listed: %v", keys[i], what, err)
		}
	}
	for i, v := range values {
		for at := range len(v) {
			changes := []byte{'0', '1', 'S', 'D', 0, 0xff}
			for bit := range 8 {
				changes = append(changes, v[at]^1<<bit)
			}
			for _, to := range changes {
				if to != v[at] {
					put(i, v[:at]+string([]byte{to})+v[at+1:])
					damaged(i, fmt.Sprintf("byte %d is %#x", at, to))
				}
			}
			if at > 0 { // no text at all is a slot that was never written
				put(i, v[:at])
				damaged(i, fmt.Sprintf("cut off at %d", at))
			}
		}
		op := posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Fence: 8}
		if _, err := s.Slot(t.Context(), keys[i], op); !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("%v was overwritten: %v", keys[i], err)
		}
		for j, w := range values {
			if j != i {
				put(i, w)
				damaged(i, fmt.Sprint("has the value of ", keys[j]))
				if _, err := s.Slot(t.Context(), keys[j], posthouse.SlotOp{}); errors.Is(err, posthouse.ErrCorrupt) {
					t.Errorf("%v beside it: %v", keys[j], err)
				}
			}
		}
		put(i, v)
	}
}

// TestSlotsOfFormat1 have no checksum: they are served, and the next write gives them one.
// A store of format 1 opens, and for writing becomes one that older programs refuse.
func TestSlotsOfFormat1(t *testing.T) {
	open(t, redisstore.Options{})
	c := connect(t, redistest.URL(t))
	prefix := "{" + prefixOf(t.Name()) + "}:"
	do(t, c, "HSET", prefix+"meta", "format", "1")
	do(t, c, "HSET", prefix+"slots:t", "a", "1\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x07old")
	format := func() string {
		m := do(t, c, "HGET", prefix+"meta", "format")
		text, _ := m.ToString()
		return text
	}
	key := posthouse.SlotKey{Thread: "t", Step: "a"}
	for _, readOnly := range []bool{true, false} {
		if format() != "1" {
			t.Error("opening for reading changed the format")
		}
		s := open(t, redisstore.Options{ReadOnly: readOnly})
		got, err := s.Slot(t.Context(), key, posthouse.SlotOp{})
		if err != nil || got.Revision != 3 || got.Fence != 7 || string(got.Value) != "old" {
			t.Fatalf("read only %v: %+v, %v", readOnly, got, err)
		}
		if readOnly {
			continue
		}
		if _, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: 3, Fence: 7, Value: []byte("new")}); err != nil {
			t.Fatal(err)
		}
		m := do(t, c, "HGET", prefix+"slots:t", "a")
		if text, _ := m.ToString(); len(text) < 2 || text[:2] != "S\xff" {
			t.Errorf("written again it has no checksum: %q", text)
		}
	}
	if format() != "2" {
		t.Errorf("the format is %s", format())
	}
}
