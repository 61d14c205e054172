// Package slotsum is the checksum that stores keep with a slot. It finds damage and
// swapped slots; it does not stop anyone who can write to the store.
//
// Stores keep the sums, so what they cover never changes.
package slotsum

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/posthouse/posthouse"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Of returns the CRC-32C of a slot: its revision, fence, key and value, and there, which
// reports whether it has a value. One that was deleted keeps revision and fence.
func Of(key posthouse.SlotKey, slot *posthouse.Slot, there bool) uint32 {
	b := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, slot.Revision), slot.Fence)
	b = append(append(append(b, key.Thread...), 0), key.Step...)
	if there {
		b = append(b, 1)
	}
	return crc32.Update(crc32.Checksum(b, castagnoli), castagnoli, slot.Value)
}
