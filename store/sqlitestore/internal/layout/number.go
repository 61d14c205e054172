package layout

import (
	"crypto/sha256"
	"encoding/binary"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
)

// Names of the store's own numbers, which are slots of the thread without a name.
const (
	NumberEntries = "entries" // the highest id an entry had, once the newest were removed
	NumberPacks   = "packs"   // the highest id a pack had, once packs were removed
	NumberUUID7   = "odd"     // 1: table ids has a version 7 UUID
)

// SetNumber stores a number.
func SetNumber(c *db.Conn, name string, n int64) error { return c.Run(qSetNumber, name, n) }

// HasUUID7 reports whether table ids has a version 7 UUID.
func HasUUID7(c *db.Conn) (bool, error) { return c.Has(qHasNumber, NumberUUID7) }

// LastEntry returns the highest id that an entry ever had.
func LastEntry(c *db.Conn) (int64, error) { return c.Number(qLastEntry) }

// LastPack returns the highest id that a pack ever had.
func LastPack(c *db.Conn) (int64, error) { return c.Number(qLastPack) }

// NextThread returns the first thread id above another, 0 at the end. [posthouse.ErrCorrupt]
// if the table is out of order, where it would go round for ever.
func NextThread(c *db.Conn, after int64) (id int64, err error) {
	found, err := c.Row(qNextThread, func(stmt *sqlite.Stmt) { id = stmt.ColumnInt64(0) }, after)
	if found && id <= after {
		return 0, OutOfOrder("threads")
	}
	return id, err
}

// CoordinationKey returns the number of a coordination's name in the index. Two names
// may share one, so readers compare the name of what the index leads to.
func CoordinationKey(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:])>>1 | 1) // never 0, which is the key of all coordinations
}
