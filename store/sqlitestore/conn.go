package sqlitestore

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// minEngine is SQLite 3.51.3: the versions before can corrupt a database when
// a write-ahead log is reset while another process reads it.
const minEngine = 3051003

// applicationID marks our databases in their header: "post".
const applicationID = 0x706f7374

func checkEngine(version int) error {
	if version < minEngine {
		return fmt.Errorf("built with SQLite version %d, which can corrupt databases; %d or newer is needed", version, minEngine)
	}
	return nil
}

// A conn is a connection with its prepared statements, used by one goroutine
// at a time.
type conn struct {
	*sqlite.Conn
	mode     mode
	prepared [statements]*sqlite.Stmt
	fault    func(statement int) error // in tests: fails a statement instead of running it
}

// A mode is how a connection may use the database.
type mode int

const (
	modeWrite mode = iota
	modeRead
	modeImmutable // the file does not change and nothing may be created beside it
)

func (s *Store) connect(m mode) (*conn, error) {
	if err := checkEngine(sqlite3.SQLITE_VERSION_NUMBER); err != nil {
		return nil, err
	}
	path, flags := s.path, sqlite.OpenReadOnly
	switch m {
	case modeWrite:
		flags = sqlite.OpenReadWrite
	case modeImmutable:
		path = (&url.URL{Scheme: "file", OmitHost: true, Path: s.path, RawQuery: "immutable=1"}).String()
		flags |= sqlite.OpenURI
	}
	raw, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	raw.SetBusyTimeout(s.opts.BusyTimeout)
	c := &conn{Conn: raw, mode: m}
	if err := c.script("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON"); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// writes sets how a connection writes.
func (s *Store) writes(c *conn) error {
	sync := "FULL"
	if s.opts.Sync == SyncNormal {
		sync = "NORMAL"
	}
	// Removed bytes are overwritten, not just unlinked. The write-ahead log is
	// folded in at SQLite's 4 MB: while its file grows a sync costs half as much again.
	return c.script("PRAGMA secure_delete=ON; PRAGMA journal_size_limit=16777216; PRAGMA synchronous=" + sync)
}

// script runs statements that need no parameters, dropping any rows.
func (c *conn) script(sql string) error {
	for sql = strings.TrimSpace(sql); sql != ""; sql = strings.TrimSpace(sql) {
		stmt, rest, err := c.PrepareTransient(sql)
		if err != nil {
			return err
		}
		sql = sql[len(sql)-rest:]
		if stmt == nil {
			return nil
		}
		err = drain(stmt)
		if ferr := stmt.Finalize(); err == nil {
			err = ferr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func drain(stmt *sqlite.Stmt) error {
	for {
		if row, err := stmt.Step(); err != nil || !row {
			return err
		}
	}
}

// number runs a statement that yields one integer, such as a pragma.
func (c *conn) number(sql string) (n int64, err error) {
	err = c.one(sql, func(stmt *sqlite.Stmt) { n = stmt.ColumnInt64(0) })
	return n, err
}

func (c *conn) text(sql string) (t string, err error) {
	err = c.one(sql, func(stmt *sqlite.Stmt) { t = stmt.ColumnText(0) })
	return t, err
}

func (c *conn) one(sql string, read func(*sqlite.Stmt)) error {
	stmt, _, err := c.PrepareTransient(sql)
	if err != nil {
		return err
	}
	row, err := stmt.Step()
	if row {
		read(stmt)
	}
	if ferr := stmt.Finalize(); err == nil {
		err = ferr
	}
	return err
}

// stmt returns a prepared statement, ready to be bound from its first
// parameter on. The caller resets it when done: see exec, and reset.
func (c *conn) stmt(k int) (*sqlite.Stmt, error) {
	if c.fault != nil {
		if err := c.fault(k); err != nil {
			return nil, err
		}
	}
	if p := c.prepared[k]; p != nil {
		return p, nil
	}
	p, err := c.Prepare(statement[k])
	if err != nil {
		return nil, err
	}
	c.prepared[k] = p
	return p, nil
}

// exec runs a bound statement that yields no row.
func exec(stmt *sqlite.Stmt) error {
	if _, err := stmt.Step(); err != nil {
		return err
	}
	return stmt.Reset()
}

// do runs a statement that has no parameters.
func (c *conn) do(k int) error {
	stmt, err := c.stmt(k)
	if err != nil {
		return err
	}
	return exec(stmt)
}

// query runs a prepared statement and calls row for each row.
func (c *conn) query(k int, bind, row func(*sqlite.Stmt)) error {
	stmt, err := c.stmt(k)
	if err != nil {
		return err
	}
	bind(stmt)
	for {
		more, err := stmt.Step()
		if err != nil {
			return err
		}
		if !more {
			return stmt.Reset()
		}
		row(stmt)
	}
}

// interruptible makes ctx stop what the connection does until the returned
// function is called. It is for the few calls that take long.
func (c *conn) interruptible(ctx context.Context) (stop func()) {
	c.SetInterrupt(ctx.Done())
	return func() { c.SetInterrupt(nil) }
}
