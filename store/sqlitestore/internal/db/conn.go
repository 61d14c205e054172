package db

import (
	"cmp"
	"fmt"
	"iter"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// minEngine is SQLite 3.51.3. Older versions can corrupt a database when a
// write-ahead log is reset while another process reads it.
const minEngine = 3051003

// CheckEngine refuses a version of SQLite, such as 3051002, that can corrupt databases.
func CheckEngine(version int) error {
	if version < minEngine {
		return fmt.Errorf("built with SQLite version %d, which can corrupt databases; %d or newer is needed", version, minEngine)
	}
	return nil
}

// A Conn is a connection with its prepared statements, used by one goroutine
// at a time.
type Conn struct {
	*sqlite.Conn
	mode     Mode
	prepared map[string]*sqlite.Stmt
	Fault    func(sql string) error // in tests, fails a statement instead of running it
}

// A Mode is how a connection may use the database.
type Mode int

const (
	ModeWrite Mode = iota
	ModeRead
	ModeImmutable // the file does not change, and no file may be created beside it
)

// Open opens a connection, which waits up to busy for a lock that another program holds.
func Open(path string, m Mode, busy time.Duration) (*Conn, error) {
	if err := CheckEngine(sqlite3.SQLITE_VERSION_NUMBER); err != nil {
		return nil, err
	}
	flags := sqlite.OpenReadOnly
	switch m {
	case ModeWrite:
		flags = sqlite.OpenReadWrite
	case ModeImmutable:
		path = (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "immutable=1"}).String()
		flags |= sqlite.OpenURI
	}
	raw, err := sqlite.OpenConn(path, flags)
	if err != nil {
		return nil, err
	}
	raw.SetBusyTimeout(busy)
	c := &Conn{Conn: raw, mode: m, prepared: map[string]*sqlite.Stmt{}}
	if err := c.Script("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON"); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// OpenMemory opens an empty database in memory, which Close drops.
func OpenMemory() (*Conn, error) {
	raw, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenMemory)
	return &Conn{Conn: raw, prepared: map[string]*sqlite.Stmt{}}, err
}

// Script runs statements without parameters and drops their rows.
func (c *Conn) Script(sql string) error {
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
		err = cmp.Or(err, stmt.Finalize())
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

// Number runs a statement that yields one integer, such as a pragma.
func (c *Conn) Number(sql string) (n int64, err error) {
	_, err = c.Row(sql, func(stmt *sqlite.Stmt) { n = stmt.ColumnInt64(0) })
	return n, err
}

// A Key is a parameter that is bytes, or else text.
type Key struct {
	Blob []byte
	Text string
}

// Stmt returns a prepared statement with its parameters bound. A parameter is a number,
// text, bytes, nil, or a Key. The caller resets the statement. Parameters do not escape: those
// of an append would otherwise be a third of what it allocates.
func (c *Conn) Stmt(sql string, args ...any) (*sqlite.Stmt, error) {
	if c.Fault != nil {
		if err := c.Fault(sql); err != nil {
			return nil, err
		}
	}
	stmt := c.prepared[sql]
	if stmt == nil {
		var err error
		stmt, err = c.Prepare(sql)
		if err != nil {
			return nil, err
		}
		c.prepared[sql] = stmt
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			stmt.BindInt64(i+1, v)
		case uint64:
			stmt.BindInt64(i+1, int64(v))
		case string:
			stmt.BindText(i+1, v)
		case Key:
			if v.Blob != nil {
				stmt.BindBytes(i+1, v.Blob)
			} else {
				stmt.BindText(i+1, v.Text)
			}
		case []byte:
			if v != nil {
				stmt.BindBytes(i+1, v)
			} else {
				stmt.BindNull(i + 1)
			}
		case nil:
			stmt.BindNull(i + 1)
		default:
			panic("sqlitestore: parameter " + strconv.Itoa(i+1) + " is a " + reflect.TypeOf(arg).String())
		}
	}
	return stmt, nil
}

// Run runs a statement that yields no row.
func (c *Conn) Run(sql string, args ...any) error {
	stmt, err := c.Stmt(sql, args...)
	if err != nil {
		return err
	}
	if _, err := stmt.Step(); err != nil {
		return err
	}
	return stmt.Reset()
}

// Rows runs a statement and yields it at each row. An error ends the rows.
func (c *Conn) Rows(sql string, args ...any) iter.Seq2[*sqlite.Stmt, error] {
	return func(yield func(*sqlite.Stmt, error) bool) {
		stmt, err := c.Stmt(sql, args...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = stmt.Reset() }() // it repeats the error of Step
		for {
			row, err := stmt.Step()
			if err == nil && !row || !yield(stmt, err) || err != nil {
				return
			}
		}
	}
}

// Row runs a statement and calls read at its first row. It reports whether there is one.
func (c *Conn) Row(sql string, read func(*sqlite.Stmt), args ...any) (bool, error) {
	for stmt, err := range c.Rows(sql, args...) {
		if err == nil {
			read(stmt)
		}
		return err == nil, err
	}
	return false, nil
}

// Has reports whether a statement yields a row.
func (c *Conn) Has(sql string, args ...any) (bool, error) {
	return c.Row(sql, func(*sqlite.Stmt) {}, args...)
}

// Statements of a transaction.
const (
	Begin     = `BEGIN IMMEDIATE`
	BeginRead = `BEGIN`
	Commit    = `COMMIT`
	Rollback  = `ROLLBACK`
)

// Snapshot runs fn in a read transaction.
func (c *Conn) Snapshot(fn func(*Conn) error) error {
	if err := c.Run(BeginRead); err != nil {
		return err
	}
	err := fn(c)
	return cmp.Or(err, c.Run(Commit))
}

// Update runs fn in a transaction that writes. It rolls back if fn or the commit fails.
func (c *Conn) Update(fn func() error) error {
	if err := c.Run(Begin); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		err = c.Run(Commit)
	}
	if err != nil && !c.AutocommitEnabled() {
		_ = c.Run(Rollback)
	}
	return err
}
