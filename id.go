package posthouse

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// An ID names a checkpoint, a gate or a signal. Posthouse makes UUIDv7 strings, which
// sort by creation. Foreign ids must pass [ID.Validate].
type ID string

// MaxID is the longest id or name, in bytes.
const MaxID = 200

// Validate reports an [ErrInvalid] unless the id matches [A-Za-z0-9._:$-]{1,200}. An
// invalid id is refused, never changed.
func (id ID) Validate() error { return ValidateID("id", string(id)) }

// ValidateID checks an id that came from outside: [ErrInvalid] that names the field.
func ValidateID(field, s string) error {
	if s == "" {
		return Invalid(field, "is empty")
	}
	if len(s) > MaxID {
		return Invalid(field, "is %d bytes long; the limit is %d", len(s), MaxID)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("._:$-", c) >= 0:
		default:
			r, _ := utf8.DecodeRuneInString(s[i:])
			return Invalid(field, "has the character %q at byte %d; allowed are letters, digits and . _ : $ -", r, i)
		}
	}
	return nil
}

// An OrderKey is a checkpoint's place among those of all threads: the bytes of its
// UUIDv7, or of one made at its append if its id is foreign.
type OrderKey [16]byte

// String returns the key in hexadecimal, which sorts like the key.
func (k OrderKey) String() string { return hex.EncodeToString(k[:]) }

// hexDigits maps lower-case hexadecimal digits to their values, and all else to 0xff.
var hexDigits = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range "0123456789abcdef" {
		t[c] = byte(i)
	}
	return t
}()

// UUID returns the 16 bytes of a canonical lower-case version 7 UUID.
func (id ID) UUID() (k OrderKey, ok bool) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' {
		return k, false
	}
	at := 0
	for i := range k {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			at++
		}
		hi, lo := hexDigits[id[at]], hexDigits[id[at+1]]
		if hi|lo == 0xff {
			return k, false
		}
		k[i] = hi<<4 | lo
		at += 2
	}
	return k, k.Valid()
}

// Valid reports whether the bytes are those of a version 7 UUID.
func (k OrderKey) Valid() bool { return k[6]>>4 == 7 && k[8]&0xc0 == 0x80 }

// ID returns the UUID with these bits.
func (k OrderKey) ID() ID {
	b := k.text()
	return ID(b[:])
}

func (k OrderKey) text() (b [36]byte) {
	y, z := toHex(binary.BigEndian.Uint32(k[4:])), toHex(binary.BigEndian.Uint32(k[8:]))
	binary.BigEndian.PutUint64(b[0:], toHex(binary.BigEndian.Uint32(k[0:])))
	binary.BigEndian.PutUint32(b[9:], uint32(y>>32))
	binary.BigEndian.PutUint32(b[14:], uint32(y))
	binary.BigEndian.PutUint32(b[19:], uint32(z>>32))
	binary.BigEndian.PutUint32(b[24:], uint32(z))
	binary.BigEndian.PutUint64(b[28:], toHex(binary.BigEndian.Uint32(k[12:])))
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return b
}

// toHex returns the eight digits of v.
func toHex(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (x + 0x0606060606060606) >> 4 & 0x0101010101010101
	return x + 0x3030303030303030 + letters*('a'-'0'-10)
}

// Skew bounds how far ahead of this process's clock the ids of others may lead ours.
const Skew = time.Minute

// GatePrefix tells a gate's id from a checkpoint's at a glance.
const GatePrefix = "gate-"

// Cursor returns the header's place in lists, for [Query.After].
func (h *Header) Cursor() string {
	return h.Order.String() + "-" + strconv.FormatUint(h.Seq, 10)
}

// ParseCursor reads what [Header.Cursor] wrote. [ErrInvalid].
func ParseCursor(s string) (k OrderKey, seq uint64, err error) {
	order, num, ok := strings.Cut(s, "-")
	if ok && len(order) == 32 {
		if _, err = hex.Decode(k[:], []byte(order)); err == nil {
			if seq, err = strconv.ParseUint(num, 10, 64); err == nil {
				return k, seq, nil
			}
		}
	}
	return k, 0, Invalid("cursor", "%.80q is not one this store gave out", s)
}
