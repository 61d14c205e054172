package check

import (
	"cmp"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// ids checks that each row of ids leads to an entry that has the id.
func (k *checker) ids(c *db.Conn) (bool, error) {
	return k.index(c, qCheckIDs, func(stmt *sqlite.Stmt, e *posthouse.Entry) error {
		id := layout.ScanKey(stmt, 0)
		records, err := e.Records()
		if err != nil {
			return err
		}
		for i := range records {
			if name, ok := layout.IDOf(&records[i]); ok && layout.KeyOf(name) == id {
				return nil
			}
		}
		k.differs("the index leads from %q to entry %d of thread %q, which does not have it", id.ID(), e.Seq, e.Thread)
		return nil
	})
}

// orders checks that each row of orders leads to a checkpoint that is current.
func (k *checker) orders(c *db.Conn) (bool, error) {
	return k.index(c, qCheckOrders, func(stmt *sqlite.Stmt, e *posthouse.Entry) error {
		var o posthouse.OrderKey
		stmt.ColumnBytes(0, o[:])
		entry, coordination := stmt.ColumnInt64(1), stmt.ColumnInt64(2)
		records, err := e.Records()
		if err != nil {
			return err
		}
		for i := range records {
			h := records[i].Checkpoint
			if h == nil || h.Order != o || coordination != 0 && coordination != layout.CoordinationKey(h.Coordination) {
				continue
			}
			id := layout.KeyOf(h.ID)
			if p, err := layout.FindPlace(c, &id); err != nil || p.Entry == entry {
				return err
			}
		}
		k.differs("the index leads from order key %s to entry %d of thread %q, which does not have it", o, e.Seq, e.Thread)
		return nil
	})
}

// index calls check for every row of an index table. The table's columns begin with
// key and entry.
func (k *checker) index(c *db.Conn, sql string, check func(*sqlite.Stmt, *posthouse.Entry) error) (more bool, err error) {
	for stmt, err := range c.Rows(sql) {
		err = cmp.Or(err, k.ctx.Err())
		if err != nil {
			return false, err
		}
		e, err := layout.EntryAt(c, stmt.ColumnInt64(1))
		if err == nil {
			err = check(stmt, e)
		}
		switch {
		case layout.Refused(err):
			k.differs("an index row cannot be followed: %v", err)
		case err != nil:
			return false, err
		}
	}
	return false, nil
}

// rest reports rows that belong to nothing.
func (k *checker) rest(c *db.Conn) (bool, error) {
	for _, q := range []struct {
		sql, what string
	}{
		{qStrayTails, "the tail of thread number %d belongs to no thread"},
		{qStrayEntries, "entries of thread number %d belong to no thread"},
		{qStrayIndexTerms, "terms of thread number %d belong to no thread"},
		{qStrayPacks, "pack %d belongs to no entry"},
		{qLostPacks, "entries refer to pack %d, which is not there"},
	} {
		for stmt, err := range c.Rows(q.sql) {
			if err != nil {
				return false, err
			}
			k.differs(q.what, stmt.ColumnInt64(0))
		}
	}
	return false, nil
}

// schema compares tables and indexes with those that the migrations make.
func (k *checker) schema(c *db.Conn) (bool, error) {
	want, err := k.freshSchema()
	if err != nil {
		return false, err
	}
	have, err := readSchema(c)
	if err != nil {
		return false, err
	}
	for name, sql := range want {
		if have[name] != sql {
			k.differs("the table or index %s is missing or is not as it was made", name)
		}
	}
	for name := range have {
		if want[name] == "" {
			k.differs("posthouse did not make the table or index %s", name)
		}
	}
	return false, nil
}

// freshSchema migrates an empty database in memory.
func (k *checker) freshSchema() (map[string]string, error) {
	ms, err := k.Schema()
	if err != nil {
		return nil, err
	}
	c, err := db.OpenMemory()
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	for _, m := range ms {
		if err := c.Script(m.Script); err != nil {
			return nil, err
		}
	}
	return readSchema(c)
}

func readSchema(c *db.Conn) (map[string]string, error) {
	m := map[string]string{}
	for stmt, err := range c.Rows("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'") {
		if err != nil {
			return nil, err
		}
		m[stmt.ColumnText(0)] = stmt.ColumnText(1)
	}
	return m, nil
}
