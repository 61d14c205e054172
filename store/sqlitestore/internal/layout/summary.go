package layout

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
)

// A Summary is what a thread's rows hold, and the summary as of its last entry.
type Summary struct {
	ID   int64
	Row  ThreadRow          // without the minute, which schemas before 6 do not have
	Seq  uint64             // the entry at which the stored summary ends
	Top  posthouse.OrderKey // the highest in the thread
	Info *posthouse.ThreadInfo
	Anew bool // the stored summary does not decode; this one was made from the log
}

// SummaryColumns are the columns that ScanSummary reads.
const SummaryColumns = `t.id, t.flags, t.active, t.due, a.seq, a.state`

// SummaryOf returns a thread's summary, nil if there is no such thread.
func SummaryOf(c *db.Conn, thread string) (*Summary, error) {
	return summaryBy(c, SelectThread, thread)
}

// SummaryAt is [SummaryOf] by the thread's number.
func SummaryAt(c *db.Conn, id int64) (*Summary, error) { return summaryBy(c, qThreadByID, id) }

func summaryBy(c *db.Conn, sql string, thread any) (*Summary, error) {
	for stmt, err := range c.Rows(sql, thread) {
		if err != nil {
			return nil, err
		}
		return ScanSummary(c, stmt)
	}
	return nil, nil
}

// ScanSummary reads the columns of SummaryColumns and the entries after the stored
// summary. Call it before the statement is reset, so that it sees entries and row alike.
func ScanSummary(c *db.Conn, stmt *sqlite.Stmt) (*Summary, error) {
	s, err := StoredSummary(stmt)
	switch {
	case errors.Is(err, posthouse.ErrCorrupt):
		return s, Refold(c, s)
	case err != nil || !s.Row.MayLag():
		return s, err
	}
	return s, bringUp(c, s)
}

// Refold makes a summary from the log where the stored one does not decode. So one damaged
// row does not keep the other threads from being listed. The store's check reports the
// row, and the next append overwrites it.
func Refold(c *db.Conn, s *Summary) error {
	name := ""
	if _, err := c.Row(SelectThreadName, func(stmt *sqlite.Stmt) { name = stmt.ColumnText(0) }, s.ID); err != nil {
		return err
	}
	s.Info, s.Top, s.Anew = &posthouse.ThreadInfo{Thread: name}, posthouse.OrderKey{}, true
	if err := bringUp(c, s); err != nil {
		return err
	}
	if s.Info.Tail.Seq == 0 {
		return posthouse.Corrupt("the summary of thread %q does not decode, and its log is gone", name)
	}
	return nil
}

// StoredSummary reads a summary as it is stored. Where that does not decode
// ([posthouse.ErrCorrupt]) it still returns the other columns.
func StoredSummary(stmt *sqlite.Stmt) (*Summary, error) {
	s := &Summary{
		ID:  stmt.ColumnInt64(0),
		Row: ThreadRow{Flags: stmt.ColumnInt64(1), Active: stmt.ColumnInt64(2), Due: posthouse.Millis(stmt.ColumnInt64(3))},
		Seq: uint64(stmt.ColumnInt64(4)),
	}
	s.Info = new(posthouse.ThreadInfo)
	return s, readState(db.Bytes(stmt, 5), &s.Top, s.Info)
}

// sumMark follows the order key in a thread's state if a checksum comes next. The checksum
// covers the rest of the state. No ThreadInfo.MarshalBinary begins with sumMark.
const sumMark = 0xff

// AppendState encodes a thread's highest order key and its summary.
func AppendState(b []byte, top *posthouse.OrderKey, info *posthouse.ThreadInfo) ([]byte, error) {
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

// readState decodes what AppendState wrote, or a version before schema 4.
func readState(b []byte, top *posthouse.OrderKey, info *posthouse.ThreadInfo) error {
	n := copy(top[:], b)
	switch {
	case n < len(top):
		return posthouse.Corrupt("the state of a thread has %d bytes", len(b))
	case len(b) < n+5 || b[n] != sumMark:
		return info.UnmarshalBinary(b[n:])
	case binary.BigEndian.Uint32(b[n+1:]) != sumState(b, n):
		return posthouse.Corrupt("the summary of a thread is not what was written there")
	}
	return info.UnmarshalBinary(b[n+5:])
}

// bringUp applies the entries after the stored summary to it.
func bringUp(c *db.Conn, s *Summary) error {
	for stmt, err := range c.Rows(qBehind, s.ID, s.Info.Tail.Seq) {
		if err != nil {
			return err
		}
		e, err := ScanHead(stmt, s.Info.Thread)
		if err == nil {
			err = s.apply(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Recall completes a summary that is [posthouse.ThreadInfo.Dated] from its log.
func Recall(c *db.Conn, s *Summary) error {
	for stmt, err := range c.Rows(qBehind, s.ID, max(s.Info.First, 1)-1) {
		if err != nil {
			return err
		}
		e, err := ScanHead(stmt, s.Info.Thread)
		if err != nil {
			return err
		}
		records, err := e.Records()
		if err != nil {
			return err
		}
		s.Info.Recall(e.Seq, records)
	}
	s.Info.Dated = false
	return nil
}

func (s *Summary) apply(e *posthouse.Entry) error {
	records, err := e.Records()
	if err == nil {
		err = s.Info.ApplyRecords(e, records)
	}
	if err != nil {
		return err
	}
	for i := range records {
		if h := records[i].Checkpoint; h != nil && CompareKeys(h.Order, s.Top) > 0 {
			s.Top = h.Order
		}
	}
	return nil
}
