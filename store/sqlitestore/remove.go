package sqlitestore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/lists"
)

// Remove implements [posthouse.Store]. It overwrites the removed bytes in the database.
// Copies in the write-ahead log go with it: the log is folded in and emptied before Remove returns, or
// in the background once no reader holds it any more.
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	if r.Thread == "" {
		return done, posthouse.Invalid("thread", "is empty")
	}
	doing := fmt.Sprintf("remove from thread %q", r.Thread)
	err = s.submit(ctx, doing, request{do: func(w *writer) (err error) {
		done, err = s.remove(w, &r)
		return err
	}})
	if err != nil {
		return posthouse.Removed{}, err
	}
	s.folding.removed(ctx)
	return done, nil
}

func (s *Store) remove(w *writer, r *posthouse.Removal) (done posthouse.Removed, err error) {
	w.wrote = true
	t, err := w.thread(r.Thread)
	if err != nil {
		return done, err
	}
	switch {
	case r.All:
		if err := w.Run(qDropSlots, r.Thread); err != nil || t.id == 0 {
			return done, err // slots may exist without a log
		}
		done, err = s.removeEntries(w, t, r.Thread, 0, t.tail.Seq+1)
		if err != nil {
			return done, err
		}
		if err := w.reopen(t, nil); err != nil {
			return done, err
		}
		if err := w.unmark(t, r.Thread, t.face.marks(r.Thread)); err != nil {
			return done, err
		}
		delete(w.threads, r.Thread)
		return done, cmp.Or(w.Run(qDropTail, t.id), w.Run(qDropThread, t.id))
	case t.id == 0:
		return done, nil
	case r.Below > 0:
		if err := w.catchUp(r.Thread); err != nil { // it may need the removed entries
			return done, err
		}
		return s.removeEntries(w, t, r.Thread, min(r.From, valid.MaxSeq), min(r.Below, t.tail.Seq+1))
	}
	return s.removeBodies(w, t, r.Bodies)
}

// removeEntries removes entries, the ids that lead to them, and their packs.
func (s *Store) removeEntries(w *writer, t *thread, name string, from, below uint64) (done posthouse.Removed, err error) {
	terms := lists.Terms{}
	packs, err := s.unindexEntries(w, t, name, from, below, terms, &done)
	if err != nil {
		return done, err
	}
	if err := w.Run(qDropEntries, t.id, from, below); err != nil {
		return done, err
	}
	t.terms = lists.Written{}
	if err := terms.Drop(w.Conn, t.id, name, from, below); err != nil {
		return done, err
	}
	// The packs of a block that was cut in two have bytes of both sides.
	for _, cut := range []uint64{from, below} {
		if err := s.packs.repackWithout(w, t, cut, packs); err != nil {
			return done, err
		}
	}
	for id := range packs {
		if err := s.packs.drop(w, id); err != nil {
			return done, err
		}
	}
	// Ids of entries are never used again, even if the newest are removed.
	return done, layout.SetNumber(w.Conn, layout.NumberEntries, w.next-1)
}

// repackWithout writes the packs of a block again if removed entries were in them. It
// drops the old packs.
func (all *packs) repackWithout(w *writer, t *thread, seq uint64, packs map[int64]bool) error {
	rows, err := all.block(w, t.id, seq)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.was.Pack != 0 && packs[r.was.Pack>>8] {
			p, err := all.plan(w, rows)
			if err != nil {
				return err
			}
			return all.repack(w, p)
		}
	}
	return nil
}

// unindexEntries takes the ids of entries from one number to below another out of the
// index. It counts the entries, collects their terms and returns their packs.
func (s *Store) unindexEntries(w *writer, t *thread, name string, from, below uint64, terms lists.Terms, done *posthouse.Removed) (packs map[int64]bool, err error) {
	packs = map[int64]bool{}
	if below <= from {
		return packs, nil
	}
	for stmt, err := range w.Rows(qRead, name, from, below-1) {
		if err != nil {
			return nil, err
		}
		e, err := layout.ScanHead(stmt, name)
		if err == nil {
			b := layout.Stored{Gone: db.Bytes(stmt, layout.ColGone), Pack: stmt.ColumnInt64(layout.ColPack)}
			if b.Pack != 0 {
				packs[b.Pack>>8] = true
			}
			err = w.unindexEntry(e, stmt.ColumnInt64(layout.ColID), &b, terms, done)
		}
		if err != nil {
			return nil, err
		}
	}
	return packs, nil
}

func (w *writer) unindexEntry(e *posthouse.Entry, id int64, b *layout.Stored, terms lists.Terms, done *posthouse.Removed) error {
	records, err := e.Records()
	if err != nil {
		return err
	}
	done.Entries++
	done.Bytes += int64(len(e.Header) + len(e.Sig))
	for i := range records {
		r := &records[i]
		if r.Size > 0 && !b.Gone.Has(i) {
			done.Bodies++
			done.Bytes += int64(r.Size)
		}
		if r.Checkpoint != nil {
			terms.Add(r.Checkpoint)
		}
		name, ok := layout.IDOf(r)
		if !ok {
			continue
		}
		k := layout.KeyOf(name)
		p, err := layout.FindPlace(w.Conn, &k)
		if err == nil && p.Entry == id {
			err = w.unindexHead(&k, p, r.Checkpoint)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeBodies removes single bodies. It writes the packs that have such bodies again.
func (s *Store) removeBodies(w *writer, t *thread, refs []posthouse.BodyRef) (done posthouse.Removed, err error) {
	blocks := map[uint64][]posthouse.BodyRef{}
	for _, ref := range refs {
		if ref.Seq <= t.tail.Seq && ref.Record >= 0 {
			blocks[ref.Seq/blockSize] = append(blocks[ref.Seq/blockSize], ref)
		}
	}
	for n, refs := range blocks {
		if err := s.packs.removeFrom(w, t, n*blockSize, refs, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// removeFrom removes bodies from the block of a sequence number, and counts them.
func (all *packs) removeFrom(w *writer, t *thread, seq uint64, refs []posthouse.BodyRef, done *posthouse.Removed) error {
	rows, err := all.block(w, t.id, seq)
	if err != nil {
		return err
	}
	packed := false
	for _, r := range rows {
		if err := r.cut(refs, done); err != nil {
			return err
		}
		packed = packed || r.gone && r.was.Pack != 0
	}
	if packed {
		p, err := all.plan(w, rows)
		if err != nil {
			return err
		}
		return all.repack(w, p)
	}
	for _, r := range rows {
		if r.gone {
			if err := w.Run(qSetBody, r.id, []byte(r.body.Gone), r.body.Body); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut removes the bodies that refs name from the row, in memory.
func (r *row) cut(refs []posthouse.BodyRef, done *posthouse.Removed) error {
	if !slices.ContainsFunc(refs, func(ref posthouse.BodyRef) bool { return ref.Seq == r.e.Seq }) {
		return nil
	}
	if err := r.body.Split(r.e); err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.Seq != r.e.Seq || ref.Record >= len(r.e.Bodies) || r.e.Bodies[ref.Record] == nil {
			continue
		}
		done.Bodies++
		done.Bytes += int64(len(r.e.Bodies[ref.Record]))
		r.e.Bodies[ref.Record], r.gone = nil, true
		r.body.Gone.Set(ref.Record)
	}
	if r.gone {
		r.body.Body = bytes.Join(r.e.Bodies, nil)
	}
	return nil
}
