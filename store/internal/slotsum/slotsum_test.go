package slotsum_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/slotsum"
)

// TestOf holds the sum of one slot, which stores keep, and looks what it covers.
func TestOf(t *testing.T) {
	key := posthouse.SlotKey{Thread: "t", Step: "s"}
	slot := posthouse.Slot{Revision: 3, Fence: 7, Value: []byte("value")}
	sum := slotsum.Of(key, &slot, true)
	if sum != 0xcf706ccd {
		t.Errorf("the sum is %#x, unlike those that are stored", sum)
	}
	for what, other := range map[string]uint32{
		"thread":   slotsum.Of(posthouse.SlotKey{Thread: "u", Step: "s"}, &slot, true),
		"step":     slotsum.Of(posthouse.SlotKey{Thread: "t", Step: "r"}, &slot, true),
		"revision": slotsum.Of(key, &posthouse.Slot{Revision: 4, Fence: 7, Value: slot.Value}, true),
		"fence":    slotsum.Of(key, &posthouse.Slot{Revision: 3, Fence: 6, Value: slot.Value}, true),
		"value":    slotsum.Of(key, &posthouse.Slot{Revision: 3, Fence: 7, Value: []byte("valuf")}, true),
		"there":    slotsum.Of(key, &slot, false),
	} {
		if other == sum {
			t.Errorf("a slot with another %s has the same sum", what)
		}
	}
}
