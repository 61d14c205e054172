package layout

import (
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
)

// gateMark is the first byte of a gate's key.
const gateMark = 0xff

// A Key is an id as the ids table keeps it: 16 bytes for a UUID, 17 for
// gate-UUID, the text itself for any other id.
type Key struct {
	blob [17]byte
	n    int // of blob; 0: text
	text string
}

// KeyOf returns the key of an id.
func KeyOf(id posthouse.ID) (k Key) {
	if u, ok := uuidOf(id); ok {
		copy(k.blob[:], u[:])
		k.n = 16
		return k
	}
	if rest, ok := strings.CutPrefix(string(id), posthouse.GatePrefix); ok {
		if u, ok := uuidOf(posthouse.ID(rest)); ok {
			k.blob[0] = gateMark
			copy(k.blob[1:], u[:])
			k.n = 17
			return k
		}
	}
	return Key{text: string(id)}
}

// uuidOf returns the bytes of a canonical lower-case UUID of any version.
func uuidOf(id posthouse.ID) (posthouse.OrderKey, bool) {
	u, ok := id.UUID()
	return u, ok || len(id) == 36 && u.ID() == id
}

// Param returns the key as a parameter of a statement. It is valid while k does not change.
func (k *Key) Param() db.Key {
	if k.n > 0 {
		return db.Key{Blob: k.blob[:k.n]}
	}
	return db.Key{Text: k.text}
}

// Ordered reports whether the id is a version 7 UUID that is its own order key.
func (k *Key) Ordered(o posthouse.OrderKey) bool {
	return k.IsV7() && posthouse.OrderKey(k.blob[:16]) == o
}

// IsV7 reports whether the id is a version 7 UUID.
func (k *Key) IsV7() bool { return k.n == 16 && k.blob[6]>>4 == 7 }

// ScanKey reads what [Key.Param] wrote.
func ScanKey(stmt *sqlite.Stmt, col int) (k Key) {
	if stmt.ColumnType(col) == sqlite.TypeText {
		return Key{text: stmt.ColumnText(col)}
	}
	k.n = stmt.ColumnBytes(col, k.blob[:])
	return k
}

// ID returns the id that [KeyOf] was given.
func (k *Key) ID() posthouse.ID {
	switch k.n {
	case 16:
		return posthouse.OrderKey(k.blob[:16]).ID()
	case 17:
		return posthouse.GatePrefix + posthouse.OrderKey(k.blob[1:]).ID()
	}
	return posthouse.ID(k.text)
}
