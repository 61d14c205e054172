package sqlitestore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// A summary is a thread's rows: what is stored, and the summary itself as of
// the thread's last entry.
type summary struct {
	id   int64
	row  threadRow
	seq  uint64 // the entry that the stored one is of
	top  posthouse.OrderKey
	info *posthouse.ThreadInfo
	anew bool // the stored one does not decode
}

// summaryColumns are what scanSummary reads.
const summaryColumns = `t.id, t.flags, t.active, t.due, a.seq, a.state`

// scanSummary reads the columns of summaryColumns. It runs before the statement
// is reset, so that it sees the entries that the row is of.
func (c *conn) scanSummary(stmt *sqlite.Stmt) (*summary, error) {
	s, err := storedSummary(stmt)
	switch {
	case errors.Is(err, posthouse.ErrCorrupt):
		return s, c.refold(s)
	case err != nil || !s.row.mayLag():
		return s, err
	}
	return s, c.bringUp(s)
}

// refold makes anew the summary of a thread whose stored one does not decode:
// the log says all of it, and one damaged row must not keep the other threads
// from being listed. Check tells of the row; the next append writes it over.
func (c *conn) refold(s *summary) error {
	name := ""
	if err := c.query(qThreadName, func(stmt *sqlite.Stmt) { stmt.BindInt64(1, s.id) },
		func(stmt *sqlite.Stmt) { name = stmt.ColumnText(0) }); err != nil {
		return err
	}
	s.info, s.top, s.anew = &posthouse.ThreadInfo{Thread: name}, posthouse.OrderKey{}, true
	if err := c.bringUp(s); err != nil {
		return err
	}
	if s.info.Tail.Seq == 0 {
		return corrupt("the summary of thread %q does not decode, and its log is gone", name)
	}
	return nil
}

// storedSummary is scanSummary of a summary as it is stored. Where it does not
// decode ([posthouse.ErrCorrupt]) its columns are there all the same.
func storedSummary(stmt *sqlite.Stmt) (*summary, error) {
	s := &summary{
		id:  stmt.ColumnInt64(0),
		row: threadRow{stmt.ColumnInt64(1), stmt.ColumnInt64(2), posthouse.Millis(stmt.ColumnInt64(3))},
		seq: uint64(stmt.ColumnInt64(4)),
	}
	s.info = new(posthouse.ThreadInfo)
	return s, readState(columnBytes(stmt, 5), &s.top, s.info)
}

// sumMark begins what follows the order key in the state of a thread where a
// checksum comes first: of all that is in the state beside it. No
// ThreadInfo.MarshalBinary begins so.
const sumMark = 0xff

func appendState(b []byte, top *posthouse.OrderKey, info *posthouse.ThreadInfo) ([]byte, error) {
	n := len(top)
	b, err := info.AppendBinary(append(append(b, top[:]...), sumMark, 0, 0, 0, 0))
	if err == nil {
		binary.BigEndian.PutUint32(b[n+1:], sumState(b, n))
	}
	return b, err
}

func sumState(b []byte, n int) uint32 {
	return crc32.Update(crc32.Checksum(b[:n], castagnoli), castagnoli, b[n+5:])
}

// readState reads what appendState wrote, or a version before schema 4.
func readState(b []byte, top *posthouse.OrderKey, info *posthouse.ThreadInfo) error {
	n := copy(top[:], b)
	switch {
	case n < len(top):
		return corrupt("the state of a thread has %d bytes", len(b))
	case len(b) < n+5 || b[n] != sumMark:
		return info.UnmarshalBinary(b[n:])
	case binary.BigEndian.Uint32(b[n+1:]) != sumState(b, n):
		return corrupt("the summary of a thread is not what was written there")
	}
	return info.UnmarshalBinary(b[n+5:])
}

// bringUp takes the summary over the entries that it is behind.
func (c *conn) bringUp(s *summary) error {
	stmt, err := c.stmt(qBehind)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, s.id)
	stmt.BindInt64(2, int64(s.info.Tail.Seq))
	for {
		row, err := stmt.Step()
		if err != nil {
			return err
		}
		if !row {
			return stmt.Reset()
		}
		e, err := scanHead(stmt, s.info.Thread)
		if err == nil {
			err = s.apply(e)
		}
		if err != nil {
			return first(err, stmt.Reset())
		}
	}
}

func (s *summary) apply(e *posthouse.Entry) error {
	records, err := e.Records()
	if err == nil {
		err = s.info.ApplyRecords(e, records)
	}
	if err != nil {
		return err
	}
	for i := range records {
		if h := records[i].Checkpoint; h != nil && compareKeys(h.Order, s.top) > 0 {
			s.top = h.Order
		}
	}
	return nil
}
