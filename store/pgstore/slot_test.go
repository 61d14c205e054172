package pgstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/pgstore"
)

// TestDamagedSlots flips bits of each value of slots' rows, cuts values off and swaps rows:
// no damaged slot is served or overwritten. A deleted slot is among them, since its fence
// counts. The others are served as before. A row without a checksum is of an earlier
// version: it is served, and the next write gives it one.
func TestDamagedSlots(t *testing.T) {
	s, c := open(t, pgstore.Options{}), connect(t, pgtest.URL(t))
	keys := []posthouse.SlotKey{{Thread: "t", Step: "a"}, {Thread: "t", Step: "b"}, {Thread: "u", Step: "gone"}}
	op := posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Fence: 7}
	for i, key := range keys {
		op.Value, op.Verb = fmt.Appendf(nil, "value %d", i), posthouse.SlotPut
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
	type row struct {
		revision, fence int64
		value, sum      []byte
	}
	rows := make([]row, len(keys))
	for i, key := range keys {
		r := &rows[i]
		const get = "SELECT revision, fence, value, sum FROM posthouse.slots WHERE thread = $1 AND step = $2"
		if err := c.QueryRow(t.Context(), inSchema(t, get), []byte(key.Thread), []byte(key.Step)).Scan(&r.revision, &r.fence, &r.value, &r.sum); err != nil {
			t.Fatal(err)
		}
	}
	put := func(i int, r row) {
		t.Helper()
		const set = "UPDATE posthouse.slots SET revision = $3, fence = $4, value = $5, sum = $6 WHERE thread = $1 AND step = $2"
		if _, err := c.Exec(t.Context(), inSchema(t, set), []byte(keys[i].Thread), []byte(keys[i].Step), r.revision, r.fence, r.value, r.sum); err != nil {
			t.Fatal(err)
		}
	}
	damaged := func(i int, what string, r row) {
		t.Helper()
		put(i, r)
		if got, err := s.Slot(t.Context(), keys[i], posthouse.SlotOp{}); !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("keys[i] %v, what %s, got %+v, error %v", keys[i], what, got, err)
		}
		var err error
		for _, e := range s.Slots(t.Context(), keys[i].Thread) {
			err = errors.Join(err, e)
		}
		if r.value != nil && !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("%v, %s: listed: %v", keys[i], what, err)
		}
	}
	for i, have := range rows {
		for bit := range 63 {
			r := have
			r.revision ^= 1 << bit
			damaged(i, "another revision", r)
			r = have
			r.fence ^= 1 << bit
			damaged(i, "another fence", r)
		}
		for at := range len(have.value) * 8 {
			r := have
			r.value = bytes.Clone(have.value)
			r.value[at/8] ^= 1 << (at % 8)
			damaged(i, fmt.Sprintf("bit %d of the value", at), r)
			r.value = have.value[:at/8]
			damaged(i, "cut off", r)
		}
		for at := range len(have.sum) * 8 {
			r := have
			r.sum = bytes.Clone(have.sum)
			r.sum[at/8] ^= 1 << (at % 8)
			damaged(i, fmt.Sprintf("bit %d of the checksum", at), r)
		}
		for j, other := range rows {
			if j != i {
				damaged(i, fmt.Sprint("has the row of ", keys[j]), other)
				if _, err := s.Slot(t.Context(), keys[j], posthouse.SlotOp{}); errors.Is(err, posthouse.ErrCorrupt) {
					t.Errorf("%v beside it: %v", keys[j], err)
				}
			}
		}
		op.Verb, op.Fence = posthouse.SlotPut, 8
		if _, err := s.Slot(t.Context(), keys[i], op); !errors.Is(err, posthouse.ErrCorrupt) {
			t.Errorf("%v was overwritten: %v", keys[i], err)
		}
		put(i, have)
	}
	for i, have := range rows { // nor one that is damaged after it was read
		for what, damage := range map[string]func(*row){
			"revision": func(r *row) { r.revision ^= 4 },
			"fence":    func(r *row) { r.fence ^= 4 },
			"value":    func(r *row) { r.value = append(bytes.Clone(r.value), 'x') },
			"checksum": func(r *row) { r.sum = []byte{1, 2, 3, 4} },
		} {
			put(i, have)
			if _, err := s.Slot(t.Context(), keys[i], posthouse.SlotOp{}); errors.Is(err, posthouse.ErrCorrupt) {
				t.Fatal(err)
			}
			r := have
			damage(&r)
			put(i, r)
			if _, err := s.Slot(t.Context(), keys[i], op); !errors.Is(err, posthouse.ErrCorrupt) {
				t.Errorf("%v with another %s was overwritten after it was read: %v", keys[i], what, err)
			}
			put(i, have)
		}
	}
	old := rows[0]
	old.sum = nil
	put(0, old)
	if got, err := s.Slot(t.Context(), keys[0], posthouse.SlotOp{}); err != nil || !bytes.Equal(got.Value, old.value) {
		t.Errorf("without a checksum: %+v, %v", got, err)
	}
	if _, err := s.Slot(t.Context(), keys[0], op); err != nil {
		t.Fatal(err)
	}
	if n := run(t, c, "UPDATE posthouse.slots SET sum = sum WHERE sum IS NOT NULL"); int(n) != len(keys) {
		t.Errorf("%d of %d slots have a checksum", n, len(keys))
	}
}

// TestSlotsOfTwoStores has two stores write one slot in turn: each depends on what the other
// wrote, whatever it has read before.
func TestSlotsOfTwoStores(t *testing.T) {
	stores := []*pgstore.Store{open(t, pgstore.Options{}), open(t, pgstore.Options{})}
	key := posthouse.SlotKey{Thread: "t", Step: "s"}
	for n := range uint64(20) {
		for i, s := range stores {
			have, err := s.Slot(t.Context(), key, posthouse.SlotOp{})
			if err != nil && !errors.Is(err, posthouse.ErrNotFound) || have.Revision != n {
				t.Fatalf("store %d reads revision %d, %v, want %d", i, have.Revision, err, n)
			}
		}
		op := posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: n, Fence: n + 1, Value: fmt.Appendf(nil, "%d", n)}
		first, second := stores[n%2], stores[1-n%2]
		if have, err := first.Slot(t.Context(), key, op); err != nil || have.Revision != n+1 || have.Fence != n+1 {
			t.Fatalf("the first write made %+v, %v", have, err)
		}
		if _, err := second.Slot(t.Context(), key, op); !errors.Is(err, posthouse.ErrConflict) {
			t.Errorf("a write to a slot that has changed: %v", err)
		}
		if n == 0 {
			continue // there is no older fence
		}
		op.Revision, op.Fence = n+1, n
		if _, err := second.Slot(t.Context(), key, op); !errors.Is(err, posthouse.ErrFenced) {
			t.Errorf("a write under an older fence: %v", err)
		}
	}
}
