package sqlitestore

import (
	"fmt"

	"github.com/posthouse/posthouse"
	"zombiezen.com/go/sqlite"
)

// A writer holds the one connection that writes, and what it knows of the
// threads it wrote. Only the leader of the queue uses it.
type writer struct {
	*conn
	next     int64 // the id of the next entry
	first    int64 // the same when the transaction began
	nextPack int64 // the id of the next pack; 0: not known
	threads  map[string]*thread
	odd      bool // ids has a version 7 UUID
	wrote    bool // the current request has changed something
	buf      []byte
	body     []byte
	key, cid key // of the current entry
}

// maxKnown bounds the threads a writer remembers.
const maxKnown = 8192

// A thread is what an append compares with and changes.
type thread struct {
	id   int64 // 0: not there yet
	tail posthouse.Position
	top  posthouse.OrderKey
	row  threadRow

	changed bool // the row's flags are not what is stored
}

// A threadRow is the columns that queries look at; they are written only when
// they change, because SQLite rewrites the index entries of a column it sets.
type threadRow struct {
	flags  int64
	active int64
	due    posthouse.Millis
}

// Marks of threads.active.
const (
	activeWaiting = 1
	activeLive    = 2
)

// flagDisorder is a bit of threads.flags: order keys do not ascend with the
// sequence numbers.
const flagDisorder = 1

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
	odd, err := w.slot(posthouse.SlotKey{Step: numberOdd})
	w.odd = odd.Revision != 0
	return w, err
}

// forget drops what a rolled back transaction may have left in memory.
func (w *writer) forget() {
	clear(w.threads)
	w.nextPack = 0
	w.next = w.first
}

// thread returns what is known of a thread; its id is 0 if there is none.
func (w *writer) thread(name string) (*thread, error) {
	if t := w.threads[name]; t != nil {
		return t, nil
	}
	t, err := w.loadThread(name)
	if err != nil {
		return nil, err
	}
	if t.id != 0 {
		w.remember(name, t)
	}
	return t, nil
}

func (w *writer) remember(name string, t *thread) {
	if len(w.threads) >= maxKnown {
		n := 0
		for k := range w.threads { // any of them
			delete(w.threads, k)
			if n++; n == maxKnown/8 {
				break
			}
		}
	}
	w.threads[name] = t
}

func (w *writer) loadThread(name string) (*thread, error) {
	stmt, err := w.stmt(qThread)
	if err != nil {
		return nil, err
	}
	stmt.BindText(1, name)
	t := &thread{}
	row, err := stmt.Step()
	if err != nil || !row {
		return t, first(err, stmt.Reset())
	}
	t.id = stmt.ColumnInt64(0)
	t.row = scanThreadRow(stmt)
	top, info, err := readState(stmt, 4)
	if err != nil {
		return nil, first(err, stmt.Reset())
	}
	t.top, t.tail = top, info.Tail
	return t, stmt.Reset()
}

// append writes one batch.
func (w *writer) append(b *posthouse.Batch) error {
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
	if err := w.summarise(t, b); err != nil {
		return err
	}
	if err := w.insert(t.id, b, cid); err != nil {
		return err
	}
	t.tail = posthouse.Position{Seq: e.Seq, Hash: e.Hash}
	w.next++
	return nil
}

// scanThreadRow reads the columns of qThread.
func scanThreadRow(stmt *sqlite.Stmt) threadRow {
	return threadRow{stmt.ColumnInt64(1), stmt.ColumnInt64(2), posthouse.Millis(stmt.ColumnInt64(3))}
}

// rowOf returns the columns that go with a summary.
func rowOf(info *posthouse.ThreadInfo, flags int64) threadRow {
	row := threadRow{flags: flags, due: info.Due}
	if len(info.Waiting) > 0 {
		row.active |= activeWaiting
	}
	if info.Runnable() || info.Lease.Held {
		row.active |= activeLive
	}
	return row
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

// summarise writes the thread's rows. The update of its tail is the compare
// of the append.
func (w *writer) summarise(t *thread, b *posthouse.Batch) error {
	info := b.Thread
	row := rowOf(info, t.row.flags)
	var err error
	if w.buf, err = info.AppendBinary(append(w.buf[:0], t.top[:]...)); err != nil {
		return err
	}
	k := qSetTail
	if t.id == 0 {
		k = qAddTail
		if err := w.addThread(t, b.Entry.Thread, &row); err != nil {
			return err
		}
	} else if row != t.row || t.changed {
		if err := w.setThread(t, &row); err != nil {
			return err
		}
	}
	stmt, err := w.stmt(k)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, t.id)
	if k == qSetTail {
		stmt.BindInt64(2, int64(b.After.Seq))
		stmt.BindInt64(4, int64(b.Entry.Seq))
	} else {
		stmt.BindInt64(2, int64(b.Entry.Seq))
	}
	stmt.BindBytes(3, w.buf)
	if err := exec(stmt); err != nil {
		return err
	}
	if w.Changes() != 1 {
		return corrupt("the tail of thread %q was changed by another program", b.Entry.Thread)
	}
	t.row, t.changed = row, false
	return nil
}

func (w *writer) addThread(t *thread, name string, row *threadRow) error {
	stmt, err := w.stmt(qAddThread)
	if err != nil {
		return err
	}
	stmt.BindText(1, name)
	row.bind(stmt)
	if err := exec(stmt); err != nil {
		return err
	}
	t.id = w.LastInsertRowID()
	w.remember(name, t)
	return nil
}

func (w *writer) setThread(t *thread, row *threadRow) error {
	stmt, err := w.stmt(qSetThread)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, t.id)
	row.bind(stmt)
	return exec(stmt)
}

// bind binds the columns from the second parameter on.
func (r *threadRow) bind(stmt *sqlite.Stmt) {
	stmt.BindInt64(2, r.flags)
	bindNumber(stmt, 3, r.active)
	bindNumber(stmt, 4, int64(r.due))
}

// bindNumber binds NULL for 0, which keeps the row out of a partial index.
func bindNumber(stmt *sqlite.Stmt, param int, n int64) {
	if n != 0 {
		stmt.BindInt64(param, n)
	} else {
		stmt.BindNull(param)
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
	w.buf = appendHead(w.buf[:0], e)
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
