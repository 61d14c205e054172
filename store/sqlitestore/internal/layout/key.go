package layout

import (
	"encoding/hex"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// gateMark is the first byte of a gate's key.
const gateMark = 0xff

const gatePrefix = "gate-"

// A Key is an id as the ids table keeps it: 16 bytes for a UUID, 17 for
// gate-UUID, the text itself for any other id.
type Key struct {
	blob [17]byte
	n    int // of blob; 0: text
	text string
}

// KeyOf returns the key of an id.
func KeyOf(id posthouse.ID) (k Key) {
	s := string(id)
	if len(s) == 36 && parseUUID(k.blob[:16], s) {
		k.n = 16
		return k
	}
	if len(s) == 41 && s[:5] == gatePrefix && parseUUID(k.blob[1:], s[5:]) {
		k.blob[0], k.n = gateMark, 17
		return k
	}
	return Key{text: s}
}

// Bind sets a parameter of a statement to the key.
func (k *Key) Bind(stmt *sqlite.Stmt, param int) {
	if k.n > 0 {
		stmt.BindBytes(param, k.blob[:k.n])
	} else {
		stmt.BindText(param, k.text)
	}
}

// Ordered reports whether the id is a version 7 UUID that is its own order key.
func (k *Key) Ordered(o posthouse.OrderKey) bool {
	return k.IsV7() && posthouse.OrderKey(k.blob[:16]) == o
}

// IsV7 reports whether the id is a version 7 UUID.
func (k *Key) IsV7() bool { return k.n == 16 && k.blob[6]>>4 == 7 }

// ScanKey reads what [Key.Bind] wrote.
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
	at := 0
	for i := range 16 {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			at++
		}
		hi, lo := digits[s[at]], digits[s[at+1]]
		if hi|lo == 0xff {
			return false
		}
		dst[i] = hi<<4 | lo
		at += 2
	}
	return true
}

// digits maps a lower-case hexadecimal digit to its value, anything else to 0xff.
var digits = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range "0123456789abcdef" {
		t[c] = byte(i)
	}
	return t
}()

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
