package canon

import "encoding/binary"

// Usually is a text that is written as none where it is the usual one. The usual one in its long
// form does not read; what names it in that error.
func (f *Fields) Usually(s *string, usual, what string) {
	short := *s
	if short == usual {
		short = ""
	}
	f.Text(&short)
	switch {
	case f.writing:
	case short == "":
		*s = usual
	case short == usual:
		f.Fail("%s in its long form", what)
		*s = ""
	default:
		*s = short
	}
}

// CodeOrText is a text as its place in a table. A text that is not in the table is written as the
// table's length and the text; none is written as the first of the table.
func (f *Fields) CodeOrText(s *string, table []string, what string) {
	code, end := uint64(0), uint64(len(table))
	if f.writing && *s != "" {
		code = CodeOf(table, *s)
	}
	f.Number(&code)
	switch {
	case code == end:
		f.Text(s)
		if !f.writing && (*s == "" || CodeOf(table, *s) < end) {
			f.Fail("%s in its long form", what)
		}
	case f.writing:
	case code < end:
		*s = table[code]
	default:
		*s = ""
		f.Fail("code %d out of range", code)
	}
}

// OptionalHash is a hash that may be zero, which is written as a flag.
func (f *Fields) OptionalHash(h *[32]byte, what string) {
	there := *h != [32]byte{}
	if f.Flag(&there); !there {
		return
	}
	f.Fixed(h[:])
	if !f.writing && f.Err() == nil && *h == [32]byte{} {
		f.Fail("no %s in its long form", what)
	}
}

// Ascending are numbers of eight bytes each, each greater than the one before.
func (f *Fields) Ascending(us *[]uint64, what string) {
	last, first := uint64(0), true
	List(f, us, func(u *uint64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], *u)
		if f.Fixed(b[:]); f.writing {
			return
		}
		*u = binary.BigEndian.Uint64(b[:])
		if !first && *u <= last {
			f.Fail("%s that do not ascend", what)
		}
		last, first = *u, false
	})
}
