package layout

import (
	"crypto/sha256"
	"encoding/binary"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
)

// Numbers the store keeps for itself, as slots of the thread that has no name.
const (
	NumberEntries = "entries" // the highest id an entry had, once the newest were removed
	NumberPacks   = "packs"   // the highest id a pack had, once packs were removed
	NumberUUID7   = "odd"     // 1: ids has a version 7 UUID
)

// SetNumber keeps a number.
func SetNumber(c *db.Conn, name string, n int64) error { return c.Run(qSetNumber, name, n) }

// HasUUID7 reports whether a version 7 UUID is in ids.
func HasUUID7(c *db.Conn) (bool, error) { return c.Has(qHasNumber, NumberUUID7) }

// LastEntry returns the highest id that an entry ever had.
func LastEntry(c *db.Conn) (int64, error) { return c.Number(qLastEntry) }

// LastPack returns the highest id that a pack ever had.
func LastPack(c *db.Conn) (int64, error) { return c.Number(qLastPack) }

// NextThread returns the number of the first thread behind another, 0 at the end.
func NextThread(c *db.Conn, after int64) (id int64, err error) {
	_, err = c.Row(qNextThread, func(stmt *sqlite.Stmt) { id = stmt.ColumnInt64(0) }, after)
	return id, err
}

// CoordinationKey stands for a coordination's name in the index. Two names may
// share one: what the index leads to is always held against the name itself.
func CoordinationKey(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:])>>1 | 1) // never 0, which is for all
}
