package sqlitestore

import (
	"cmp"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// A writer holds the one connection that writes, and the state of the threads it wrote.
// Only the leader of the queue uses it.
type writer struct {
	*db.Conn
	next     int64 // the id of the next entry
	first    int64 // next as it was when the transaction began
	nextPack int64 // the id of the next pack; 0: unknown
	threads  map[string]*thread
	hasUUID7 bool // table ids has a version 7 UUID
	wrote    bool // the current request has changed something
	buf      []byte
	body     []byte
	key, cid layout.Key // of the current entry
}

// openWriter opens the connection that writes, unless it is open.
func (s *Store) openWriter() error {
	if s.writer != nil {
		return nil
	}
	c, err := s.connect(db.ModeWrite)
	if err != nil {
		return s.wrap("open the database", err)
	}
	var w *writer
	err = s.writes(c)
	if err == nil {
		w, err = newWriter(c)
	}
	if err != nil {
		return s.wrap("find the end of the log", cmp.Or(err, c.Close()))
	}
	s.writer = w
	return nil
}

func newWriter(c *db.Conn) (*writer, error) {
	w := &writer{Conn: c, threads: map[string]*thread{}}
	last, err := layout.LastEntry(w.Conn)
	if err != nil {
		return nil, err
	}
	w.next, w.first = last+1, last+1
	w.hasUUID7, err = layout.HasUUID7(w.Conn)
	return w, err
}

// forget drops what a transaction that was rolled back may have left in memory.
func (w *writer) forget() {
	clear(w.threads)
	w.nextPack = 0
	w.next = w.first
}

// append writes one batch. last is false if another batch of the thread follows in the
// same transaction, so that the summary need not be written yet.
func (w *writer) append(b *posthouse.Batch, last bool) error {
	e := b.Entry
	t, err := w.thread(e.Thread)
	if err != nil {
		return err
	}
	if t.tail != b.After {
		return w.checkRepeat(t, b)
	}
	w.wrote = true
	for _, id := range b.Drop {
		if err := w.drop(t, id); err != nil {
			return err
		}
	}
	var cid *layout.Key
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
	for i := range b.IDs {
		if h := b.IDs[i].Header; h != nil {
			if err := t.terms.Add(w.Conn, t.id, e.Seq, h); err != nil {
				return err
			}
		}
	}
	if err := w.insert(t.id, b, cid); err != nil {
		return err
	}
	t.tail = posthouse.Position{Seq: e.Seq, Hash: e.Hash}
	w.next++
	return nil
}

// checkRepeat decides an append that does not meet the tail. It returns nil if the log already
// has the entry and b.First is not set, else [posthouse.ErrConflict].
func (w *writer) checkRepeat(t *thread, b *posthouse.Batch) error {
	if b.First {
		return valid.Conflict(b, t.tail)
	}
	if t.tail == (posthouse.Position{Seq: b.Entry.Seq, Hash: b.Entry.Hash}) {
		return nil // even if its bytes were removed since
	}
	if t.id != 0 && b.Entry.Seq < t.tail.Seq {
		var have posthouse.Entry
		var bad error
		row, err := w.Row(qHead, func(stmt *sqlite.Stmt) { bad = layout.ReadHead(&have, db.Bytes(stmt, 0)) }, t.id, b.Entry.Seq)
		err = cmp.Or(err, bad)
		if err != nil {
			return err
		}
		if row && have.Hash == b.Entry.Hash {
			return nil
		}
	}
	return valid.Conflict(b, t.tail)
}

// insert writes the entry's row. cid is the id that the row itself resolves, or nil.
func (w *writer) insert(thread int64, b *posthouse.Batch, cid *layout.Key) error {
	e := b.Entry
	gone, err := bodies.Absent(b)
	if err != nil {
		return err
	}
	var place any
	if cid != nil {
		place = cid.Param()
	}
	w.buf = layout.AppendHead(w.buf[:0], e, cid != nil)
	if err := w.Run(qAddEntry, w.next, thread, e.Seq, place, w.buf, w.joined(e.Bodies), []byte(gone)); err != nil {
		return err
	}
	if w.Changes() == 1 {
		return nil
	}
	if cid != nil {
		if p, err := layout.FindPlace(w.Conn, cid); err != nil || p.Entry != 0 {
			return cmp.Or(err, taken(cid, thread, &p))
		}
	}
	return posthouse.Corrupt("thread %q has an entry behind its tail", e.Thread)
}

// joined returns the bodies in one slice, valid until the next call, nil if they are
// empty.
func (w *writer) joined(parts [][]byte) (all []byte) {
	n := 0
	for _, b := range parts {
		if len(b) > 0 {
			all = b
			n++
		}
	}
	if n < 2 {
		return all
	}
	if cap(w.body) > 1<<20 {
		w.body = nil
	}
	w.body = w.body[:0]
	for _, b := range parts {
		w.body = append(w.body, b...)
	}
	return w.body
}
