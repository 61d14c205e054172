package pgstore

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/posthouse/posthouse"
)

// A params holds the arguments of a call, in the binary format of Postgres. A call has
// dozens, and most are arrays with an element for each entry of a group: the driver would
// look at the type of each element. The memory is used again for the next call.
type params struct {
	buf    []byte
	from   int // where in buf the argument that is being written begins
	args   []arg
	oids   []uint32
	values [][]byte
}

// An arg is one argument. It is in the buffer, unless it is long enough to stay where it is.
type arg struct {
	from, to int // in the buffer; to is -1 for NULL
	whole    []byte
}

// binaryFormat is the format of all arguments and results.
var binaryFormat = []int16{1}

// reset forgets the arguments, and keeps no large memory.
func (p *params) reset() {
	const keep = 4 << 20
	if p.buf == nil || cap(p.buf) > keep {
		p.buf = make([]byte, 0, 1024)
	}
	clear(p.args)
	clear(p.values)
	p.buf, p.from, p.args, p.oids, p.values = p.buf[:0], 0, p.args[:0], p.oids[:0], p.values[:0]
}

// encoded returns the arguments. They are valid until reset.
func (p *params) encoded() [][]byte {
	p.values = p.values[:0]
	for _, a := range p.args {
		switch {
		case a.whole != nil:
			p.values = append(p.values, a.whole)
		case a.to < 0:
			p.values = append(p.values, nil)
		default:
			p.values = append(p.values, p.buf[a.from:a.to:a.to])
		}
	}
	return p.values
}

// end ends the argument that was written, which has a type.
func (p *params) end(oid uint32) {
	p.args, p.oids = append(p.args, arg{from: p.from, to: len(p.buf)}), append(p.oids, oid)
	p.from = len(p.buf)
}

func (p *params) null(oid uint32) {
	p.args, p.oids = append(p.args, arg{to: -1}), append(p.oids, oid)
}

func (p *params) bool(v bool) {
	p.buf = append(p.buf, bit(v))
	p.end(pgtype.BoolOID)
}

func (p *params) int4(n int32) {
	p.buf = binary.BigEndian.AppendUint32(p.buf, uint32(n))
	p.end(pgtype.Int4OID)
}

func (p *params) int8(n int64) {
	p.buf = binary.BigEndian.AppendUint64(p.buf, uint64(n))
	p.end(pgtype.Int8OID)
}

func (p *params) text(s string) {
	p.buf = append(p.buf, s...)
	p.end(pgtype.ByteaOID)
}

// bytes is NULL for nil. The bytes must stay as they are until the arguments are sent.
func (p *params) bytes(b []byte) {
	p.args, p.oids = append(p.args, arg{to: -1, whole: b}), append(p.oids, pgtype.ByteaOID)
}

// due is NULL for 0.
func (p *params) due(at posthouse.Millis) {
	if at == 0 {
		p.null(pgtype.Int8OID)
		return
	}
	p.int8(int64(at))
}

// array begins an array of n elements. Those are put next, and then it ends. An array that
// has none is NULL.
func (p *params) array(oid, element uint32, n int) bool {
	if n == 0 {
		p.null(oid)
		return false
	}
	p.put4(1) // dimension
	p.put4(1) // elements may be NULL
	p.put4(int32(element))
	p.put4(int32(n))
	p.put4(1) // the first element's number
	return true
}

// elements is an array of n elements that put writes.
func (p *params) elements(oid, element uint32, n int, put func(i int)) {
	if p.array(oid, element, n) {
		for i := range n {
			put(i)
		}
		p.end(oid)
	}
}

func (p *params) put4(n int32) { p.buf = binary.BigEndian.AppendUint32(p.buf, uint32(n)) }

func (p *params) putNull() { p.put4(-1) }

func (p *params) putBool(v bool) {
	p.put4(1)
	p.buf = append(p.buf, bit(v))
}

func (p *params) putInt4(n int32) {
	p.put4(4)
	p.put4(n)
}

func (p *params) putInt8(n int64) {
	p.put4(8)
	p.buf = binary.BigEndian.AppendUint64(p.buf, uint64(n))
}

func (p *params) putText(s string) {
	p.put4(int32(len(s)))
	p.buf = append(p.buf, s...)
}

// putBytes puts NULL for nil.
func (p *params) putBytes(b []byte) {
	if b == nil {
		p.putNull()
		return
	}
	p.put4(int32(len(b)))
	p.buf = append(p.buf, b...)
}

// putKey puts the key of an id.
func (p *params) putKey(id posthouse.ID) {
	at := len(p.buf)
	p.put4(0)
	p.buf = appendKey(p.buf, id)
	binary.BigEndian.PutUint32(p.buf[at:], uint32(len(p.buf)-at-4))
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// readInt reads a number that the server returned, 0 for NULL.
func readInt(b []byte) int64 {
	switch len(b) {
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	case 8:
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}
