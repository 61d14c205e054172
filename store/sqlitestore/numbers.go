package sqlitestore

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/posthouse/posthouse"
)

// Numbers the store keeps for itself, as slots of the thread that has no name.
const (
	numberEntries = "entries" // the highest id an entry had, once the newest were removed
	numberPacks   = "packs"   // the highest id a pack had, once packs were removed
	numberUUID7   = "odd"     // 1: ids has a version 7 UUID
)

func (w *writer) setNumber(name string, n int64) error {
	_, err := w.putSlot(posthouse.SlotKey{Step: name}, slotRow{Slot: posthouse.Slot{Revision: uint64(n)}})
	return err
}

// last returns the highest id there ever was, by qLastEntry or qLastPack.
func (c *conn) last(statement int) (int64, error) {
	stmt, err := c.stmt(statement)
	if err != nil {
		return 0, err
	}
	if _, err := stmt.Step(); err != nil {
		return 0, err
	}
	return stmt.ColumnInt64(0), stmt.Reset()
}

// coordinationKey stands for a coordination's name in the index. Two names may
// share one: what the index leads to is always held against the name itself.
func coordinationKey(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:])>>1 | 1) // never 0, which is for all
}
