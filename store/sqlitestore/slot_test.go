package sqlitestore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestDamagedSlots changes and swaps the values of slots' rows: no damaged slot is served or
// overwritten. A deleted slot is among them, since its fence counts. The others are served as
// before. A row without a checksum is of an earlier version: it is served, and the next write
// gives it one.
func TestDamagedSlots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
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
	op.Verb, op.Fence = posthouse.SlotPut, 8
	get := func(i int) error {
		_, err := s.Slot(t.Context(), keys[i], posthouse.SlotOp{})
		return err
	}
	const keep = "CREATE TABLE keep AS SELECT * FROM slots"
	const back = "DELETE FROM slots; INSERT INTO slots SELECT * FROM keep"
	c := conn(t, path)
	script(t, c, keep)
	for i, key := range keys {
		for _, change := range []string{
			"revision = revision + 1", "revision = revision - 1", "fence = fence - 1", "fence = fence + 1", "sum = sum + 1", "sum = 0",
			"value = x'00'", "value = substr(value, 2)", "value = NULL",
			fmt.Sprintf("(revision, fence, value, sum) = (SELECT revision, fence, value, sum FROM keep WHERE thread <> '' AND step <> '%s' AND step <> 'gone')", key.Step),
		} {
			if key.Step == "gone" && (change == "value = NULL" || change == "value = substr(value, 2)") {
				continue // as it is
			}
			script(t, c, fmt.Sprintf("UPDATE slots SET %s WHERE thread = '%s' AND step = '%s'", change, key.Thread, key.Step))
			if err := get(i); !errors.Is(err, posthouse.ErrCorrupt) {
				t.Errorf("%v with %s: %v", key, change, err)
			}
			if _, err := s.Slot(t.Context(), key, op); !errors.Is(err, posthouse.ErrCorrupt) {
				t.Errorf("%v with %s was overwritten: %v", key, change, err)
			}
			if err := get((i + 1) % 2); errors.Is(err, posthouse.ErrCorrupt) && i != (i+1)%2 {
				t.Errorf("beside %v with %s: %v", key, change, err)
			}
			script(t, c, back)
		}
	}
	script(t, c, "UPDATE slots SET sum = NULL")
	for i := range keys[:2] {
		if err := get(i); err != nil {
			t.Errorf("without a checksum: %v", err)
		}
	}
	if _, err := s.Slot(t.Context(), keys[0], op); err != nil {
		t.Fatal(err)
	}
	script(t, c, "DROP TABLE keep")
	if n := value(t, c, "SELECT count(*) FROM slots WHERE sum IS NOT NULL"); n != "1" {
		t.Errorf("%s slots have a checksum", n)
	}
}
