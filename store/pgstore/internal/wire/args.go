package wire

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
)

// A Type is a type of arguments and of elements of arrays.
type Type int

// The types.
const (
	Bool Type = iota
	Int4
	Int8
	Bytea
)

// number returns the number that Postgres gives the type, and that of arrays of it.
func (t Type) number() (one, array uint32) {
	switch t {
	case Bool:
		return pgtype.BoolOID, pgtype.BoolArrayOID
	case Int4:
		return pgtype.Int4OID, pgtype.Int4ArrayOID
	case Int8:
		return pgtype.Int8OID, pgtype.Int8ArrayOID
	}
	return pgtype.ByteaOID, pgtype.ByteaArrayOID
}

// Args are the arguments of one call after the other. They use their memory again.
type Args struct {
	buf    []byte
	from   int // where in buf the argument that is being written begins
	args   []arg
	types  []uint32
	values [][]byte
}

// An arg is an argument: bytes that stay where they are, or else a part of the buffer.
type arg struct {
	given    []byte
	from, to int // to is -1 for NULL
}

// Reset forgets the arguments. It keeps no large memory.
func (a *Args) Reset() {
	const keep = 4 << 20
	if a.buf == nil || cap(a.buf) > keep {
		a.buf = make([]byte, 0, 1024)
	}
	clear(a.args)
	clear(a.values)
	a.buf, a.from, a.args, a.types, a.values = a.buf[:0], 0, a.args[:0], a.types[:0], a.values[:0]
}

// Encoded returns the arguments. They are valid until Reset.
func (a *Args) Encoded() [][]byte {
	a.values = a.values[:0]
	for _, v := range a.args {
		switch {
		case v.given != nil:
			a.values = append(a.values, v.given)
		case v.to < 0:
			a.values = append(a.values, nil)
		default:
			a.values = append(a.values, a.buf[v.from:v.to:v.to])
		}
	}
	return a.values
}

// Types returns the numbers of the arguments' types.
func (a *Args) Types() []uint32 { return a.types }

// end ends the argument that was written.
func (a *Args) end(number uint32) {
	a.add(arg{from: a.from, to: len(a.buf)}, number)
	a.from = len(a.buf)
}

func (a *Args) add(v arg, number uint32) {
	a.args, a.types = append(a.args, v), append(a.types, number)
}

// Null is an argument that is not there.
func (a *Args) Null(t Type) {
	one, _ := t.number()
	a.add(arg{to: -1}, one)
}

// Bool is an argument.
func (a *Args) Bool(v bool) {
	a.buf = append(a.buf, bit(v))
	a.end(pgtype.BoolOID)
}

// Int4 is an argument.
func (a *Args) Int4(n int32) {
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(n))
	a.end(pgtype.Int4OID)
}

// Int8 is an argument.
func (a *Args) Int8(n int64) {
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(n))
	a.end(pgtype.Int8OID)
}

// Text is an argument, the bytes of a string.
func (a *Args) Text(s string) {
	a.buf = append(a.buf, s...)
	a.end(pgtype.ByteaOID)
}

// Bytes is an argument, NULL for nil. It is not copied: it must stay as it is until the
// arguments are sent.
func (a *Args) Bytes(b []byte) { a.add(arg{given: b, to: -1}, pgtype.ByteaOID) }

// Array is an argument of n elements, which put writes one by one with the methods named
// Put. An array of no elements is NULL.
func (a *Args) Array(of Type, n int, put func(i int)) {
	one, array := of.number()
	if n == 0 {
		a.add(arg{to: -1}, array)
		return
	}
	a.put4(1) // dimension
	a.put4(1) // elements may be NULL
	a.put4(int32(one))
	a.put4(int32(n))
	a.put4(1) // the first element's number
	for i := range n {
		put(i)
	}
	a.end(array)
}

func (a *Args) put4(n int32) { a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(n)) }

// PutNull puts an element that is not there.
func (a *Args) PutNull() { a.put4(-1) }

// PutBool puts an element.
func (a *Args) PutBool(v bool) {
	a.put4(1)
	a.buf = append(a.buf, bit(v))
}

// PutInt4 puts an element.
func (a *Args) PutInt4(n int32) {
	a.put4(4)
	a.put4(n)
}

// PutInt8 puts an element.
func (a *Args) PutInt8(n int64) {
	a.put4(8)
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(n))
}

// PutText puts an element, the bytes of a string.
func (a *Args) PutText(s string) {
	a.put4(int32(len(s)))
	a.buf = append(a.buf, s...)
}

// PutBytes puts an element, NULL for nil.
func (a *Args) PutBytes(b []byte) {
	if b == nil {
		a.PutNull()
		return
	}
	a.put4(int32(len(b)))
	a.buf = append(a.buf, b...)
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// Int reads a number that the server returned, 0 for NULL.
func Int(b []byte) int64 {
	switch len(b) {
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case 8:
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}
