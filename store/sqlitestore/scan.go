package sqlitestore

import (
	"bytes"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// Columns of headColumns, and those that follow them where bodies are read.
const (
	colID = iota
	colSeq
	colCID
	colHead
	colGone
	colPack
	colBody
)

// scanHead reads headColumns.
func scanHead(stmt *sqlite.Stmt, thread string) (*posthouse.Entry, error) {
	e := &posthouse.Entry{Thread: thread, Seq: uint64(stmt.ColumnInt64(colSeq))}
	return e, readHead(e, columnBytes(stmt, colHead))
}

// isCurrent reports whether the row's own column says that it is the newest
// place of the id k.
func isCurrent(stmt *sqlite.Stmt, k *key) bool {
	var b [16]byte
	return k.n == 16 && stmt.ColumnBytes(colCID, b[:]) == 16 && b == [16]byte(k.blob[:16])
}

// copyColumn is columnBytes into a buffer that is used again.
func copyColumn(stmt *sqlite.Stmt, col int, buf []byte) []byte {
	buf = buf[:cap(buf)]
	n := stmt.ColumnBytes(col, buf)
	if n == len(buf) { // perhaps not all of it
		if n = stmt.ColumnLen(col); n > len(buf) {
			buf = make([]byte, 2*n)
			n = stmt.ColumnBytes(col, buf)
		}
	}
	return buf[:n]
}

// columnBytes returns a copy of a column, nil for NULL.
func columnBytes(stmt *sqlite.Stmt, col int) []byte {
	n := stmt.ColumnLen(col)
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	stmt.ColumnBytes(col, b)
	return b
}

// A stored body is what the row has of an entry's bodies.
type stored struct {
	gone []byte // bitmap
	pack int64  // 0: not packed
	body []byte
}

func scanBody(stmt *sqlite.Stmt) stored {
	return stored{columnBytes(stmt, colGone), stmt.ColumnInt64(colPack), columnBytes(stmt, colBody)}
}

func (b *stored) isGone(record int) bool {
	return record/8 < len(b.gone) && b.gone[record/8]&(1<<(record%8)) != 0
}

func (b *stored) setGone(record int) {
	for len(b.gone) <= record/8 {
		b.gone = append(b.gone, 0)
	}
	b.gone[record/8] |= 1 << (record % 8)
}

// split cuts the joined bodies apart: their sizes are in the entry's header.
func (b *stored) split(e *posthouse.Entry) error {
	records, err := e.Records()
	if err != nil {
		return err
	}
	e.Bodies = make([][]byte, len(records))
	rest := b.body
	for i := range records {
		n := records[i].Size
		if n == 0 || b.isGone(i) {
			continue
		}
		if n > len(rest) {
			return corrupt("entry %d of thread %q has fewer bytes than its header says", e.Seq, e.Thread)
		}
		e.Bodies[i], rest = rest[:n:n], rest[n:]
	}
	if len(rest) > 0 {
		return corrupt("entry %d of thread %q has more bytes than its header says", e.Seq, e.Thread)
	}
	return nil
}

// entry reads one entry's head by its id, and makes sure that it is sound. It
// fails if there is none: the index led there.
func (c *conn) entry(id int64) (*posthouse.Entry, error) {
	stmt, err := c.stmt(qEntry)
	if err != nil {
		return nil, err
	}
	stmt.BindInt64(1, id)
	row, err := stmt.Step()
	if err != nil {
		return nil, err
	}
	if !row {
		return nil, first(stmt.Reset(), corrupt("the index leads to an entry that is not there"))
	}
	e, err := scanHead(stmt, stmt.ColumnText(colHead+1))
	if err == nil && !isSound(sumName(e.Thread), e, columnBytes(stmt, colHead)) {
		err = unsound(e)
	}
	return e, first(err, stmt.Reset())
}

// idOf returns the id that a record brings to the index: a checkpoint's, a
// gate's, a signal's, and with a decision the gate's again.
func idOf(r *posthouse.Record) (id posthouse.ID, ok bool) {
	switch {
	case r.Checkpoint != nil:
		return r.Checkpoint.ID, true
	case r.Gate != nil:
		return r.Gate.ID, true
	case r.Decision != nil:
		return r.Decision.Gate, true
	case r.Signal != nil:
		return r.Signal.ID, true
	}
	return "", false
}

// A place is where an id leads; its entry is 0 if it leads nowhere.
type place struct {
	entry  int64
	seq    uint64
	thread int64
	name   string // of the thread
	cid    bool   // it is in the entry's own row, not in ids
}

// place looks an id up.
func (c *conn) place(k *key) (p place, err error) {
	if k.n == 16 {
		if p, err = c.placeIn(qPlaceCID, k); err != nil || p.entry != 0 {
			p.cid = true
			return p, err
		}
	}
	return c.placeIn(qPlaceID, k)
}

func (c *conn) placeIn(statement int, k *key) (p place, err error) {
	stmt, err := c.stmt(statement)
	if err != nil {
		return p, err
	}
	k.bind(stmt, 1)
	row, err := stmt.Step()
	if err != nil {
		return p, err
	}
	if row {
		p = place{
			entry: stmt.ColumnInt64(0), seq: uint64(stmt.ColumnInt64(1)),
			thread: stmt.ColumnInt64(2), name: stmt.ColumnText(3),
		}
	}
	return p, stmt.Reset()
}

func compareKeys(a, b posthouse.OrderKey) int { return bytes.Compare(a[:], b[:]) }
