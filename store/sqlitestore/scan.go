package sqlitestore

import (
	"bytes"

	"github.com/posthouse/posthouse"
	"zombiezen.com/go/sqlite"
)

// Columns of headColumns, and those that follow them where bodies are read.
const (
	colID = iota
	colSeq
	colGeneration
	colPrev
	colHash
	colSig
	colHeader
	colGone
	colPack
	colBody
)

// scanHead reads headColumns. It takes one allocation for the bytes.
func scanHead(stmt *sqlite.Stmt, thread string) (*posthouse.Entry, error) {
	e := &posthouse.Entry{
		Thread: thread, Seq: uint64(stmt.ColumnInt64(colSeq)), Generation: uint32(stmt.ColumnInt64(colGeneration)),
	}
	prev, hash := stmt.ColumnLen(colPrev), stmt.ColumnLen(colHash)
	if prev != 0 && prev != len(e.Prev) || hash != len(e.Hash) {
		return e, corrupt("entry %d of thread %q has a hash of the wrong size", e.Seq, thread)
	}
	stmt.ColumnBytes(colPrev, e.Prev[:])
	stmt.ColumnBytes(colHash, e.Hash[:])
	header, sig := stmt.ColumnLen(colHeader), stmt.ColumnLen(colSig)
	buf := make([]byte, header+sig)
	e.Header = buf[:header:header]
	stmt.ColumnBytes(colHeader, e.Header)
	if sig > 0 {
		e.Sig = buf[header:]
		stmt.ColumnBytes(colSig, e.Sig)
	}
	return e, nil
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

// entry reads one entry's head by its id. It fails if there is none: the index
// led there.
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
	e, err := scanHead(stmt, stmt.ColumnText(colHeader+1))
	return e, first(err, stmt.Reset())
}

// lastID returns the id of the newest entry there ever was.
func (c *conn) lastID() (int64, error) {
	stmt, err := c.stmt(qTail)
	if err != nil {
		return 0, err
	}
	if _, err := stmt.Step(); err != nil {
		return 0, err
	}
	return stmt.ColumnInt64(0), stmt.Reset()
}

// A place is where an id leads.
type place struct {
	kind, entry, thread int64
}

// place looks an id up; entry is 0 if it has none.
func (c *conn) place(k *key) (p place, err error) {
	stmt, err := c.stmt(qPlace)
	if err != nil {
		return p, err
	}
	k.bind(stmt, 1)
	row, err := stmt.Step()
	if row {
		p = place{stmt.ColumnInt64(0), stmt.ColumnInt64(1), stmt.ColumnInt64(2)}
	}
	return p, first(err, stmt.Reset())
}

func readSummary(stmt *sqlite.Stmt, col int) (*posthouse.ThreadInfo, error) {
	info := new(posthouse.ThreadInfo)
	return info, info.UnmarshalBinary(columnBytes(stmt, col))
}

func compareKeys(a, b posthouse.OrderKey) int { return bytes.Compare(a[:], b[:]) }
