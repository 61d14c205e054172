package sqlitestore

import (
	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
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

// orders checks that each row of orders leads to a checkpoint that is current.
func (k *checker) orders(c *conn) (bool, error) {
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
			if h == nil || h.Order != o || coordination != 0 && coordination != coordinationKey(h.Coordination) {
				continue
			}
			id := keyOf(h.ID)
			if p, err := c.place(&id); err != nil || p.entry == entry {
				return err
			}
		}
		k.differs("the index leads from order key %s to entry %d of thread %q, which does not have it", o, e.Seq, e.Thread)
		return nil
	})
}

// index looks at every row of an index table: columns key and entry.
func (k *checker) index(c *conn, statement int, check func(*sqlite.Stmt, *posthouse.Entry) error) (more bool, err error) {
	var failed error
	err = c.query(statement, func(*sqlite.Stmt) {}, func(stmt *sqlite.Stmt) {
		if failed = first(failed, k.ctx.Err()); failed != nil {
			return
		}
		e, err := c.entry(stmt.ColumnInt64(1))
		if err == nil {
			err = check(stmt, e)
		}
		switch {
		case refused(err):
			k.differs("an index row cannot be followed: %v", err)
		case err != nil:
			failed = err
		}
	})
	return false, first(err, failed)
}

// rest looks for rows that belong to nothing.
func (k *checker) rest(c *conn) (bool, error) {
	for _, q := range []struct {
		statement int
		what      string
	}{
		{qStrayTails, "the tail of thread number %d belongs to no thread"},
		{qStrayEntries, "entries of thread number %d belong to no thread"},
		{qStrayIndexTerms, "terms of thread number %d belong to no thread"},
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

// schema compares the tables and indexes with those that the migrations make.
func (k *checker) schema(c *conn) (bool, error) {
	want, err := freshSchema()
	if err != nil {
		return false, err
	}
	have, err := readSchema(c.Conn)
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
func freshSchema() (map[string]string, error) {
	ms, err := migrations()
	if err != nil {
		return nil, err
	}
	raw, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenMemory)
	if err != nil {
		return nil, err
	}
	defer func() { _ = raw.Close() }()
	c := &conn{Conn: raw}
	for _, m := range ms {
		if err := c.script(m.Script); err != nil {
			return nil, err
		}
	}
	return readSchema(raw)
}

func readSchema(c *sqlite.Conn) (map[string]string, error) {
	stmt, _, err := c.PrepareTransient("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'")
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for {
		row, err := stmt.Step()
		if err != nil || !row {
			return m, first(err, stmt.Finalize())
		}
		m[stmt.ColumnText(0)] = stmt.ColumnText(1)
	}
}
