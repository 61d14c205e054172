package uuid

import "encoding/binary"

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

// Parse returns the bytes of a canonical UUID of version 7.
func Parse(s string) (k [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return k, false
	}
	at := 0
	for i := range k {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			at++
		}
		hi, lo := hexDigits[s[at]], hexDigits[s[at+1]]
		if hi|lo == 0xff {
			return k, false
		}
		k[i] = hi<<4 | lo
		at += 2
	}
	return k, Valid(k)
}

// Valid reports whether the bytes are those of a version 7 UUID.
func Valid(k [16]byte) bool { return k[6]>>4 == 7 && k[8]&0xc0 == 0x80 }

// Text returns the canonical text of the bytes.
func Text(k [16]byte) (b [36]byte) {
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
