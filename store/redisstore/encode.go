package redisstore

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/terms"
)

// Fields that the scripts read are of fixed width and big-endian, so that bytes sort like
// numbers: see lua/index.lua for places and records of threads, lua/remove.lua for
// entries.

func key64(n uint64) string { return string(binary.BigEndian.AppendUint64(nil, n)) }

func number64(key string) uint64 { return binary.BigEndian.Uint64([]byte(key)) }

// positionSize is that of an encoded position.
const positionSize = 8 + 32

func position(p posthouse.Position) string { return key64(p.Seq) + string(p.Hash[:]) }

func readPosition(b string) (p posthouse.Position) {
	p.Seq = number64(b[:8])
	copy(p.Hash[:], b[8:])
	return p
}

// entryValue encodes an entry, and its bodies as another value.
func entryValue(b *posthouse.Batch) (value, joined string, err error) {
	gone, err := bodies.Absent(b)
	if err != nil {
		return "", "", err
	}
	all, kept := bodies.Join(b.Entry.Bodies)
	ids := make([]string, len(b.IDs))
	for i := range b.IDs {
		ids[i] = string(b.IDs[i].ID)
	}
	return encodeEntry(b.Entry, strings.Join(ids, " "), kept, gone), string(all), nil
}

func encodeEntry(e *posthouse.Entry, ids string, kept int, gone bodies.Gone) string {
	b := make([]byte, 0, 128+len(ids)+len(e.Header)+len(e.Sig))
	b = append(b, e.Hash[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(kept))
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Header)+len(e.Sig)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(ids)))
	b = append(b, ids...)
	b = canon.AppendUint(b, uint64(e.Generation))
	prev := e.Prev[:]
	if e.Prev.IsZero() {
		prev = nil
	}
	b = canon.AppendBytes(canon.AppendBytes(canon.AppendBytes(b, prev), e.Sig), e.Header)
	return string(canon.AppendBytes(b, gone))
}

// A storedEntry is an entry without its bodies, and what is kept beside it.
type storedEntry struct {
	*posthouse.Entry
	ids  []posthouse.ID
	gone bodies.Gone
	kept int // bodies that it has
}

func decodeEntry(thread string, seq uint64, value string) (*storedEntry, error) {
	e := &storedEntry{Entry: &posthouse.Entry{Thread: thread, Seq: seq}}
	b := []byte(value)
	if len(b) < 44 || uint64(binary.BigEndian.Uint32(b[40:])) > uint64(len(b)-44) {
		return nil, posthouse.Corrupt("entry %d of thread %q is cut off", seq, thread)
	}
	copy(e.Hash[:], b)
	ids := b[44 : 44+binary.BigEndian.Uint32(b[40:])]
	for id := range strings.FieldsSeq(string(ids)) {
		e.ids = append(e.ids, posthouse.ID(id))
	}
	r := canon.NewReader(b[44+len(ids):])
	e.Generation = uint32(r.Uint())
	copy(e.Prev[:], r.Bytes())
	e.Sig, e.Header, e.gone = slices.Clip(r.Bytes()), slices.Clip(r.Bytes()), r.Bytes()
	if len(e.Sig) == 0 {
		e.Sig = nil
	}
	if err := r.Done(); err != nil {
		return nil, posthouse.Corrupt("entry %d of thread %q does not decode: %v", seq, thread, err)
	}
	e.kept = int(binary.BigEndian.Uint32(b[32:]))
	if size := binary.BigEndian.Uint32(b[36:]); size != uint32(len(e.Sig)+len(e.Header)) {
		return nil, posthouse.Corrupt("entry %d of thread %q has another size than it says", seq, thread)
	}
	return e, nil
}

// place encodes where an id leads. Coordinations are among the lists.
func place(id *posthouse.IndexedID, thread string, seq uint64) string {
	b := binary.BigEndian.AppendUint64(nil, seq)
	if id.Header == nil {
		return string(append(append(b, 0, 0), thread...))
	}
	lists := listsOf(id.Header)
	b = binary.BigEndian.AppendUint16(b, uint16(len(lists)))
	for _, list := range lists {
		b = append(b, list...)
	}
	return string(append(append(b, id.Order[:]...), thread...))
}

// listsOf returns the lists that have the checkpoint.
func listsOf(h *posthouse.Header) []string {
	lists := []string{key64(uint64(terms.Hash(h.Coordination)))}
	for _, t := range terms.Of(h) {
		lists = append(lists, key64(uint64(t)))
	}
	return lists
}

// listsIn returns lists that have every checkpoint that the query matches.
func listsIn(q *posthouse.Query) (lists []string) {
	if q.Coordination != "" {
		lists = append(lists, key64(uint64(terms.Hash(q.Coordination))))
	}
	for _, t := range terms.In(q) {
		lists = append(lists, key64(uint64(t)))
	}
	return lists
}

func readPlace(b string) (ref posthouse.Ref, ok bool) {
	if len(b) < 10 {
		return ref, false
	}
	at := 10
	if n := int(binary.BigEndian.Uint16([]byte(b[8:]))); n > 0 {
		at += 8*n + 16
	}
	if at > len(b) {
		return ref, false
	}
	return posthouse.Ref{Thread: b[at:], Seq: number64(b[:8])}, true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record encodes a summary with what scripts need of it.
func record(t *posthouse.ThreadInfo) (string, error) {
	b := []byte(position(t.Tail))
	active := byte('0')
	if isActive(t) {
		active = '1'
	}
	b = binary.BigEndian.AppendUint64(append(b, active), uint64(t.Due))
	var rows []byte
	for i := range t.Waiting {
		w := &t.Waiting[i]
		for _, list := range lists.OfGate(w) {
			rows = binary.BigEndian.AppendUint64(rows, uint64(list))
			rows = append(append(rows, byte(len(w.ID))), w.ID...)
		}
	}
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(rows))), rows...)
	info, err := t.AppendBinary(nil)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(info, castagnoli))
	return string(append(b, info...)), err
}

// readRecord decodes the summary of a record.
func readRecord(thread, record string) (*posthouse.ThreadInfo, error) {
	b := []byte(record)
	const fixed = positionSize + 1 + 8
	if len(b) < fixed+8 || uint64(binary.BigEndian.Uint32(b[fixed:])) > uint64(len(b)-fixed-8) {
		return nil, posthouse.Corrupt("the summary of thread %q is cut off", thread)
	}
	b = b[fixed+4+binary.BigEndian.Uint32(b[fixed:]):]
	if crc32.Checksum(b[4:], castagnoli) != binary.BigEndian.Uint32(b) {
		return nil, posthouse.Corrupt("the summary of thread %q does not have its checksum", thread)
	}
	info := &posthouse.ThreadInfo{}
	if err := info.UnmarshalBinary(b[4:]); err != nil {
		return nil, err
	}
	if info.Thread != thread {
		return nil, posthouse.Corrupt("thread %q has the summary of thread %q", thread, info.Thread)
	}
	return info, nil
}

// isActive reports whether a query for work may match the thread.
func isActive(t *posthouse.ThreadInfo) bool {
	return len(t.Waiting) > 0 || t.Lease.Held || t.Due != 0 || t.Runnable()
}

func (e *storedEntry) joinedIDs() string {
	ids := make([]string, len(e.ids))
	for i, id := range e.ids {
		ids[i] = string(id)
	}
	return strings.Join(ids, " ")
}
