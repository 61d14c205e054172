package lists

import (
	"cmp"
	"context"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// Columns of a walk. The table's has only the first: each costs about as much
// to fetch as the step to the next row.
const (
	walkHead = iota
	walkSeq
	walkID
)

// A threadLog walks the headers of one thread, by the index of sequence
// numbers. Where entries of the thread were written one after the other, they
// are neighbours in the table, and it walks the table itself: that takes half
// of the time. A row there is the thread's next entry if and only if the hash
// chain says so: its Prev is the link of the entry before.
type threadLog struct {
	c      *db.Conn
	stmt   *sqlite.Stmt            // at the row read last
	reader *posthouse.HeaderReader // what it does not match is left out
	all    bool                    // also checkpoints that the index does not lead to

	thread   int64
	name     uint32 // its sum
	from, to uint64 // what is still to be read
	back     bool
	id       int64 // of the row the index led to last; 0: none yet
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

// A walk that goes on where another was in the table tries that at once.
const (
	atOnce    = 0
	indexOnly = math.MaxInt
)

func openLog(c *db.Conn, thread string, from, to uint64, back bool, r *posthouse.HeaderReader, patience int) (*threadLog, error) {
	id, err := threadID(c, thread)
	if err != nil {
		return nil, err
	}
	return walkLog(c, id, thread, from, to, back, r, patience)
}

// threadID returns a thread's number, 0 if there is none.
func threadID(c *db.Conn, thread string) (id int64, err error) {
	_, err = c.Row(qThreadID, func(stmt *sqlite.Stmt) { id = stmt.ColumnInt64(0) }, thread)
	return id, err
}

// walk is openLog with the thread's number at hand.
func walkLog(c *db.Conn, id int64, thread string, from, to uint64, back bool, r *posthouse.HeaderReader, patience int) (*threadLog, error) {
	t := &threadLog{c: c, reader: r, thread: id, name: layout.SumName(thread), from: from, to: to, back: back, patience: patience}
	t.entry.Thread = thread
	return t, t.walkIndex()
}

func (t *threadLog) walkIndex() (err error) {
	k := qIndexWalk
	if t.back {
		k = qIndexWalkBack
	}
	t.stmt, err = t.c.Stmt(k, t.thread, t.from, t.to)
	t.inTable, t.near = false, 0
	return err
}

func (t *threadLog) walkTable() (err error) {
	k := qTableWalk
	if t.back {
		k = qTableWalkBack
	}
	t.stmt, err = t.c.Stmt(k, t.id)
	t.inTable, t.patience = true, max(nearby, 2*t.patience)
	return err
}

func (t *threadLog) close() error {
	if t.stmt == nil {
		return nil
	}
	return t.stmt.Reset()
}

// step reads the next entry and reports whether there is one.
func (t *threadLog) step() (row bool, err error) {
	if t.from > t.to {
		return false, nil
	}
	if !t.inTable && t.near >= t.patience && t.id != 0 {
		if err := cmp.Or(t.close(), t.walkTable()); err != nil {
			return false, err
		}
	}
	if t.inTable {
		if row, err = t.neighbour(); row || err != nil {
			return row, err
		}
		if err := cmp.Or(t.close(), t.walkIndex()); err != nil {
			return false, err
		}
	}
	if row, err = t.stmt.Step(); err != nil || !row {
		return false, err
	}
	n := t.stmt.ColumnInt64(walkSeq)
	if t.placed = n > 0; !t.placed {
		n = -n
	}
	t.at(uint64(n))
	t.head = db.CopyBytes(t.stmt, walkHead, t.head)
	if err := layout.ReadHead(&t.entry, t.head); err != nil {
		return false, err
	}
	if t.placed && !layout.IsSound(t.name, &t.entry, t.head) {
		return false, layout.Unsound(&t.entry)
	}
	id := t.stmt.ColumnInt64(walkID)
	if d := id - t.id; d == 1 || d == -1 {
		t.near++
	} else {
		t.near = 0
	}
	t.id = id
	return true, nil
}

// neighbour reads the next row of the table, unless that is not the thread's
// next entry.
func (t *threadLog) neighbour() (bool, error) {
	next := t.from
	if t.back {
		next = t.to
	}
	if row, err := t.stmt.Step(); err != nil || !row || next == 0 {
		return false, err
	}
	before, behind := t.entry.Prev, t.entry.Link()
	t.head = db.CopyBytes(t.stmt, walkHead, t.head)
	head := t.head
	if t.placed = len(head) > 0 && head[0] != layout.Unplaced; !t.placed {
		head = head[min(1, len(head)):]
	}
	if layout.ReadHead(&t.entry, head) != nil {
		return false, nil // whose it is, the index knows
	}
	if t.entry.Seq = next; t.back && t.entry.Link() != before || !t.back && t.entry.Prev != behind || t.placed && !layout.IsSound(t.name, &t.entry, head) {
		return false, nil
	}
	t.at(next)
	return true, nil
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
	if heads, err = t.reader.Read(e); err != nil || t.all {
		return heads, e, err
	}
	current := heads[:0]
	for i, h := range heads {
		ok := t.placed && t.reader.Own(i)
		if !ok {
			k := layout.KeyOf(h.ID)
			p, err := layout.FindPlace(t.c, &k)
			if err != nil {
				return nil, nil, err
			}
			ok = p.Thread == t.thread && p.Seq == e.Seq
		}
		if ok {
			current = append(current, h)
		}
	}
	return current, e, nil
}
