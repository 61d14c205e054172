package pgstore

import (
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/terms"
)

// callAppend calls the function that appends, see the first migration.
const callAppend = `SELECT status, tail_seq, tail_hash, taken, taken_thread, taken_seq
	FROM posthouse.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)`

// The answers of the function.
const (
	appended = iota
	alreadyThere
	conflicts
	isTaken
)

// callAppendMany calls the function that appends to many threads.
const callAppendMany = `SELECT entry, status, tail_seq, tail_hash
	FROM posthouse.append_many($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)`

// A row is a batch as the tables have it. Its memory is used again for the next batch.
type row struct {
	batch        *posthouse.Batch
	gone, bodies []byte
	kept         int32
	state        []byte
	gates        []gateRow
	index
}

// set makes a row of a batch.
func (r *row) set(b *posthouse.Batch) error {
	r.batch = b
	gone, err := bodies.Absent(b)
	if err != nil {
		return err
	}
	joined, kept := bodies.Join(b.Entry.Bodies)
	r.gone, r.bodies, r.kept = nonEmpty(gone), nonEmpty(joined), int32(kept)
	r.gates = appendGates(r.gates[:0], b.Thread.Waiting)
	r.index.set(b)
	r.state, err = appendState(r.state[:0], b.Thread)
	return err
}

// forget lets go of the batch. The row keeps no large memory.
func (r *row) forget() {
	const keep = 64 << 10
	r.batch, r.gone, r.bodies = nil, nil, nil
	if cap(r.state) > keep {
		r.state = nil
	}
	if cap(r.gates) > keep/64 || cap(r.ids) > keep/64 || cap(r.terms) > keep/64 {
		r.gates, r.index = nil, index{}
	}
	clear(r.gates[:cap(r.gates)])
	clear(r.ids[:cap(r.ids)])
	clear(r.dropped[:cap(r.dropped)])
}

// writeArguments writes those of callAppend.
func (p *params) writeArguments(r *row, careful bool) {
	e, b, info := r.batch.Entry, r.batch, r.batch.Thread
	p.bool(careful)
	p.text(e.Thread)
	p.int8(int64(b.After.Seq))
	p.bytes(orNull(&b.After.Hash))
	p.int8(int64(e.Seq))
	p.int8(int64(e.Generation))
	p.bytes(orNull(&e.Prev))
	p.bytes(e.Hash[:])
	p.bytes(nonEmpty(e.Sig))
	p.bytes(orEmpty(e.Header))
	p.int4(r.kept)
	p.bytes(r.gone)
	p.bytes(r.bodies)
	p.bytes(r.state)
	p.bool(isLive(info))
	p.due(info.Due)
	p.int8(sumGates(r.gates))
	p.elements(pgtype.Int8ArrayOID, pgtype.Int8OID, len(r.gates), func(i int) { p.putInt8(r.gates[i].list) })
	p.elements(pgtype.ByteaArrayOID, pgtype.ByteaOID, len(r.gates), func(i int) { p.putText(string(r.gates[i].id)) })
	p.elements(pgtype.ByteaArrayOID, pgtype.ByteaOID, len(r.dropped), func(i int) { p.putKey(r.dropped[i]) })
	p.elements(pgtype.ByteaArrayOID, pgtype.ByteaOID, len(r.ids), func(i int) { p.putKey(r.ids[i].id) })
	p.elements(pgtype.ByteaArrayOID, pgtype.ByteaOID, len(r.ids), func(i int) { p.putOrder(&r.ids[i]) })
	p.elements(pgtype.Int8ArrayOID, pgtype.Int8OID, len(r.ids), func(i int) { p.putCoordination(&r.ids[i]) })
	p.elements(pgtype.Int8ArrayOID, pgtype.Int8OID, len(r.terms), func(i int) { p.putInt8(r.terms[i]) })
	p.elements(pgtype.Int4ArrayOID, pgtype.Int4OID, len(r.ids), func(i int) { p.putInt4(r.ids[i].end) })
}

