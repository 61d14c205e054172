package framelog

import (
	"encoding/binary"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
)

// An Entry is an entry of a log with what it changes in the index. The bodies are the
// frame's body.
type Entry struct {
	Commit  uint64 // its number in the order of commits
	Entry   posthouse.Entry
	After   uint64         // the entry that it follows
	Sizes   []int          // of the bodies; 0: no body
	IDs     []posthouse.ID // that lead to it
	Headers []bool         // for each id: the entry has a checkpoint of that id
	Drop    []posthouse.ID // that leave the index
	Summary []byte         // [posthouse.ThreadInfo.MarshalBinary] of the thread; empty: derived from the entry
}

// AppendBatch appends the frame of a batch to dst, and returns the length of its head too. A
// copied one has its summary, since the entries that it follows may not be here.
func AppendBatch(dst []byte, b *posthouse.Batch) (out []byte, head int) {
	var ids [4]posthouse.ID // memory for what most batches have
	var heads [4]bool
	f := Entry{Entry: *b.Entry, After: b.After.Seq, IDs: ids[:0], Headers: heads[:0], Drop: b.Drop}
	for _, id := range b.IDs {
		f.IDs, f.Headers = append(f.IDs, id.ID), append(f.Headers, id.Header != nil)
	}
	if b.Copy {
		f.Summary, _ = b.Thread.MarshalBinary() // never fails
	}
	return f.Append(dst)
}

// commitAt is where a head of an entry has its commit number, 8 bytes.
const commitAt = HeaderSize + 1

// Append appends the frame to b, and returns the length of its head too. Sizes are those
// of the entry's bodies.
func (f *Entry) Append(b []byte) (out []byte, head int) {
	e := &f.Entry
	n := 0
	for _, body := range e.Bodies {
		n += len(body)
	}
	at := len(b)
	if b == nil {
		b = make([]byte, 0, HeaderSize+128+len(e.Thread)+len(e.Header)+len(e.Sig)+len(f.Summary)+48*len(f.IDs)+5*len(e.Bodies)+n)
	}
	b = append(b, make([]byte, HeaderSize)...)
	b = binary.LittleEndian.AppendUint64(append(b, byte(KindEntry)), f.Commit)
	b = canon.AppendUint(canon.AppendString(b, e.Thread), uint64(e.Generation))
	b = canon.AppendUint(canon.AppendUint(b, e.Seq), e.Seq-f.After)
	b = append(append(b, e.Prev[:]...), e.Hash[:]...)
	b = canon.AppendBytes(canon.AppendBytes(b, e.Header), e.Sig)
	b = canon.AppendUint(b, uint64(len(e.Bodies)))
	for _, body := range e.Bodies {
		b = canon.AppendUint(b, uint64(len(body)))
	}
	b = canon.AppendUint(b, uint64(len(f.IDs)))
	for i, id := range f.IDs {
		b = append(canon.AppendString(b, string(id)), flag(f.Headers[i]))
	}
	b = canon.AppendUint(b, uint64(len(f.Drop)))
	for _, id := range f.Drop {
		b = canon.AppendString(b, string(id))
	}
	b = canon.AppendBytes(b, f.Summary)
	head = len(b) - at - HeaderSize
	for _, body := range e.Bodies {
		b = append(b, body...)
	}
	Seal(b[at:], head)
	return b, head
}

// Number gives an entry's frame its commit number.
func Number(b []byte, commit uint64) {
	binary.LittleEndian.PutUint64(b[commitAt:], commit)
	SealHead(b, int(binary.LittleEndian.Uint32(b)))
}

// Read reads the head of a frame of this kind. The entry has no bodies, and shares head.
// [posthouse.ErrCorrupt].
func (f *Entry) Read(head []byte) error {
	r := reader(head, KindEntry)
	*f = Entry{Commit: fixed(r)}
	e := &f.Entry
	e.Thread = r.String()
	e.Generation, e.Seq = uint32(r.Uint()), r.Uint()
	f.After = e.Seq - r.Uint()
	copy(e.Prev[:], r.Raw(32))
	copy(e.Hash[:], r.Raw(32))
	e.Header, e.Sig = r.Bytes(), r.Bytes()
	if len(e.Sig) == 0 {
		e.Sig = nil
	}
	f.Sizes = make([]int, 0, 4)
	for range r.Items() {
		f.Sizes = append(f.Sizes, int(r.Uint()))
	}
	for range r.Items() {
		f.IDs = append(f.IDs, posthouse.ID(r.String()))
		f.Headers = append(f.Headers, r.Byte() == 1)
	}
	for range r.Items() {
		f.Drop = append(f.Drop, posthouse.ID(r.String()))
	}
	f.Summary = r.Bytes()
	return done(r)
}

// Fill gives the entry its bodies, which share the frame's. [posthouse.ErrCorrupt] if
// they are of other sizes.
func (f *Entry) Fill(body []byte) error {
	f.Entry.Bodies = make([][]byte, len(f.Sizes))
	for i, n := range f.Sizes {
		if n < 0 || n > len(body) {
			return posthouse.Corrupt("entry %d of thread %q has bodies of other sizes than it says", f.Entry.Seq, f.Entry.Thread)
		}
		if n > 0 {
			f.Entry.Bodies[i], body = body[:n:n], body[n:]
		}
	}
	if len(body) > 0 {
		return posthouse.Corrupt("entry %d of thread %q has bodies of other sizes than it says", f.Entry.Seq, f.Entry.Thread)
	}
	return nil
}
