package posthouse

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// An ID names a checkpoint, a gate or a signal. Posthouse makes UUIDv7 strings
// that sort by creation; foreign ids are accepted if [ID.Validate] does.
type ID string

// MaxID is the longest id or name, in bytes.
const MaxID = 200

// Validate reports an [ErrInvalid] unless the id matches
// [A-Za-z0-9._:$-]{1,200}. Nothing is ever sanitised into shape.
func (id ID) Validate() error { return validateID("id", string(id)) }

func validateID(field, s string) error {
	if s == "" {
		return invalid(field, "is empty")
	}
	if len(s) > MaxID {
		return invalid(field, "is %d bytes long; the limit is %d", len(s), MaxID)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case strings.IndexByte("._:$-", c) >= 0:
		default:
			r, _ := utf8.DecodeRuneInString(s[i:])
			return invalid(field, "has the character %q at byte %d; allowed are letters, digits and . _ : $ -", r, i)
		}
	}
	return nil
}

// An OrderKey places a checkpoint among those of all threads: the bytes of its
// UUIDv7, or of one made at its append when its id is foreign.
type OrderKey [16]byte

// String returns the key in hexadecimal, which sorts like the key.
func (k OrderKey) String() string { return hex.EncodeToString(k[:]) }

// hexDigits has the value of each lower-case hexadecimal digit, 0xff for
// anything else.
var hexDigits = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range "0123456789abcdef" {
		t[c] = byte(i)
	}
	return t
}()

// uuid returns the 16 bytes of a canonical lower-case version 7 UUID.
func (id ID) uuid() (k OrderKey, ok bool) {
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
	return k, k.valid()
}

// valid reports whether the bytes are those of a version 7 UUID.
func (k OrderKey) valid() bool { return k[6]>>4 == 7 && k[8]&0xc0 == 0x80 }

func (k OrderKey) id() ID {
	b := k.text()
	return ID(b[:])
}

// text is the UUID in its canonical form.
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

// An idSource makes UUIDv7 ids that ascend strictly within one process, also
// when the clock stands still or goes back: 48 bits of milliseconds, 12 bits
// and 14 bits of counter that starts at random each millisecond, 48 random bits.
type idSource struct {
	mu    sync.Mutex
	ms    uint64
	count uint32
	pool  [480]byte
	free  int
}

// skew is how far ahead of this process's clock another's ids are followed.
const skew = time.Minute

// follow makes later ids sort behind k, so that a child sorts behind its parent
// also where another process, whose clock is ahead, made that.
func (s *idSource) follow(k OrderKey, now time.Time) {
	ms := binary.BigEndian.Uint64(k[:]) >> 16
	if !k.valid() || ms > uint64(max(now.Add(skew).UnixMilli(), 0)) {
		return
	}
	count := uint32(binary.BigEndian.Uint16(k[6:])&0xfff)<<14 | uint32(binary.BigEndian.Uint16(k[8:])&0x3fff)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ms > s.ms || ms == s.ms && count > s.count {
		s.ms, s.count = ms, count
	}
}

func (s *idSource) new(now time.Time) ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free < 8 {
		_, _ = rand.Read(s.pool[:]) // never fails: crypto/rand aborts the program instead
		s.free = len(s.pool)
	}
	r := s.pool[s.free-8 : s.free]
	s.free -= 8
	if ms := uint64(max(now.UnixMilli(), 0)); ms > s.ms {
		s.ms, s.count = ms, uint32(binary.BigEndian.Uint16(r)) // leaves 2^26-2^16 ids in the millisecond
	} else if s.count++; s.count == 1<<26 {
		s.ms, s.count = s.ms+1, 0
	}
	count := uint64(s.count)
	var k OrderKey
	binary.BigEndian.PutUint64(k[:], s.ms<<16|7<<12|count>>14)
	binary.BigEndian.PutUint16(k[8:], 0x8000|uint16(count&0x3fff))
	copy(k[10:], r[2:])
	return k.id()
}

// gatePrefix tells a gate's id from a checkpoint's at a glance.
const gatePrefix = "gate-"

// Cursor is the header's place in lists: pass it as [Query.After].
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
	return k, 0, invalid("cursor", "%.80q is not one this store gave out", s)
}
