package sqlitestore

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// A writer holds the one connection that writes, and what it knows of the
// threads it wrote. Only the leader of the queue uses it.
type writer struct {
	*conn
	next     int64 // the id of the next entry
	first    int64 // the same when the transaction began
	nextPack int64 // the id of the next pack; 0: not known
	threads  map[string]*thread
	hasUUID7 bool // ids has a version 7 UUID
	wrote    bool // the current request has changed something
	buf      []byte
	body     []byte
	key, cid key // of the current entry
	terms    []int64
}

// openWriter opens the connection that writes, unless it is open.
func (s *Store) openWriter() error {
	if s.writer != nil {
		return nil
	}
	c, err := s.connect(modeWrite)
	if err != nil {
		return s.wrap("open the database", err)
	}
	var w *writer
	if err = s.writes(c); err == nil {
		w, err = newWriter(c)
	}
	if err != nil {
		return s.wrap("find the end of the log", first(err, c.Close()))
	}
	s.writer = w
	return nil
}

func newWriter(c *conn) (*writer, error) {
	w := &writer{conn: c, threads: map[string]*thread{}}
	last, err := w.last(qLastEntry)
	if err != nil {
		return nil, err
	}
	w.next, w.first = last+1, last+1
	uuid7, err := w.slot(posthouse.SlotKey{Step: numberUUID7})
	w.hasUUID7 = uuid7.Revision != 0
	return w, err
}

// forget drops what a rolled back transaction may have left in memory.
func (w *writer) forget() {
	clear(w.threads)
	w.nextPack = 0
	w.next = w.first
}

// append writes one batch. last is false if another of the thread follows in the
// same transaction, whose summary is then the one to keep.
func (w *writer) append(b *posthouse.Batch, last bool) error {
	e := b.Entry
	t, err := w.thread(e.Thread)
	if err != nil {
		return err
	}
	if t.tail != b.After {
		return w.settled(t, b)
	}
	w.wrote = true
	for _, id := range b.Drop {
		if err := w.drop(t, id); err != nil {
			return err
		}
	}
	var cid *key
	for i := range b.IDs {
		if err := w.index(t, e.Thread, &b.IDs[i], &cid); err != nil {
			return err
		}
	}
	if last || t.id == 0 {
		if err := w.summarise(t, b); err != nil {
			return err
		}
		if err := w.reopen(t, b.Thread.Waiting); err != nil {
			return err
		}
	}
	if err := w.addIndexTerms(t, b); err != nil {
		return err
	}
	if err := w.insert(t.id, b, cid); err != nil {
		return err
	}
	t.tail = posthouse.Position{Seq: e.Seq, Hash: e.Hash}
	w.next++
	return nil
}

// settled answers an append that does not meet the tail: it may be there.
func (w *writer) settled(t *thread, b *posthouse.Batch) error {
	if t.tail == (posthouse.Position{Seq: b.Entry.Seq, Hash: b.Entry.Hash}) {
		return nil // also when its bytes were removed since
	}
	if t.id != 0 && b.Entry.Seq < t.tail.Seq {
		stmt, err := w.stmt(qHead)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, t.id)
		stmt.BindInt64(2, int64(b.Entry.Seq))
		row, err := stmt.Step()
		if err != nil {
			return err
		}
		var have posthouse.Entry
		if row {
			err = readHead(&have, columnBytes(stmt, 0))
		}
		if err = first(err, stmt.Reset()); err != nil {
			return err
		}
		if row && have.Hash == b.Entry.Hash {
			return nil
		}
	}
	tail := t.tail
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Tail: &tail,
		Message: fmt.Sprintf("thread %q ends at entry %d, not at %d", b.Entry.Thread, tail.Seq, b.After.Seq),
		Hint:    "read the thread's tail and try again",
	}
}

// insert writes the entry's row; cid is the id it is the place of, or nil.
func (w *writer) insert(thread int64, b *posthouse.Batch, cid *key) error {
	e := b.Entry
	gone, err := absent(b)
	if err != nil {
		return err
	}
	stmt, err := w.stmt(qAddEntry)
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		stmt.BindBytes(7, gone)
	} else {
		stmt.BindNull(7)
	}
	stmt.BindInt64(1, w.next)
	stmt.BindInt64(2, thread)
	stmt.BindInt64(3, int64(e.Seq))
	if cid != nil {
		cid.bind(stmt, 4)
	} else {
		stmt.BindNull(4)
	}
	w.buf = appendHead(w.buf[:0], e, cid != nil)
	stmt.BindBytes(5, w.buf)
	w.bindBody(stmt, 6, e.Bodies)
	if err := exec(stmt); err != nil {
		return err
	}
	if w.Changes() == 1 {
		return nil
	}
	if cid != nil {
		if p, err := w.place(cid); err != nil || p.entry != 0 {
			return first(err, taken(cid, thread, &p))
		}
	}
	return corrupt("thread %q has an entry behind its tail", e.Thread)
}

// absent returns the bitmap of bodies that a copied entry came without.
func absent(b *posthouse.Batch) ([]byte, error) {
	if !b.Copy {
		return nil, nil
	}
	records, err := b.Entry.Records()
	var s stored
	for i := range records {
		if records[i].Size > 0 && (i >= len(b.Entry.Bodies) || len(b.Entry.Bodies[i]) == 0) {
			s.setGone(i)
		}
	}
	return s.gone, err
}

// bindBody binds the bodies joined, or NULL if there is not a byte.
func (w *writer) bindBody(stmt *sqlite.Stmt, param int, bodies [][]byte) {
	var one []byte
	n := 0
	for _, b := range bodies {
		if len(b) > 0 {
			one = b
			n++
		}
	}
	switch n {
	case 0:
		stmt.BindNull(param)
		return
	case 1:
		stmt.BindBytes(param, one)
		return
	}
	w.body = w.body[:0]
	for _, b := range bodies {
		w.body = append(w.body, b...)
	}
	stmt.BindBytes(param, w.body)
	if cap(w.body) > 1<<20 {
		w.body = nil
	}
}
