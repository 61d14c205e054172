package sqlitestore

import (
	"context"

	"github.com/posthouse/posthouse"
	"zombiezen.com/go/sqlite"
)

// Columns of a walk.
const (
	walkID = iota
	walkSeq
	walkHead
)

// A threadLog walks the headers of one thread, by the index of sequence
// numbers. Where entries of the thread were written one after the other, they
// are neighbours in the table, and it walks the table itself: that takes two
// thirds of the time.
type threadLog struct {
	c      *conn
	stmt   *sqlite.Stmt            // at the row read last
	reader *posthouse.HeaderReader // what it does not match is left out
	all    bool                    // also checkpoints that the index does not lead to

	thread   int64
	from, to uint64 // what is still to be read
	back     bool
	id       int64 // of the row the index led to last
	placed   bool  // the row read last has a cid
	inTable  bool  // stmt walks the table
	near     int   // rows in a row that are neighbours
	patience int   // how many make it walk the table

	entry posthouse.Entry // in that row; its header is in head
	head  []byte
}

// nearby is how many entries have to be neighbours before the table is tried.
// It doubles with each try: to change costs as much as some ten rows.
const nearby = 4

func (c *conn) openLog(thread string, from, to uint64, back bool, r *posthouse.HeaderReader) (*threadLog, error) {
	t := &threadLog{c: c, reader: r, from: from, to: to, back: back, patience: nearby}
	t.entry.Thread = thread
	stmt, err := c.stmt(qThreadID)
	if err != nil {
		return nil, err
	}
	stmt.BindText(1, thread)
	if row, err := stmt.Step(); err != nil {
		return nil, err
	} else if row {
		t.thread = stmt.ColumnInt64(0) // no thread has 0
	}
	if err := stmt.Reset(); err != nil {
		return nil, err
	}
	return t, t.walkIndex()
}

func (t *threadLog) walkIndex() (err error) {
	k := qIndexWalk
	if t.back {
		k = qIndexWalkBack
	}
	if t.stmt, err = t.c.stmt(k); err != nil {
		return err
	}
	t.inTable, t.near = false, 0
	t.stmt.BindInt64(1, t.thread)
	t.stmt.BindInt64(2, int64(t.from))
	t.stmt.BindInt64(3, int64(t.to))
	return nil
}

func (t *threadLog) walkTable() (err error) {
	k := qTableWalk
	if t.back {
		k = qTableWalkBack
	}
	if t.stmt, err = t.c.stmt(k); err != nil {
		return err
	}
	t.inTable, t.patience = true, 2*t.patience
	t.stmt.BindInt64(1, t.id)
	t.stmt.BindInt64(2, t.thread)
	return nil
}

func (t *threadLog) close() error {
	if t.stmt == nil {
		return nil
	}
	return t.stmt.Reset()
}

// step moves to the next entry and reports whether there is one.
func (t *threadLog) step() (row bool, err error) {
	if t.from > t.to {
		return false, nil
	}
	if !t.inTable && t.near >= t.patience {
		if err := first(t.close(), t.walkTable()); err != nil {
			return false, err
		}
	}
	if row, err = t.stmt.Step(); err != nil {
		return false, err
	}
	if t.inTable {
		next := t.from
		if t.back {
			next = t.to
		}
		if row && next > 0 && t.number() == next {
			t.at(next)
			return true, nil
		}
		if err := first(t.close(), t.walkIndex()); err != nil {
			return false, err
		}
		if row, err = t.stmt.Step(); err != nil {
			return false, err
		}
	}
	if !row {
		return false, nil
	}
	id := t.row()
	if d := id - t.id; d == 1 || d == -1 {
		t.near++
	} else {
		t.near = 0
	}
	t.id = id
	t.at(t.number())
	return true, nil
}

// number reads walkNumber: the sequence number of an entry of the thread, 0 for
// another thread's.
func (t *threadLog) number() uint64 {
	n := t.stmt.ColumnInt64(walkSeq)
	if t.placed = n > 0; !t.placed {
		n = -n
	}
	return uint64(n)
}

// at notes that an entry was read.
func (t *threadLog) at(seq uint64) {
	t.entry.Seq = seq
	if !t.back {
		t.from = seq + 1
	} else if seq > 0 {
		t.to = seq - 1
	} else {
		t.from, t.to = 1, 0
	}
}

// row is the id of the row read last.
func (t *threadLog) row() int64 { return t.stmt.ColumnInt64(walkID) }

// next returns the next entry and the checkpoints in it that the index leads
// to; a nil entry at the end. The entry and the slice are good until the next
// call.
func (t *threadLog) next(ctx context.Context) (heads []*posthouse.Header, e *posthouse.Entry, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if row, err := t.step(); err != nil || !row {
		return nil, nil, err
	}
	e = &t.entry
	t.head = copyColumn(t.stmt, walkHead, t.head)
	if err := readHead(e, t.head); err != nil {
		return nil, nil, err
	}
	if heads, err = t.reader.Read(e); err != nil || t.all {
		return heads, e, err
	}
	current := heads[:0]
	for i, h := range heads {
		ok := t.placed && t.reader.Own(i)
		if !ok {
			k := keyOf(h.ID)
			p, err := t.c.place(&k)
			if err != nil {
				return nil, nil, err
			}
			ok = p.entry == t.row()
		}
		if ok {
			current = append(current, h)
		}
	}
	return current, e, nil
}
