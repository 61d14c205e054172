package sqlitestore

import (
	"encoding/hex"

	"github.com/posthouse/posthouse"
	"zombiezen.com/go/sqlite"
)

// gateMark is the first byte of a gate's key.
const gateMark = 0xff

const gatePrefix = "gate-"

// A key is an id as the ids table keeps it: 16 bytes for a UUID, 17 for
// gate-UUID, the text itself for any other id.
type key struct {
	blob [17]byte
	n    int // of blob; 0: text
	text string
}

func keyOf(id posthouse.ID) (k key) {
	s := string(id)
	if len(s) == 36 && parseUUID(k.blob[:16], s) {
		k.n = 16
		return k
	}
	if len(s) == 41 && s[:5] == gatePrefix && parseUUID(k.blob[1:], s[5:]) {
		k.blob[0], k.n = gateMark, 17
		return k
	}
	return key{text: s}
}

func (k *key) bind(stmt *sqlite.Stmt, param int) {
	if k.n > 0 {
		stmt.BindBytes(param, k.blob[:k.n])
	} else {
		stmt.BindText(param, k.text)
	}
}

// ordered reports whether the id is a version 7 UUID and its own order key.
func (k *key) ordered(o posthouse.OrderKey) bool {
	return k.isV7() && posthouse.OrderKey(k.blob[:16]) == o
}

func (k *key) isV7() bool { return k.n == 16 && k.blob[6]>>4 == 7 }

// scanKey reads back what bind wrote.
func scanKey(stmt *sqlite.Stmt, col int) (k key) {
	if stmt.ColumnType(col) == sqlite.TypeText {
		return key{text: stmt.ColumnText(col)}
	}
	k.n = stmt.ColumnBytes(col, k.blob[:])
	return k
}

// id is what keyOf was given.
func (k *key) id() posthouse.ID {
	switch k.n {
	case 16:
		return posthouse.ID(formatUUID(k.blob[:16]))
	case 17:
		return posthouse.ID(gatePrefix + formatUUID(k.blob[1:]))
	}
	return posthouse.ID(k.text)
}

// parseUUID reads a UUID in its canonical lower-case form, of any version.
func parseUUID(dst []byte, s string) bool {
	if s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	n := 0
	for i := 0; i < 36; i++ {
		var v byte
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			continue
		case c >= '0' && c <= '9':
			v = c - '0'
		case c >= 'a' && c <= 'f':
			v = c - 'a' + 10
		default:
			return false
		}
		dst[n/2] = dst[n/2]<<4 | v
		n++
	}
	return true
}

func formatUUID(b []byte) string {
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
