package lists

import (
	"context"
	"iter"
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// Columns of a walk. A walk of the table has only the first, since fetching a column
// costs about as much as the step to the next row.
const (
	walkHead = iota
	walkSeq
	walkID
)

// A threadLog walks the headers of one thread by the index of sequence numbers. Entries
// that were written one after the other are neighbours in the table, which it then walks
// directly, in half the time. A row there is the thread's next entry if and only if its
// Prev is the link of the entry before.
type threadLog struct {
	c      *db.Conn
	stmt   *sqlite.Stmt            // at the row read last
	reader *posthouse.HeaderReader // leaves out what it does not match
	all    bool                    // includes checkpoints that the index does not lead to

	thread   int64
	name     uint32 // the checksum of its name
	from, to uint64 // what is still to be read
	back     bool
	id       int64 // of the row read last by the index; 0 before the first
	placed   bool  // the row read last has a cid
	inTable  bool  // stmt walks the table
	near     int   // neighbours met one after the other
	patience int   // how many of them make it walk the table

	entry posthouse.Entry // of the row read last; its header is in head
	head  []byte
}

// nearby is how many entries must be neighbours before the walk tries the table. It
// doubles with each try, since a change costs as much as about ten rows.
const nearby = 4

// Other values of patience: go on in the table where another walk was, or never try it.
const (
	atOnce    = 0
	indexOnly = math.MaxInt
)

func openLog(c *db.Conn, thread string, from, to uint64, back bool, r *posthouse.HeaderReader, patience int) (*threadLog, error) {
	id, _, err := threadRow(c, thread)
	if err != nil {
		return nil, err
	}
	return walkLog(c, id, thread, from, to, back, r, patience)
}

// walkLog is openLog for a known number of the thread.
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

func (t *threadLog) close() {
	if t.stmt != nil {
		_ = t.stmt.Reset() // it repeats the error of Step
	}
}

// step reads the next entry and reports whether there is one.
func (t *threadLog) step() (row bool, err error) {
	if t.from > t.to {
		return false, nil
	}
	if !t.inTable && t.near >= t.patience && t.id != 0 {
		t.close()
		if err := t.walkTable(); err != nil {
			return false, err
		}
	}
	if t.inTable {
		row, err = t.neighbour()
		if row || err != nil {
			return row, err
		}
		t.close()
		if err := t.walkIndex(); err != nil {
			return false, err
		}
	}
	row, err = t.stmt.Step()
	if err != nil || !row {
		return false, err
	}
	n := t.stmt.ColumnInt64(walkSeq)
	t.placed = n > 0
	if !t.placed {
		n = -n
	}
	if seq := uint64(n); seq < t.from || seq > t.to {
		return false, layout.OutOfOrder("entries")
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
	t.placed = len(head) > 0 && head[0] != layout.Unplaced
	if !t.placed {
		head = head[min(1, len(head)):]
	}
	if layout.ReadHead(&t.entry, head) != nil {
		return false, nil // the index finds the entry
	}
	t.entry.Seq = next
	if t.back && t.entry.Link() != before || !t.back && t.entry.Prev != behind || t.placed && !layout.IsSound(t.name, &t.entry, head) {
		return false, nil
	}
	t.at(next)
	return true, nil
}

// at moves the range past an entry.
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

// headers yields the checkpoints of each entry that is left, as next returns them, and
// closes the walk.
func (t *threadLog) headers(ctx context.Context) iter.Seq2[[]*posthouse.Header, error] {
	return func(yield func([]*posthouse.Header, error) bool) {
		defer t.close()
		for {
			heads, e, err := t.next(ctx)
			if err == nil && e == nil || !yield(heads, err) || err != nil {
				return
			}
		}
	}
}

// next returns the next entry and the checkpoints in it that the index leads to. The entry
// is nil at the end. Entry and slice are valid until the next call.
func (t *threadLog) next(ctx context.Context) (heads []*posthouse.Header, e *posthouse.Entry, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if row, err := t.step(); err != nil || !row {
		return nil, nil, err
	}
	e = &t.entry
	heads, err = t.reader.Read(e)
	if err != nil || t.all {
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
