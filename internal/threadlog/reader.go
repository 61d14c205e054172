package threadlog

import (
	"context"

	"github.com/posthouse/posthouse"
)

// A Reader reads entries of one thread, checks their hashes, and caches them.
type Reader struct {
	Logs   *Logs
	Ctx    context.Context
	Thread string
	Have   map[uint64]*ReadEntry
	Size   int // bytes of the bodies in have

	Known map[string][]byte // values of parts of the checkpoint to read next
}

// A ReadEntry is an entry that a [Reader] has, with its records.
type ReadEntry struct {
	posthouse.Entry
	Recs      []posthouse.Record
	HasBodies bool
}

func (e *ReadEntry) Bytes() int {
	n := len(e.Header)
	for _, b := range e.Bodies {
		n += len(b)
	}
	return n
}

// Reader returns a reader of one thread.
func (l *Logs) Reader(ctx context.Context, thread string) *Reader {
	return &Reader{Logs: l, Ctx: ctx, Thread: thread, Have: map[uint64]*ReadEntry{}}
}

// Bounds on what a reader keeps while it walks a long history.
const (
	KeepEntries = 4096
	KeepBytes   = 64 << 20
)

// Fetch reads the missing entries of a range. An entry that it has with bodies keeps
// them.
func (r *Reader) Fetch(rg posthouse.Range) error {
	for e, err := range r.Logs.Store.Read(r.Ctx, r.Thread, rg) {
		if err != nil {
			return err
		}
		old := r.Have[e.Seq]
		if old != nil && (old.HasBodies || rg.Headers) {
			continue
		}
		if rg.Headers {
			e.Bodies = nil
		}
		if err := r.Keep(e, !rg.Headers); err != nil {
			return err
		}
	}
	return nil
}

// Keep takes an entry of the thread that was read already, with or without its bodies.
func (r *Reader) Keep(e *posthouse.Entry, bodies bool) error {
	recs, err := r.Logs.Vault.OpenEntry(r.Ctx, e)
	if err != nil {
		return err
	}
	r.Have[e.Seq] = &ReadEntry{*e, recs, bodies}
	for _, b := range e.Bodies {
		r.Size += len(b)
	}
	return nil
}

// Entry returns a checked entry, with or without its bodies. [posthouse.ErrCorrupt] if
// it is missing.
func (r *Reader) Entry(seq uint64, bodies bool) (*ReadEntry, error) {
	if e := r.Have[seq]; e != nil && (e.HasBodies || !bodies) {
		return e, nil
	}
	r.makeRoom()
	if err := r.Fetch(posthouse.Range{Seqs: []uint64{seq}, Headers: !bodies}); err != nil {
		return nil, err
	}
	if e := r.Have[seq]; e != nil {
		return e, nil
	}
	return nil, posthouse.Corrupt("entry %d of thread %q is missing", seq, r.Thread)
}

// makeRoom forgets what the reader has, if that is too much.
func (r *Reader) makeRoom() {
	if len(r.Have) > KeepEntries || r.Size > KeepBytes {
		clear(r.Have)
		r.Size = 0
	}
}

func (e *ReadEntry) CheckpointRecord() (*posthouse.Record, int, error) {
	for i := range e.Recs {
		if e.Recs[i].Checkpoint != nil {
			return &e.Recs[i], i, nil
		}
	}
	return nil, 0, posthouse.Corrupt("entry %d of thread %q holds no checkpoint", e.Seq, e.Thread)
}

// Header returns the checkpoint of an entry.
func (r *Reader) Header(seq uint64) (*posthouse.Header, error) {
	e, err := r.Entry(seq, false)
	if err != nil {
		return nil, err
	}
	rec, _, err := e.CheckpointRecord()
	if err != nil {
		return nil, err
	}
	return rec.Checkpoint, nil
}
