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
	next          int64 // the id of the next entry
	first         int64 // the same when the transaction began
	threads       map[string]*thread
	coordinations map[string]int64
	wrote         bool // the current request has changed something
	buf           []byte
	body          []byte
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
	flags         int64
	waiting, live bool
	due           posthouse.Millis
	graph         string
}

// Bits of threads.flags.
const (
	flagIrregular = 1 // an id was replaced or dropped: an entry's checkpoint may not be in the index
	flagDisorder  = 2 // order keys do not ascend with the sequence numbers
)

func newWriter(c *conn) (*writer, error) {
	w := &writer{conn: c, threads: map[string]*thread{}, coordinations: map[string]int64{}}
	return w, w.findEnd()
}

// findEnd finds the id of the next entry.
func (w *writer) findEnd() error {
	last, err := w.lastID()
	w.next, w.first = last+1, last+1
	return err
}

// forget drops what a rolled back transaction may have left in memory.
func (w *writer) forget() {
	clear(w.threads)
	clear(w.coordinations)
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
	t.row = threadRow{
		flags: stmt.ColumnInt64(1), waiting: !stmt.ColumnIsNull(2), live: !stmt.ColumnIsNull(3),
		due: posthouse.Millis(stmt.ColumnInt64(4)), graph: stmt.ColumnText(5),
	}
	stmt.ColumnBytes(6, t.top[:])
	info, err := readSummary(stmt, 7)
	if err != nil {
		return nil, first(err, stmt.Reset())
	}
	t.tail = info.Tail
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
	for i := range b.IDs {
		if err := w.index(t, e.Thread, &b.IDs[i]); err != nil {
			return err
		}
	}
	if err := w.summarise(t, b); err != nil {
		return err
	}
	if err := w.insert(t.id, e); err != nil {
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
		stmt, err := w.stmt(qEntryHash)
		if err != nil {
			return err
		}
		stmt.BindInt64(1, t.id)
		stmt.BindInt64(2, int64(b.Entry.Seq))
		row, err := stmt.Step()
		var have posthouse.Hash
		if row {
			stmt.ColumnBytes(0, have[:])
		}
		if err = first(err, stmt.Reset()); err != nil {
			return err
		}
		if row && have == b.Entry.Hash {
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

// summarise writes the thread's row.
func (w *writer) summarise(t *thread, b *posthouse.Batch) error {
	info := b.Thread
	row := threadRow{
		flags: t.row.flags, waiting: len(info.Waiting) > 0, live: info.Runnable() || info.Lease.Held,
		due: info.Due, graph: info.Graph,
	}
	var err error
	if w.buf, err = info.AppendBinary(w.buf[:0]); err != nil {
		return err
	}
	if t.id == 0 {
		return w.addThread(t, b, row)
	}
	k := qTouchThread
	if row != t.row || t.changed {
		k = qSetThread
	}
	stmt, err := w.stmt(k)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, t.id)
	stmt.BindInt64(2, int64(t.tail.Seq))
	stmt.BindInt64(3, int64(b.Entry.Seq))
	bindHash(stmt, 4, t.top[:])
	stmt.BindBytes(5, w.buf)
	if k == qSetThread {
		bindRow(stmt, 6, &row)
	}
	if err := exec(stmt); err != nil {
		return err
	}
	if w.Changes() != 1 {
		return corrupt("the row of thread %q was changed by another program", b.Entry.Thread)
	}
	t.row, t.changed = row, false
	return nil
}

func (w *writer) addThread(t *thread, b *posthouse.Batch, row threadRow) error {
	stmt, err := w.stmt(qAddThread)
	if err != nil {
		return err
	}
	stmt.BindText(1, b.Entry.Thread)
	stmt.BindInt64(2, int64(b.Entry.Seq))
	bindRow(stmt, 3, &row)
	bindHash(stmt, 8, t.top[:])
	stmt.BindBytes(9, w.buf)
	if err := exec(stmt); err != nil {
		return err
	}
	t.id, t.row, t.changed = w.LastInsertRowID(), row, false
	w.remember(b.Entry.Thread, t)
	return nil
}

// bindRow binds flags, waiting, live, due and graph from a parameter on.
func bindRow(stmt *sqlite.Stmt, param int, r *threadRow) {
	stmt.BindInt64(param, r.flags)
	bindMark(stmt, param+1, r.waiting)
	bindMark(stmt, param+2, r.live)
	if r.due != 0 {
		stmt.BindInt64(param+3, int64(r.due))
	} else {
		stmt.BindNull(param + 3)
	}
	if r.graph != "" {
		stmt.BindText(param+4, r.graph)
	} else {
		stmt.BindNull(param + 4)
	}
}

func bindMark(stmt *sqlite.Stmt, param int, on bool) {
	if on {
		stmt.BindInt64(param, 1)
	} else {
		stmt.BindNull(param)
	}
}

// bindHash binds bytes of which all zero means none.
func bindHash(stmt *sqlite.Stmt, param int, b []byte) {
	for _, c := range b {
		if c != 0 {
			stmt.BindBytes(param, b)
			return
		}
	}
	stmt.BindNull(param)
}

func (w *writer) insert(thread int64, e *posthouse.Entry) error {
	stmt, err := w.stmt(qAddEntry)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, w.next)
	stmt.BindInt64(2, thread)
	stmt.BindInt64(3, int64(e.Seq))
	stmt.BindInt64(4, int64(e.Generation))
	bindHash(stmt, 5, e.Prev[:])
	stmt.BindBytes(6, e.Hash[:])
	if len(e.Sig) > 0 {
		stmt.BindBytes(7, e.Sig)
	} else {
		stmt.BindNull(7)
	}
	stmt.BindBytes(8, e.Header)
	w.bindBody(stmt, 9, e.Bodies)
	return exec(stmt)
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
