package posthouse

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/base/uuid"
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

// UUID returns the 16 bytes of a canonical lower-case version 7 UUID.
func (id ID) UUID() (k OrderKey, ok bool) { return uuid.Parse(string(id)) }

// Valid reports whether the bytes are those of a version 7 UUID.
func (k OrderKey) Valid() bool { return uuid.Valid(k) }

// ID returns the UUID with these bits.
func (k OrderKey) ID() ID {
	b := uuid.Text(k)
	return ID(b[:])
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
		_, err = hex.Decode(k[:], []byte(order))
		if err == nil {
			seq, err = strconv.ParseUint(num, 10, 64)
			if err == nil {
				return k, seq, nil
			}
		}
	}
	return k, 0, Invalid("cursor", "%.80q is not one this store gave out", s)
}
