package sqlitestore

import (
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// maxKnown bounds the threads a writer remembers, of about 300 bytes each:
// beyond it an append reads its thread's summary first.
const maxKnown = 1 << 17

// maxLag bounds how many entries the summary of a thread that is being moved
// may be behind its log. Writing it costs half of what the entry costs, and a
// reader brings it up to date by the headers of what is missing. Nobody reads
// more than that: a thread that rests has a summary of its last entry.
const maxLag = 16

// A thread is what an append compares with and changes.
type thread struct {
	id   int64 // 0: not there yet
	tail posthouse.Position
	top  posthouse.OrderKey
	row  threadRow

	summed  uint64 // the entry that the stored summary is of
	changed bool   // the row's flags, or all of the summary, are not what is stored

	open []openGate // that have their rows

	segment uint64  // that terms are of
	terms   []int64 // some that have their row
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

// mayLag reports whether the columns let the summary be behind the log.
func (r *threadRow) mayLag() bool { return r.active&activeLive != 0 }

// thread returns what is known of a thread; its id is 0 if there is none.
func (w *writer) thread(name string) (*thread, error) {
	if t := w.threads[name]; t != nil {
		return t, nil
	}
	t, _, err := w.loadThread(name)
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

// loadThread reads a thread's rows and its summary as of its last entry.
func (w *writer) loadThread(name string) (*thread, *posthouse.ThreadInfo, error) {
	stmt, err := w.stmt(qThread)
	if err != nil {
		return nil, nil, err
	}
	stmt.BindText(1, name)
	t := &thread{}
	row, err := stmt.Step()
	if err != nil || !row {
		return t, nil, first(err, stmt.Reset())
	}
	s, err := w.scanSummary(stmt)
	if err != nil {
		return nil, nil, first(err, stmt.Reset())
	}
	t.id, t.row, t.top, t.tail, t.summed, t.changed = s.id, s.row, s.top, s.info.Tail, s.seq, s.anew
	if !s.anew { // else nobody knows which rows there are: they are written again
		t.open = openGates(s.info.Waiting)
	}
	return t, s.info, stmt.Reset()
}

// summarise writes the thread's rows, unless the summary may lag. The update of
// its tail is a compare, too.
func (w *writer) summarise(t *thread, b *posthouse.Batch) error {
	info := b.Thread
	row := rowOf(info, t.row.flags)
	fresh := t.id == 0
	switch {
	case fresh:
		if err := w.addThread(t, b.Entry.Thread, &row); err != nil {
			return err
		}
	case row != t.row || t.changed:
		if err := w.setThread(t, &row); err != nil {
			return err
		}
	case row.mayLag() && !b.Copy && b.Entry.Seq-t.summed < maxLag:
		return nil
	}
	t.row, t.changed = row, false
	return w.setSummary(t, info, fresh)
}

// setSummary writes the summary of a thread's last entry.
func (w *writer) setSummary(t *thread, info *posthouse.ThreadInfo, fresh bool) error {
	var err error
	if w.buf, err = appendState(w.buf[:0], &t.top, info); err != nil {
		return err
	}
	k := qSetTail
	if fresh {
		k = qAddTail
	}
	stmt, err := w.stmt(k)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, t.id)
	stmt.BindInt64(2, int64(info.Tail.Seq))
	stmt.BindBytes(3, w.buf)
	if !fresh {
		stmt.BindInt64(4, int64(t.summed))
	}
	if err := exec(stmt); err != nil {
		return err
	}
	if w.Changes() != 1 {
		return corrupt("the tail of thread %q was changed by another program", info.Thread)
	}
	t.summed = info.Tail.Seq
	return nil
}

// catchUp writes the summary of a thread if it lags, or does not decode.
func (w *writer) catchUp(name string) error {
	t, info, err := w.loadThread(name)
	if err != nil || t.id == 0 || t.summed == t.tail.Seq && !t.changed {
		return err
	}
	if err := w.setSummary(t, info, false); err != nil {
		return err
	}
	t.changed = false // the row was just loaded
	w.remember(name, t)
	return nil
}

// catchUpAll does so for the threads it knows, so that who opens the store next
// need not.
func (w *writer) catchUpAll() error {
	var behind []string
	for name, t := range w.threads {
		if t.summed != t.tail.Seq {
			behind = append(behind, name)
		}
	}
	if len(behind) == 0 {
		return nil
	}
	if err := w.do(qBegin); err != nil {
		return err
	}
	for _, name := range behind {
		if err := w.catchUp(name); err != nil {
			return errors.Join(err, w.do(qRollback))
		}
	}
	return w.do(qCommit)
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
