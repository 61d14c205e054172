package sqlitestore

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/lists"
)

// maxKnown bounds the threads that a writer remembers, of about 300 bytes each. An append
// to another thread reads its summary first.
const maxKnown = 1 << 17

// A thread is the state that an append compares with and changes.
type thread struct {
	id   int64 // 0: it does not exist yet
	tail posthouse.Position
	top  posthouse.OrderKey
	row  layout.ThreadRow

	summed  uint64 // the entry at which the stored summary ends
	changed bool   // the row's flags or the whole summary differ from the stored ones

	open []openGate // gates that have rows

	face   face // the marks of this one have rows
	marked bool

	terms lists.Written
}

// orNull turns 0 into NULL, which keeps the row out of a partial index.
func orNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// thread returns a thread's state. Its id is 0 if there is no such thread.
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
	t := &thread{}
	s, err := layout.SummaryOf(w.Conn, name)
	if err != nil || s == nil {
		return t, nil, err
	}
	t.id, t.row, t.top, t.tail, t.summed, t.changed = s.ID, s.Row, s.Top, s.Info.Tail, s.Seq, s.Anew
	t.row.Minute = s.Info.Minute() // what the append of the last entry wrote
	t.face, t.marked = faceOf(s.Info), true
	if !s.Anew { // else the gates' rows are unknown and are written again
		t.open = openGates(s.Info.Waiting)
	}
	return t, s.Info, nil
}

// summarise writes the thread's rows, unless the summary may lag. The update of the tail
// also compares it.
func (w *writer) summarise(t *thread, b *posthouse.Batch) error {
	info := b.Thread
	row := layout.RowOf(info, t.row.Flags)
	fresh := t.id == 0
	if !fresh {
		if err := w.remark(t, info); err != nil {
			return err
		}
	}
	switch {
	case fresh:
		if err := w.Run(qAddThread, b.Entry.Thread, row.Flags, orNull(row.Active), orNull(int64(row.Due)), int64(row.Minute)); err != nil {
			return err
		}
		t.id = w.LastInsertRowID()
		w.remember(b.Entry.Thread, t)
	case row != t.row || t.changed:
		if err := w.setRow(t, row); err != nil {
			return err
		}
	case row.MayLag() && !b.Copy && b.Entry.Seq-t.summed < layout.MaxLag:
		return nil
	}
	t.row, t.changed = row, false
	if fresh {
		if err := w.remark(t, info); err != nil {
			return err
		}
	}
	return w.setSummary(t, info, fresh)
}

// setRow writes the columns of a thread that differ. The minute has a statement of its
// own: most changes are only of it, or not of it.
func (w *writer) setRow(t *thread, row layout.ThreadRow) error {
	if t.changed || row.Minute != t.row.Minute {
		if err := w.Run(qSetMinute, t.id, int64(row.Minute)); err != nil {
			return err
		}
	}
	was := t.row
	was.Minute = row.Minute
	if !t.changed && row == was {
		return nil
	}
	return w.Run(qSetThread, t.id, row.Flags, orNull(row.Active), orNull(int64(row.Due)))
}

func (w *writer) setSummary(t *thread, info *posthouse.ThreadInfo, fresh bool) error {
	var err error
	w.buf, err = layout.AppendState(w.buf[:0], &t.top, info)
	if err != nil {
		return err
	}
	if fresh {
		err = w.Run(qAddTail, t.id, info.Tail.Seq, w.buf)
	} else {
		err = w.Run(qSetTail, t.id, info.Tail.Seq, w.buf, t.summed)
	}
	if err != nil {
		return err
	}
	if w.Changes() != 1 {
		return posthouse.Corrupt("the tail of thread %q was changed by another program", info.Thread)
	}
	t.summed = info.Tail.Seq
	return nil
}

// catchUp writes the summary of a thread if it lags or does not decode.
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

// catchUpAll calls catchUp for the threads it knows, before the store is closed.
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
	return w.Update(func() error {
		for _, name := range behind {
			if err := w.catchUp(name); err != nil {
				return err
			}
		}
		return nil
	})
}
