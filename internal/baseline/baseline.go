package baseline

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"zombiezen.com/go/sqlite"
)

// A DB is a table of rows. Its methods may be called at once from many
// goroutines.
type DB struct {
	queue *groupcommit.Queue[row]

	mu   sync.Mutex // of read
	read *sqlite.Conn
	get  *sqlite.Stmt
	scan *sqlite.Stmt

	write                 *sqlite.Conn
	insert, begin, commit *sqlite.Stmt
}

type row struct {
	thread, seq int64
	data        []byte
}

const schema = `PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
CREATE TABLE IF NOT EXISTS steps (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS steps_seq ON steps (thread, seq);`

// Open opens or makes the database file at path.
func Open(path string) (db *DB, err error) {
	db = &DB{}
	db.write, err = sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = db.Close()
		}
	}()
	for rest := schema; rest != ""; {
		stmt, n, err := db.write.PrepareTransient(rest)
		if err != nil {
			return nil, err
		}
		if _, err := stmt.Step(); err != nil {
			return nil, err
		}
		if err := stmt.Finalize(); err != nil {
			return nil, err
		}
		rest = rest[len(rest)-n:]
	}
	db.read, err = sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		stmt **sqlite.Stmt
		conn *sqlite.Conn
		sql  string
	}{
		{&db.begin, db.write, "BEGIN IMMEDIATE"},
		{&db.commit, db.write, "COMMIT"},
		{&db.insert, db.write, "INSERT INTO steps (thread, seq, data) VALUES (?1, ?2, ?3)"},
		{&db.get, db.read, "SELECT data FROM steps WHERE thread = ?1 AND seq = ?2"},
		{&db.scan, db.read, "SELECT seq, data FROM steps WHERE thread = ?1 AND seq >= ?2 ORDER BY seq"},
	} {
		*p.stmt, err = p.conn.Prepare(p.sql)
		if err != nil {
			return nil, err
		}
	}
	db.queue = groupcommit.New(1024, func(row) int { return 1 }, db.run)
	return db, nil
}

// Append writes one row and returns when it is on the disk.
func (db *DB) Append(ctx context.Context, thread, seq int64, data []byte) error {
	return db.queue.Do(ctx, row{thread, seq, data})
}

func (db *DB) run(group []*groupcommit.Call[row]) {
	err := db.group(group)
	for _, c := range group {
		c.Err = err
	}
}

func (db *DB) group(group []*groupcommit.Call[row]) error {
	if len(group) > 1 { // one statement is a transaction by itself
		if err := exec(db.begin); err != nil {
			return err
		}
	}
	for _, c := range group {
		db.insert.BindInt64(1, c.Work.thread)
		db.insert.BindInt64(2, c.Work.seq)
		db.insert.BindBytes(3, c.Work.data)
		if err := exec(db.insert); err != nil {
			return err
		}
	}
	if len(group) > 1 {
		return exec(db.commit)
	}
	return nil
}

func exec(stmt *sqlite.Stmt) error {
	if _, err := stmt.Step(); err != nil {
		return err
	}
	return stmt.Reset()
}

// Get reads one row.
func (db *DB) Get(thread, seq int64) (data []byte, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.get.BindInt64(1, thread)
	db.get.BindInt64(2, seq)
	found, err := db.get.Step()
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("baseline: there is no row %d of thread %d", seq, thread)
	}
	data = make([]byte, db.get.ColumnLen(0))
	db.get.ColumnBytes(0, data)
	return data, db.get.Reset()
}

// Scan reads up to limit rows of a thread from a sequence number on and
// returns how many there were.
func (db *DB) Scan(thread, from int64, limit int) (n int, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.scan.BindInt64(1, thread)
	db.scan.BindInt64(2, from)
	for n < limit {
		found, err := db.scan.Step()
		if err != nil {
			return n, err
		}
		if !found {
			break
		}
		data := make([]byte, db.scan.ColumnLen(1))
		db.scan.ColumnBytes(1, data)
		n++
	}
	return n, db.scan.Reset()
}

// Close closes the database.
func (db *DB) Close() (err error) {
	for _, c := range []*sqlite.Conn{db.read, db.write} {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
