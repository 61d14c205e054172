package sqlitestore

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
)

// Remove implements [posthouse.Store]. Removed bytes are overwritten in the
// database; copies in the write-ahead log go when that is folded in, which
// Compact and Close do at once.
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	if r.Thread == "" {
		return done, invalid("thread", "is empty")
	}
	doing := fmt.Sprintf("remove from thread %q", r.Thread)
	err = s.submit(ctx, doing, request{do: func(w *writer) (err error) {
		done, err = s.remove(w, &r)
		return err
	}})
	if err != nil {
		return posthouse.Removed{}, err
	}
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
		if err := w.dropRows(qDropSlots, r.Thread); err != nil || t.id == 0 {
			return done, err // there may be slots without a log
		}
		if done, err = s.removeEntries(w, t, r.Thread, 0, t.tail.Seq+1); err != nil {
			return done, err
		}
		if err := w.reopen(t, nil); err != nil {
			return done, err
		}
		delete(w.threads, r.Thread)
		return done, first(w.dropRow(qDropTail, t.id), w.dropRow(qDropThread, t.id))
	case t.id == 0:
		return done, nil
	case r.Below > 0:
		if err := w.catchUp(r.Thread); err != nil { // it may need what goes
			return done, err
		}
		return s.removeEntries(w, t, r.Thread, min(r.From, maxSeq), min(r.Below, t.tail.Seq+1))
	}
	return s.removeBodies(w, t, r.Bodies)
}

func (w *writer) dropRows(statement int, name string) error {
	stmt, err := w.stmt(statement)
	if err != nil {
		return err
	}
	stmt.BindText(1, name)
	return exec(stmt)
}

func (w *writer) dropRow(statement int, id int64) error {
	stmt, err := w.stmt(statement)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, id)
	return exec(stmt)
}

// removeEntries takes entries out, the ids that lead to them, and their packs.
func (s *Store) removeEntries(w *writer, t *thread, name string, from, below uint64) (done posthouse.Removed, err error) {
	terms := indexTermRows{}
	packs, err := s.unindexEntries(w, t, name, from, below, terms, &done)
	if err != nil {
		return done, err
	}
	stmt, err := w.stmt(qDropEntries)
	if err != nil {
		return done, err
	}
	stmt.BindInt64(1, t.id)
	stmt.BindInt64(2, int64(from))
	stmt.BindInt64(3, int64(below))
	if err := exec(stmt); err != nil {
		return done, err
	}
	if err := w.dropIndexTerms(t, name, terms, from, below); err != nil {
		return done, err
	}
	// Blocks that were cut in two have bytes of both sides in their packs.
	for _, cut := range []uint64{from, below} {
		if err := s.repackWithout(w, t, cut, packs); err != nil {
			return done, err
		}
	}
	for id := range packs {
		if err := s.dropPack(w, id); err != nil {
			return done, err
		}
	}
	// Ids of entries are never used again, also when the newest are gone.
	return done, w.setNumber(numberEntries, w.next-1)
}

// repackWithout writes the packs of a block anew if they are among those that
// removed entries were in. The old ones are dropped with it.
func (s *Store) repackWithout(w *writer, t *thread, seq uint64, packs map[int64]bool) error {
	rows, err := s.block(w, t.id, seq)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.was.pack != 0 && packs[r.was.pack>>8] {
			p, err := s.plan(w, rows)
			if err != nil {
				return err
			}
			return s.repack(w, p)
		}
	}
	return nil
}

// unindexEntries counts the entries from one number to below another, takes
// their ids out of the index, collects their terms and returns the packs they
// are in.
func (s *Store) unindexEntries(w *writer, t *thread, name string, from, below uint64, terms indexTermRows, done *posthouse.Removed) (packs map[int64]bool, err error) {
	packs = map[int64]bool{}
	stmt, err := w.stmt(qRead)
	if err != nil || below <= from {
		return packs, err
	}
	stmt.BindText(1, name)
	stmt.BindInt64(2, int64(from))
	stmt.BindInt64(3, int64(below-1))
	for {
		row, err := stmt.Step()
		if err != nil {
			return nil, err
		}
		if !row {
			return packs, stmt.Reset()
		}
		e, err := scanHead(stmt, name)
		if err == nil {
			b := stored{gone: columnBytes(stmt, colGone), pack: stmt.ColumnInt64(colPack)}
			if b.pack != 0 {
				packs[b.pack>>8] = true
			}
			err = w.unindexEntry(e, stmt.ColumnInt64(colID), &b, terms, done)
		}
		if err != nil {
			return nil, first(err, stmt.Reset())
		}
	}
}

func (w *writer) unindexEntry(e *posthouse.Entry, id int64, b *stored, terms indexTermRows, done *posthouse.Removed) error {
	records, err := e.Records()
	if err != nil {
		return err
	}
	done.Entries++
	done.Bytes += int64(len(e.Header) + len(e.Sig))
	for i := range records {
		r := &records[i]
		if r.Size > 0 && !b.isGone(i) {
			done.Bodies++
			done.Bytes += int64(r.Size)
		}
		if r.Checkpoint != nil {
			terms.add(e.Seq, r.Checkpoint)
		}
		name, ok := idOf(r)
		if !ok {
			continue
		}
		k := keyOf(name)
		p, err := w.place(&k)
		if err == nil && p.entry == id {
			err = w.unindexHead(&k, p, r.Checkpoint)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeBodies takes single bodies out. Those in packs are taken out by
// writing the packs anew.
func (s *Store) removeBodies(w *writer, t *thread, refs []posthouse.BodyRef) (done posthouse.Removed, err error) {
	blocks := map[uint64][]posthouse.BodyRef{}
	for _, ref := range refs {
		if ref.Seq <= t.tail.Seq && ref.Record >= 0 {
			blocks[ref.Seq/blockSize] = append(blocks[ref.Seq/blockSize], ref)
		}
	}
	for n, refs := range blocks {
		if err := s.removeFromBlock(w, t, n*blockSize, refs, &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (s *Store) removeFromBlock(w *writer, t *thread, seq uint64, refs []posthouse.BodyRef, done *posthouse.Removed) error {
	rows, err := s.block(w, t.id, seq)
	if err != nil {
		return err
	}
	packed := false
	for _, r := range rows {
		if err := r.cut(refs, done); err != nil {
			return err
		}
		packed = packed || r.gone && r.was.pack != 0
	}
	if packed {
		p, err := s.plan(w, rows)
		if err != nil {
			return err
		}
		return s.repack(w, p)
	}
	for _, r := range rows {
		if r.gone {
			if err := w.setBody(qSetBody, r.id, r.body.gone, r.body.body, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut takes the bodies that refs name out of the row, in memory.
func (r *row) cut(refs []posthouse.BodyRef, done *posthouse.Removed) error {
	named := false
	for _, ref := range refs {
		named = named || ref.Seq == r.e.Seq
	}
	if !named {
		return nil
	}
	if err := r.body.split(r.e); err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.Seq != r.e.Seq || ref.Record >= len(r.e.Bodies) || r.e.Bodies[ref.Record] == nil {
			continue
		}
		done.Bodies++
		done.Bytes += int64(len(r.e.Bodies[ref.Record]))
		r.e.Bodies[ref.Record], r.gone = nil, true
		r.body.setGone(ref.Record)
	}
	if r.gone {
		left := make([]byte, 0, len(r.body.body))
		for _, b := range r.e.Bodies {
			left = append(left, b...)
		}
		r.body.body = left
	}
	return nil
}
