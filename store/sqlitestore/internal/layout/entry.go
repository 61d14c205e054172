package layout

import (
	"bytes"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
)

// The columns of HeadColumns, then those of BodyColumns.
const (
	ColID = iota
	colSeq
	ColCID
	colHead
	ColGone
	ColPack
	ColBody
)

// ScanHead reads the columns of [HeadColumns].
func ScanHead(stmt *sqlite.Stmt, thread string) (*posthouse.Entry, error) {
	e := &posthouse.Entry{Thread: thread, Seq: uint64(stmt.ColumnInt64(colSeq))}
	return e, ReadHead(e, db.Bytes(stmt, colHead))
}

// IsCurrent reports whether the row has the id k in its own column. Such a row is the newest
// place of k.
func IsCurrent(stmt *sqlite.Stmt, k *Key) bool {
	var b [16]byte
	return k.n == 16 && stmt.ColumnBytes(ColCID, b[:]) == 16 && b == [16]byte(k.blob[:16])
}

// A Stored body is the part of a row that holds an entry's bodies.
type Stored struct {
	Gone bodies.Gone
	Pack int64 // where the bytes are packed; 0: they are in Body
	Body []byte
}

// ScanBody reads the columns of [BodyColumns].
func ScanBody(stmt *sqlite.Stmt) Stored {
	return Stored{db.Bytes(stmt, ColGone), stmt.ColumnInt64(ColPack), db.Bytes(stmt, ColBody)}
}

// Split cuts the joined bodies apart, by the sizes in the entry's header.
func (b *Stored) Split(e *posthouse.Entry) error { return bodies.Split(e, b.Body, b.Gone) }

// EntryAt reads one entry's head by its id and checks that it is sound. It fails with
// [posthouse.ErrCorrupt] if there is no such entry, since an index led there.
func EntryAt(c *db.Conn, id int64) (*posthouse.Entry, error) {
	for stmt, err := range c.Rows(qEntry, id) {
		if err != nil {
			return nil, err
		}
		e, err := ScanHead(stmt, stmt.ColumnText(colHead+1))
		if err == nil && !IsSound(SumName(e.Thread), e, db.Bytes(stmt, colHead)) {
			err = Unsound(e)
		}
		return e, err
	}
	return nil, posthouse.Corrupt("the index leads to an entry that is not there")
}

// IDOf returns the id that a record brings to the index: that of a checkpoint, gate or
// signal. A decision brings its gate's id again.
func IDOf(r *posthouse.Record) (id posthouse.ID, ok bool) {
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

// A Place is where an id leads. Its entry is 0 if the id is unknown.
type Place struct {
	Entry  int64
	Seq    uint64
	Thread int64
	Name   string // of the thread
	Cid    bool   // the id is in the entry's own row, not in table ids
}

// FindPlace looks an id up.
func FindPlace(c *db.Conn, k *Key) (p Place, err error) {
	if k.n == 16 {
		p, err = placeIn(c, qPlaceCID, k)
		if err != nil || p.Entry != 0 {
			p.Cid = true
			return p, err
		}
	}
	return placeIn(c, qPlaceID, k)
}

func placeIn(c *db.Conn, sql string, k *Key) (p Place, err error) {
	_, err = c.Row(sql, func(stmt *sqlite.Stmt) {
		p = Place{
			Entry: stmt.ColumnInt64(0), Seq: uint64(stmt.ColumnInt64(1)),
			Thread: stmt.ColumnInt64(2), Name: stmt.ColumnText(3),
		}
	}, k.Param())
	return p, err
}

// CompareKeys orders checkpoints across threads.
func CompareKeys(a, b posthouse.OrderKey) int { return bytes.Compare(a[:], b[:]) }
