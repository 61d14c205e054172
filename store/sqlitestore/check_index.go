package sqlitestore

import (
	"fmt"

	"github.com/posthouse/posthouse"
	"zombiezen.com/go/sqlite"
)

// ids checks that each row of ids leads to an entry that has the id.
func (k *checker) ids(c *conn) (bool, error) {
	return k.index(c, qCheckIDs, func(stmt *sqlite.Stmt, e *posthouse.Entry) error {
		id := scanKey(stmt, 0)
		records, err := e.Records()
		if err != nil {
			return err
		}
		for i := range records {
			if name, ok := idOf(&records[i]); ok && keyOf(name) == id {
				return nil
			}
		}
		k.differs("the index leads from %q to entry %d of thread %q, which does not have it", id.id(), e.Seq, e.Thread)
		return nil
	})
}

func (k *checker) orders(c *conn) (bool, error) {
	return k.index(c, qCheckOrders, func(stmt *sqlite.Stmt, e *posthouse.Entry) error {
		return k.orderRow(c, stmt, e, func(*posthouse.Header) bool { return true }, "the index of order keys")
	})
}

func (k *checker) members(c *conn) (bool, error) {
	return k.index(c, qCheckMembers, func(stmt *sqlite.Stmt, e *posthouse.Entry) error {
		name := stmt.ColumnText(2)
		return k.orderRow(c, stmt, e, func(h *posthouse.Header) bool { return h.Coordination == name },
			fmt.Sprintf("the index of coordination %q", name))
	})
}

// orderRow checks that a row leads to a checkpoint that is current.
func (k *checker) orderRow(c *conn, stmt *sqlite.Stmt, e *posthouse.Entry, match func(*posthouse.Header) bool, where string) error {
	var o posthouse.OrderKey
	stmt.ColumnBytes(0, o[:])
	records, err := e.Records()
	if err != nil {
		return err
	}
	for i := range records {
		h := records[i].Checkpoint
		if h == nil || h.Order != o || !match(h) {
			continue
		}
		id := keyOf(h.ID)
		p, err := c.place(&id)
		if err != nil {
			return err
		}
		if p.entry == stmt.ColumnInt64(1) {
			return nil
		}
	}
	k.differs("%s leads from order key %s to entry %d of thread %q, which does not have it", where, o, e.Seq, e.Thread)
	return nil
}

// index looks at every row of an index table: columns key and entry.
func (k *checker) index(c *conn, statement int, check func(*sqlite.Stmt, *posthouse.Entry) error) (more bool, err error) {
	return false, c.query(statement, func(*sqlite.Stmt) {}, func(stmt *sqlite.Stmt) {
		if err = k.ctx.Err(); err != nil {
			return
		}
		e, cerr := c.entry(stmt.ColumnInt64(1))
		if cerr == nil {
			cerr = check(stmt, e)
		}
		if cerr != nil {
			k.differs("an index row cannot be followed: %v", cerr)
		}
	})
}

// rest looks for rows that belong to nothing.
func (k *checker) rest(c *conn) (bool, error) {
	for _, q := range []struct {
		statement int
		what      string
	}{
		{qStrayTails, "the tail of thread number %d belongs to no thread"},
		{qStrayEntries, "entries of thread number %d belong to no thread"},
		{qStrayPacks, "pack %d belongs to no entry"},
		{qLostPacks, "entries refer to pack %d, which is not there"},
	} {
		if err := c.query(q.statement, func(*sqlite.Stmt) {}, func(stmt *sqlite.Stmt) {
			k.differs(q.what, stmt.ColumnInt64(0))
		}); err != nil {
			return false, err
		}
	}
	return false, nil
}