// writeArgumentsOfMany writes those of callAppendMany: an array of each column, and then
// arrays of open gates and ids that say which entry they are of.
func (p *params) writeArgumentsOfMany(requests []*request) {
	texts := func(put func(*row)) { p.column(pgtype.ByteaArrayOID, pgtype.ByteaOID, requests, put) }
	numbers := func(put func(*row)) { p.column(pgtype.Int8ArrayOID, pgtype.Int8OID, requests, put) }
	texts(func(r *row) { p.putText(r.batch.Entry.Thread) })
	numbers(func(r *row) { p.putInt8(int64(r.batch.After.Seq)) })
	texts(func(r *row) { p.putBytes(orNull(&r.batch.After.Hash)) })
	numbers(func(r *row) { p.putInt8(int64(r.batch.Entry.Seq)) })
	numbers(func(r *row) { p.putInt8(int64(r.batch.Entry.Generation)) })
	texts(func(r *row) { p.putBytes(orNull(&r.batch.Entry.Prev)) })
	texts(func(r *row) { p.putBytes(r.batch.Entry.Hash[:]) })
	texts(func(r *row) { p.putBytes(nonEmpty(r.batch.Entry.Sig)) })
	texts(func(r *row) { p.putBytes(orEmpty(r.batch.Entry.Header)) })
	p.column(pgtype.Int4ArrayOID, pgtype.Int4OID, requests, func(r *row) { p.putInt4(r.kept) })
	texts(func(r *row) { p.putBytes(r.gone) })
	texts(func(r *row) { p.putBytes(r.bodies) })
	texts(func(r *row) { p.putBytes(r.state) })
	p.column(pgtype.BoolArrayOID, pgtype.BoolOID, requests, func(r *row) { p.putBool(isLive(r.batch.Thread)) })
	numbers(func(r *row) { p.putDue(r.batch.Thread.Due) })
	numbers(func(r *row) { p.putInt8(sumGates(r.gates)) })

	p.owners(requests, func(r *row) int { return len(r.gates) })
	eachGate := func(oid, element uint32, put func(*gateRow)) {
		p.parts(oid, element, requests, func(r *row) int { return len(r.gates) }, func(r *row, i int) { put(&r.gates[i]) })
	}
	eachGate(pgtype.Int8ArrayOID, pgtype.Int8OID, func(g *gateRow) { p.putInt8(g.list) })
	eachGate(pgtype.ByteaArrayOID, pgtype.ByteaOID, func(g *gateRow) { p.putText(string(g.id)) })

	dropped := func(r *row) int { return len(r.dropped) }
	p.owners(requests, dropped)
	p.parts(pgtype.ByteaArrayOID, pgtype.ByteaOID, requests, dropped, func(r *row, i int) { p.putKey(r.dropped[i]) })

	ids := func(r *row) int { return len(r.ids) }
	p.owners(requests, ids)
	p.parts(pgtype.ByteaArrayOID, pgtype.ByteaOID, requests, ids, func(r *row, i int) { p.putKey(r.ids[i].id) })
	p.parts(pgtype.ByteaArrayOID, pgtype.ByteaOID, requests, ids, func(r *row, i int) { p.putOrder(&r.ids[i]) })
	p.parts(pgtype.Int8ArrayOID, pgtype.Int8OID, requests, ids, func(r *row, i int) { p.putCoordination(&r.ids[i]) })
	p.parts(pgtype.Int8ArrayOID, pgtype.Int8OID, requests, func(r *row) int { return len(r.terms) }, func(r *row, i int) { p.putInt8(r.terms[i]) })
	before := int32(0) // terms of the entries before
	p.parts(pgtype.Int4ArrayOID, pgtype.Int4OID, requests, ids, func(r *row, i int) {
		p.putInt4(before + r.ids[i].end)
		if i == len(r.ids)-1 {
			before += int32(len(r.terms))
		}
	})
}

// column is an array with an element of each entry.
func (p *params) column(oid, element uint32, requests []*request, put func(*row)) {
	p.elements(oid, element, len(requests), func(i int) { put(&requests[i].row) })
}

// parts is an array with as many elements of each entry as it has.
func (p *params) parts(oid, element uint32, requests []*request, count func(*row) int, put func(r *row, i int)) {
	n := 0
	for _, q := range requests {
		n += count(&q.row)
	}
	if !p.array(oid, element, n) {
		return
	}
	for _, q := range requests {
		for i := range count(&q.row) {
			put(&q.row, i)
		}
	}
	p.end(oid)
}

// owners is the array beside parts with the number of the entry that each is of.
func (p *params) owners(requests []*request, count func(*row) int) {
	n := 0
	for _, q := range requests {
		n += count(&q.row)
	}
	if !p.array(pgtype.Int4ArrayOID, pgtype.Int4OID, n) {
		return
	}
	for i, q := range requests {
		for range count(&q.row) {
			p.putInt4(int32(i + 1))
		}
	}
	p.end(pgtype.Int4ArrayOID)
}

// isLive reports whether queries for what runs or can run may match the thread.
func isLive(t *posthouse.ThreadInfo) bool { return t.Runnable() || t.Lease.Held }

