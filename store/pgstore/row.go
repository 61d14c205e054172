package pgstore

import (
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/terms"
	"github.com/posthouse/posthouse/store/pgstore/internal/wire"
)

// callAppend calls the function that appends, see the last migration.
const callAppend = `SELECT status, tail_seq, tail_hash, taken, taken_thread, taken_seq
	FROM posthouse.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)`

// The answers of the function.
const (
	appended = iota
	alreadyThere
	conflicts
	isTaken
)

// callAppendMany calls the function that appends to many threads.
const callAppendMany = `SELECT entry, status, tail_seq, tail_hash
	FROM posthouse.append_many($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)`

// A row is a batch as the tables have it. Its memory is used again for the next batch.
type row struct {
	batch        *posthouse.Batch
	gone, bodies []byte
	kept         int32
	state        []byte
	marks        []byte
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
	r.marks = lists.AppendMarks(r.marks[:0], b.Thread)
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

// writeOne writes the arguments of callAppend.
func writeOne(a *wire.Args, r *row, careful bool) {
	e, b, info := r.batch.Entry, r.batch, r.batch.Thread
	a.Bool(careful)
	a.Text(e.Thread)
	a.Int8(int64(b.After.Seq))
	a.Bytes(orNull(&b.After.Hash))
	a.Int8(int64(e.Seq))
	a.Int8(int64(e.Generation))
	a.Bytes(orNull(&e.Prev))
	a.Bytes(e.Hash[:])
	a.Bytes(nonEmpty(e.Sig))
	a.Bytes(orEmpty(e.Header))
	a.Int4(r.kept)
	a.Bytes(r.gone)
	a.Bytes(r.bodies)
	a.Bytes(r.state)
	a.Bool(isLive(info))
	if info.Due == 0 {
		a.Null(wire.Int8)
	} else {
		a.Int8(int64(info.Due))
	}
	a.Int8(int64(info.Minute()))
	a.Bytes(r.marks)
	a.Int8(sumGates(r.gates))
	a.Array(wire.Int8, len(r.gates), func(i int) { a.PutInt8(r.gates[i].list) })
	a.Array(wire.Bytea, len(r.gates), func(i int) { a.PutText(string(r.gates[i].id)) })
	a.Array(wire.Bytea, len(r.dropped), func(i int) { putKey(a, r.dropped[i]) })
	a.Array(wire.Bytea, len(r.ids), func(i int) { putKey(a, r.ids[i].id) })
	a.Array(wire.Bytea, len(r.ids), func(i int) { r.ids[i].putOrder(a) })
	a.Array(wire.Int8, len(r.ids), func(i int) { r.ids[i].putCoordination(a) })
	a.Array(wire.Int8, len(r.terms), func(i int) { a.PutInt8(r.terms[i]) })
	a.Array(wire.Int4, len(r.ids), func(i int) { a.PutInt4(r.ids[i].end) })
}

// writeMany writes the arguments of callAppendMany: an array of each column, and then arrays
// of open gates and ids with the number of the entry that each is of.
func writeMany(a *wire.Args, requests []*request) {
	column := func(of wire.Type, put func(*row)) {
		a.Array(of, len(requests), func(i int) { put(&requests[i].row) })
	}
	column(wire.Bytea, func(r *row) { a.PutText(r.batch.Entry.Thread) })
	column(wire.Int8, func(r *row) { a.PutInt8(int64(r.batch.After.Seq)) })
	column(wire.Bytea, func(r *row) { a.PutBytes(orNull(&r.batch.After.Hash)) })
	column(wire.Int8, func(r *row) { a.PutInt8(int64(r.batch.Entry.Seq)) })
	column(wire.Int8, func(r *row) { a.PutInt8(int64(r.batch.Entry.Generation)) })
	column(wire.Bytea, func(r *row) { a.PutBytes(orNull(&r.batch.Entry.Prev)) })
	column(wire.Bytea, func(r *row) { a.PutBytes(r.batch.Entry.Hash[:]) })
	column(wire.Bytea, func(r *row) { a.PutBytes(nonEmpty(r.batch.Entry.Sig)) })
	column(wire.Bytea, func(r *row) { a.PutBytes(orEmpty(r.batch.Entry.Header)) })
	column(wire.Int4, func(r *row) { a.PutInt4(r.kept) })
	column(wire.Bytea, func(r *row) { a.PutBytes(r.gone) })
	column(wire.Bytea, func(r *row) { a.PutBytes(r.bodies) })
	column(wire.Bytea, func(r *row) { a.PutBytes(r.state) })
	column(wire.Bool, func(r *row) { a.PutBool(isLive(r.batch.Thread)) })
	column(wire.Int8, func(r *row) { putDue(a, r.batch.Thread.Due) })
	column(wire.Int8, func(r *row) { a.PutInt8(int64(r.batch.Thread.Minute())) })
	column(wire.Bytea, func(r *row) { a.PutBytes(r.marks) })
	column(wire.Int8, func(r *row) { a.PutInt8(sumGates(r.gates)) })

	gates := partsOf(requests, func(r *row) int { return len(r.gates) })
	gates.owners(a)
	gates.write(a, wire.Int8, func(r *row, i int) { a.PutInt8(r.gates[i].list) })
	gates.write(a, wire.Bytea, func(r *row, i int) { a.PutText(string(r.gates[i].id)) })
	dropped := partsOf(requests, func(r *row) int { return len(r.dropped) })
	dropped.owners(a)
	dropped.write(a, wire.Bytea, func(r *row, i int) { putKey(a, r.dropped[i]) })
	ids := partsOf(requests, func(r *row) int { return len(r.ids) })
	ids.owners(a)
	ids.write(a, wire.Bytea, func(r *row, i int) { putKey(a, r.ids[i].id) })
	ids.write(a, wire.Bytea, func(r *row, i int) { r.ids[i].putOrder(a) })
	ids.write(a, wire.Int8, func(r *row, i int) { r.ids[i].putCoordination(a) })
	terms := partsOf(requests, func(r *row) int { return len(r.terms) })
	terms.write(a, wire.Int8, func(r *row, i int) { a.PutInt8(r.terms[i]) })
	before := int32(0) // terms of the entries before
	ids.write(a, wire.Int4, func(r *row, i int) {
		a.PutInt4(before + r.ids[i].end)
		if i == len(r.ids)-1 {
			before += int32(len(r.terms))
		}
	})
}

// parts are what entries have several of.
type parts struct {
	requests []*request
	count    func(*row) int
	total    int
}

func partsOf(requests []*request, count func(*row) int) (p parts) {
	p = parts{requests: requests, count: count}
	for _, q := range requests {
		p.total += count(&q.row)
	}
	return p
}

// write writes an array of all parts.
func (p *parts) write(a *wire.Args, of wire.Type, put func(r *row, i int)) {
	p.each(a, of, func(entry, i int) { put(&p.requests[entry].row, i) })
}

// owners writes an array of the numbers, from 1, of the entries that the parts are of.
func (p *parts) owners(a *wire.Args) {
	p.each(a, wire.Int4, func(entry, _ int) { a.PutInt4(int32(entry + 1)) })
}

func (p *parts) each(a *wire.Args, of wire.Type, put func(entry, i int)) {
	entry, i := 0, 0
	a.Array(of, p.total, func(int) {
		for i == p.count(&p.requests[entry].row) {
			entry, i = entry+1, 0
		}
		put(entry, i)
		i++
	})
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
func (id *newID) putOrder(a *wire.Args) {
	if id.checkpoint {
		a.PutBytes(id.order[:])
	} else {
		a.PutNull()
	}
}

// putCoordination puts NULL for an id that is no checkpoint's.
func (id *newID) putCoordination(a *wire.Args) {
	if id.checkpoint {
		a.PutInt8(id.coordination)
	} else {
		a.PutNull()
	}
}

// putDue puts NULL for 0.
func putDue(a *wire.Args, at posthouse.Millis) {
	if at == 0 {
		a.PutNull()
	} else {
		a.PutInt8(int64(at))
	}
}

// keyOf returns the key of an id: the 16 bytes of our UUIDs, the text of all others, which
// is ASCII, as the bytes of a UUID are not.
func keyOf(id posthouse.ID) []byte {
	if k, ok := id.UUID(); ok {
		return k[:]
	}
	return []byte(id)
}

// putKey puts the key of an id.
func putKey(a *wire.Args, id posthouse.ID) {
	if k, ok := id.UUID(); ok {
		a.PutBytes(k[:])
	} else {
		a.PutText(string(id))
	}
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
		for _, list := range lists.OfGate(w) {
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
