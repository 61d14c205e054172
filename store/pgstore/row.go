package pgstore

import (
	"encoding/binary"
	"hash/crc32"
	"hash/fnv"
	"slices"

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

// A row is a batch as the tables have it.
type row struct {
	name, afterHash                       []byte
	afterSeq, seq, generation             int64
	prev, hash, sig, header, gone, bodies []byte
	kept                                  int32
	state                                 []byte
	live                                  bool
	due                                   *int64
	gates                                 int64
	gateLists                             []int64
	gateIDs                               [][]byte
	index
}

func rowOf(b *posthouse.Batch) (*row, error) {
	e, info := b.Entry, b.Thread
	r := &row{
		name: []byte(e.Thread), afterSeq: int64(b.After.Seq), afterHash: orNull(b.After.Hash),
		seq: int64(e.Seq), generation: int64(e.Generation), prev: orNull(e.Prev), hash: e.Hash[:],
		sig: nonEmpty(e.Sig), header: orEmpty(e.Header), live: isLive(info), due: dueOf(info), index: indexOf(b),
	}
	gone, err := bodies.Absent(b)
	if err != nil {
		return nil, err
	}
	joined, kept := bodies.Join(e.Bodies)
	r.gone, r.bodies, r.kept = nonEmpty(gone), nonEmpty(joined), int32(kept)
	r.gateLists, r.gateIDs = gateRows(info.Waiting)
	r.gates = sumGates(r.gateLists, r.gateIDs)
	r.state, err = appendState(info)
	return r, err
}

// arguments returns those of callAppend.
func (r *row) arguments(careful bool) []any {
	return []any{
		careful, r.name, r.afterSeq, r.afterHash,
		r.seq, r.generation, r.prev, r.hash, r.sig, r.header,
		r.kept, r.gone, r.bodies, r.state, r.live, r.due,
		r.gates, r.gateLists, r.gateIDs,
		r.dropped, r.ids, r.orders, r.coordinations, r.terms, r.ends,
	}
}

// column returns one field of all rows.
func column[T any](requests []*request, field func(*row) T) []T {
	all := make([]T, len(requests))
	for i, r := range requests {
		all[i] = field(r.row)
	}
	return all
}

// argumentsOfMany returns those of callAppendMany.
func argumentsOfMany(requests []*request) []any {
	var x index
	var gateOf, droppedOf, idOf []int32
	var lists []int64
	var gates [][]byte
	for i, q := range requests {
		r, n := q.row, int32(i+1)
		lists, gates = append(lists, r.gateLists...), append(gates, r.gateIDs...)
		gateOf = append(gateOf, slices.Repeat([]int32{n}, len(r.gateLists))...)
		x.dropped = append(x.dropped, r.dropped...)
		droppedOf = append(droppedOf, slices.Repeat([]int32{n}, len(r.dropped))...)
		for _, end := range r.ends {
			x.ends = append(x.ends, int32(len(x.terms))+end)
		}
		x.ids, x.orders, x.coordinations = append(x.ids, r.ids...), append(x.orders, r.orders...), append(x.coordinations, r.coordinations...)
		x.terms = append(x.terms, r.terms...)
		idOf = append(idOf, slices.Repeat([]int32{n}, len(r.ids))...)
	}
	bytes := func(field func(*row) []byte) [][]byte { return column(requests, field) }
	return []any{
		bytes(func(r *row) []byte { return r.name }),
		column(requests, func(r *row) int64 { return r.afterSeq }),
		bytes(func(r *row) []byte { return r.afterHash }),
		column(requests, func(r *row) int64 { return r.seq }),
		column(requests, func(r *row) int64 { return r.generation }),
		bytes(func(r *row) []byte { return r.prev }),
		bytes(func(r *row) []byte { return r.hash }),
		bytes(func(r *row) []byte { return r.sig }),
		bytes(func(r *row) []byte { return r.header }),
		column(requests, func(r *row) int32 { return r.kept }),
		bytes(func(r *row) []byte { return r.gone }),
		bytes(func(r *row) []byte { return r.bodies }),
		bytes(func(r *row) []byte { return r.state }),
		column(requests, func(r *row) bool { return r.live }),
		column(requests, func(r *row) *int64 { return r.due }),
		column(requests, func(r *row) int64 { return r.gates }),
		gateOf, lists, gates, droppedOf, x.dropped,
		idOf, x.ids, x.orders, x.coordinations, x.terms, x.ends,
	}
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

func orNull(h posthouse.Hash) []byte {
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
	dropped, ids, orders [][]byte
	coordinations        []*int64
	terms                []int64 // of all checkpoints, one after the other
	ends                 []int32 // where the terms of each id end
}

func indexOf(b *posthouse.Batch) (x index) {
	for _, id := range b.Drop {
		x.dropped = append(x.dropped, keyOf(id))
	}
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
			x.dropped = append(x.dropped, keyOf(id.ID))
		}
		x.ids = append(x.ids, keyOf(id.ID))
		var order []byte
		var coordination *int64
		if id.Header != nil {
			order = id.Order[:]
			c := terms.Hash(id.Header.Coordination)
			coordination = &c
			x.terms = append(x.terms, terms.Of(id.Header)...)
		}
		x.orders, x.coordinations = append(x.orders, order), append(x.coordinations, coordination)
		x.ends = append(x.ends, int32(len(x.terms)))
	}
	return x
}

// keyOf returns the key of an id: the 16 bytes of our UUIDs, the text of all others, which
// is ASCII, as the bytes of a UUID are not.
func keyOf(id posthouse.ID) []byte {
	if k, ok := id.UUID(); ok {
		return k[:]
	}
	return []byte(id)
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

// gateRows returns the rows of open gates, in step.
func gateRows(waiting []posthouse.WaitingGate) (lists []int64, gates [][]byte) {
	for i := range waiting {
		w := &waiting[i]
		for _, list := range w.Lists() {
			lists, gates = append(lists, int64(list)), append(gates, []byte(w.ID))
		}
	}
	return lists, gates
}

// sumGates returns a hash of the rows, 0 for no rows. It says whether a thread's rows are
// those of its summary.
func sumGates(lists []int64, gates [][]byte) int64 {
	if len(lists) == 0 {
		return 0
	}
	h := fnv.New64a()
	var num [8]byte
	for i, list := range lists {
		binary.BigEndian.PutUint64(num[:], uint64(list))
		_, _ = h.Write(num[:])
		_, _ = h.Write(gates[i])
	}
	return int64(h.Sum64() | 1)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendState encodes a summary after its checksum.
func appendState(info *posthouse.ThreadInfo) ([]byte, error) {
	b, err := info.AppendBinary(make([]byte, 4, 256))
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