func dueOf(t *posthouse.ThreadInfo) *int64 {
	if t.Due == 0 {
		return nil
	}
	n := int64(t.Due)
	return &n
}

// orNull is a hash of a batch, or nil if it is zero.
func orNull(h *posthouse.Hash) []byte {
	if h.IsZero() {
		return nil
	}
	return h[:]
}

func nonEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// An index is what an entry changes in table ids.
type index struct {
	dropped []posthouse.ID
	ids     []newID
	terms   []int64 // of all checkpoints, one after the other
}

// A newID is an id that an entry adds, with the fields of its checkpoint.
type newID struct {
	id           posthouse.ID
	checkpoint   bool
	order        posthouse.OrderKey
	coordination int64
	end          int32 // where its terms end
}

func (x *index) set(b *posthouse.Batch) {
	x.dropped, x.ids, x.terms = append(x.dropped[:0], b.Drop...), x.ids[:0], x.terms[:0]
	var seen map[posthouse.ID]bool
	if len(b.IDs) > 1 {
		seen = make(map[posthouse.ID]bool, len(b.IDs))
	}
	for i := range b.IDs {
		id := &b.IDs[i]
		if seen[id.ID] {
			continue // named twice
		}
		if seen != nil {
			seen[id.ID] = true
		}
		if id.Replace {
			x.dropped = append(x.dropped, id.ID)
		}
		added := newID{id: id.ID}
		if id.Header != nil {
			added.checkpoint, added.order, added.coordination = true, id.Order, terms.Hash(id.Header.Coordination)
			x.terms = terms.Append(x.terms, id.Header)
		}
		added.end = int32(len(x.terms))
		x.ids = append(x.ids, added)
	}
}

// putOrder puts the order key of a checkpoint, NULL for another id.
func (p *params) putOrder(id *newID) {
	if !id.checkpoint {
		p.putNull()
		return
	}
	p.putBytes(id.order[:])
}

// putCoordination puts NULL for an id that is no checkpoint's.
func (p *params) putCoordination(id *newID) {
	if !id.checkpoint {
		p.putNull()
		return
	}
	p.putInt8(id.coordination)
}

// putDue puts NULL for 0.
func (p *params) putDue(at posthouse.Millis) {
	if at == 0 {
		p.putNull()
		return
	}
	p.putInt8(int64(at))
}

// keyOf returns the key of an id: the 16 bytes of our UUIDs, the text of all others, which
// is ASCII, as the bytes of a UUID are not.
func keyOf(id posthouse.ID) []byte { return appendKey(nil, id) }

func appendKey(b []byte, id posthouse.ID) []byte {
	if k, ok := id.UUID(); ok {
		return append(b, k[:]...)
	}
	return append(b, id...)
}

// idOf is the inverse of keyOf.
func idOf(key []byte) posthouse.ID {
	if len(key) == 16 {
		if k := posthouse.OrderKey(key); k.Valid() {
			return k.ID()
		}
	}
	return posthouse.ID(key)
}

// A gateRow is a row of an open gate.
type gateRow struct {
	list int64
	id   posthouse.ID
}

// appendGates appends the rows of open gates.
func appendGates(rows []gateRow, waiting []posthouse.WaitingGate) []gateRow {
	for i := range waiting {
		w := &waiting[i]
		for _, list := range w.Lists() {
			rows = append(rows, gateRow{int64(list), w.ID})
		}
	}
	return rows
}

// sumGates returns a hash of the rows, 0 for no rows. It says whether a thread's rows are
// those of its summary.
func sumGates(rows []gateRow) int64 {
	if len(rows) == 0 {
		return 0
	}
	h := fnv.New64a()
	var num [8]byte
	for _, r := range rows {
		binary.BigEndian.PutUint64(num[:], uint64(r.list))
		_, _ = h.Write(num[:])
		_, _ = h.Write([]byte(r.id))
	}
	return int64(h.Sum64() | 1)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendState encodes a summary after its checksum.
func appendState(room []byte, info *posthouse.ThreadInfo) ([]byte, error) {
	b, err := info.AppendBinary(append(room, 0, 0, 0, 0))
	if err == nil {
		binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	}
	return b, err
}

// readState decodes what appendState wrote.
func readState(b []byte) (*posthouse.ThreadInfo, error) {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return nil, posthouse.Corrupt("the summary of a thread is not what was written there")
	}
	info := &posthouse.ThreadInfo{}
	return info, info.UnmarshalBinary(b[4:])
}
