package canon

import "time"

// Fields write the fields of a value, or read them: the same calls do both, so that the two
// cannot differ. The zero Fields read nothing; [Fields.Write] and Reset begin.
type Fields struct {
	Reader
	out     []byte
	writing bool
}

// Write makes f append to b what it is given.
func (f *Fields) Write(b []byte) { f.out, f.writing = b, true }

// Writing reports whether f writes.
func (f *Fields) Writing() bool { return f.writing }

// Written returns what Write began with, and the fields after it.
func (f *Fields) Written() []byte { return f.out }

// Octet is a single byte.
func (f *Fields) Octet(c *byte) {
	if f.writing {
		f.out = append(f.out, *c)
	} else {
		*c = f.Byte()
	}
}

// Flag is a byte, 0 or 1.
func (f *Fields) Flag(v *bool) {
	switch {
	case !f.writing:
		c := f.Byte()
		if c > 1 {
			f.Fail("bad boolean")
		}
		*v = c == 1
	case *v:
		f.out = append(f.out, 1)
	default:
		f.out = append(f.out, 0)
	}
}

// Number is a varint.
func (f *Fields) Number(u *uint64) {
	if f.writing {
		f.out = AppendUint(f.out, *u)
	} else {
		*u = f.Uint()
	}
}

// Numbers are varints, one after another.
func (f *Fields) Numbers(us []uint64) {
	if !f.writing {
		f.Uints(us)
		return
	}
	for _, u := range us {
		f.out = AppendUint(f.out, u)
	}
}

// Number32 is a varint of at most 32 bits.
func (f *Fields) Number32(u *uint32) {
	if f.writing {
		f.out = AppendUint(f.out, uint64(*u))
		return
	}
	v := f.Uint()
	if v > 1<<32-1 {
		f.Fail("%d does not fit 32 bits", v)
	}
	*u = uint32(v)
}

// Total is a number of things, a varint of at most 32 bits.
func (f *Fields) Total(n *int) {
	if f.writing {
		f.out = AppendUint(f.out, uint64(*n))
		return
	}
	var u uint32
	f.Number32(&u)
	*n = int(u)
}

// Signed is a number that may be negative.
func Signed[T ~int | ~int64](f *Fields, n *T) {
	if f.writing {
		f.out = AppendInt(f.out, int64(*n))
	} else {
		*n = T(f.Int())
	}
}

// MaxSize exceeds every limit: 1 TiB.
const MaxSize = 1 << 40

// Size is a number of bytes, at most [MaxSize].
func (f *Fields) Size(n *int) {
	if f.writing {
		f.out = AppendUint(f.out, uint64(*n))
	} else {
		*n = f.ToSize(f.Uint())
	}
}

// ToSize checks a size that was read as a number.
func (f *Fields) ToSize(u uint64) int {
	if u > MaxSize {
		return f.badSize(u)
	}
	return int(u)
}

//go:noinline
func (f *Fields) badSize(u uint64) int {
	f.Fail("size %d out of range", u)
	return 0
}

// Text is a string with its length.
func (f *Fields) Text(s *string) {
	if f.writing {
		f.out = AppendString(f.out, *s)
	} else {
		*s = f.String()
	}
}

// Texts are strings, with their number.
func (f *Fields) Texts(ss *[]string) {
	if f.writing {
		f.out = AppendStrings(f.out, *ss)
	} else {
		*ss = f.Strings()
	}
}

// TextMap is a map of strings, in the order of its keys.
func (f *Fields) TextMap(m *map[string]string) {
	if f.writing {
		f.out = AppendMap(f.out, *m)
	} else {
		*m = f.Map()
	}
}

// Fixed are bytes without their length, as many as p has.
func (f *Fields) Fixed(p []byte) {
	if f.writing {
		f.out = append(f.out, p...)
	} else {
		copy(p, f.Raw(len(p)))
	}
}

// MaxMillis is the end of the year 9999, the last that JSON times can have.
const MaxMillis = 253402300799999

// Moment is a time in milliseconds, 0 for no time. One before the second millisecond of 1970 is
// written as the first.
func (f *Fields) Moment(t *time.Time) {
	switch {
	case !f.writing:
		*t = f.readMoment()
	case t.IsZero():
		f.out = append(f.out, 0)
	default:
		f.out = AppendUint(f.out, uint64(max(t.UnixMilli(), 1)))
	}
}

func (f *Fields) readMoment() time.Time {
	switch ms := f.Uint(); {
	case ms == 0:
		return time.Time{}
	case ms > MaxMillis:
		f.Fail("time out of range")
		return time.Time{}
	default:
		return time.UnixMilli(int64(ms)).UTC()
	}
}

// Nanos is a time in nanoseconds.
func (f *Fields) Nanos(t *time.Time) {
	n := t.UnixNano()
	if Signed(f, &n); !f.writing {
		*t = time.Unix(0, n).UTC()
	}
}

// Code is a value of a table, written as its place there. A value that is not in the table is
// written as the table's length, which does not read.
func Code[T comparable](f *Fields, v *T, table []T) {
	if f.writing {
		f.out = AppendUint(f.out, CodeOf(table, *v))
		return
	}
	u := f.Uint()
	if u >= uint64(len(table)) {
		f.Fail("code %d out of range", u)
		var none T
		*v = none
		return
	}
	*v = table[u]
}

// CodeOf returns the place of a value in a table, or the table's length.
func CodeOf[T comparable](table []T, v T) uint64 {
	for i, t := range table {
		if t == v {
			return uint64(i)
		}
	}
	return uint64(len(table))
}

// List is a number of items and the items. Read, they are added to what the list has; an item
// finds what the list's memory held before in its place.
func List[T any](f *Fields, list *[]T, item func(*T)) {
	if f.writing {
		f.out = AppendUint(f.out, uint64(len(*list)))
		for i := range *list {
			item(&(*list)[i])
		}
		return
	}
	for range f.Items() {
		if n := len(*list); n < cap(*list) {
			*list = (*list)[:n+1]
		} else {
			var none T
			*list = append(*list, none)
		}
		item(&(*list)[len(*list)-1])
	}
}
