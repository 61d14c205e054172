package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/durable"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/internal/base/sqlschema"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
	"github.com/posthouse/posthouse/store/internal/wake"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/lists"
)

// A Store keeps threads in one SQLite database. Besides [posthouse.Store] it is
// a Watcher, Compacter, Backuper, Excluder, Checker, SlotLister, BulkAppender, BulkReader and Weaker.
type Store struct {
	path string
	opts Options
	lock *fileLock // nil when read-only
	runs posthouse.Running

	readers *db.Pool
	packs   packs
	news    wake.News
	watched watchedPages

	queue   *groupcommit.Queue[request]
	commits atomic.Uint64
	writer  *writer // opened by the first write, used only by the leader of the queue

	fault     func(sql string) error // in tests, for the connections that read
	state     sync.Mutex
	lifecycle lifecycle.State
	folding   *folding // after a removal
}

var (
	_ posthouse.Store        = (*Store)(nil)
	_ posthouse.Watcher      = (*Store)(nil)
	_ posthouse.SlotLister   = (*Store)(nil)
	_ posthouse.BulkAppender = (*Store)(nil)
	_ posthouse.Compacter    = (*Store)(nil)
	_ posthouse.Backuper     = (*Store)(nil)
	_ posthouse.Excluder     = (*Store)(nil)
	_ posthouse.Checker      = (*Store)(nil)
	_ posthouse.Weaker       = (*Store)(nil)
)

// Open opens the database file at path and brings its schema up to date. It makes the
// file and its directory if they are missing. It fails with [posthouse.ErrLocked] if
// another process has the store open for writing, with [posthouse.ErrNewer] if a newer
// version wrote the database, which it does not change, and with [posthouse.ErrCorrupt]
// if the file is no database of ours.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if path == "" || path == ":memory:" {
		return nil, posthouse.Invalid("store", "%q is no file; for a store in memory use memory:", path)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, fileError("find", path, err)
	}
	s := &Store{path: path, opts: opts}
	s.folding = newFolding(s.tryFold)
	s.lifecycle = lifecycle.State{
		Store: "the store " + path, ReadOnly: opts.ReadOnly, Writer: "the process",
		Poisoned: "after an error", Cure: "check the disk, then open the store again and run posthouse verify",
	}
	if opts.ReadOnly {
		err = s.openRead(ctx)
	} else {
		err = s.openWrite(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openWrite sets up the database on a connection that becomes the first reader.
func (s *Store) openWrite(ctx context.Context) (err error) {
	s.lock, err = acquire(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := (durable.Dirs{}).MakeAll(filepath.Dir(s.path), dirMode); err != nil {
			return fileError("create the directory", filepath.Dir(s.path), err)
		}
		s.lock, err = acquire(s.path)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.lock.release()
		}
	}()
	if err := prepare(s.path); err != nil {
		return err
	}
	c, err := s.connect(db.ModeWrite)
	if err != nil {
		return s.wrap("open the database", err)
	}
	err = s.setUp(ctx, c)
	if err == nil {
		err = s.lock.guard(s.path) // the write-ahead log exists now
	}
	if err != nil {
		s.abandon(c)
		return err
	}
	s.queue = groupcommit.New(maxGroupCost, request.cost, s.commit)
	s.readers = db.NewPool(s.opts.Readers, c, func() (*db.Conn, error) { return s.connect(db.ModeRead) })
	return nil
}

// setUp checks that the database is ours, brings its schema up to date, and turns the
// write-ahead log on.
func (s *Store) setUp(ctx context.Context, c *db.Conn) error {
	if err := s.identify(c); err != nil {
		return err
	}
	ms, err := migrations()
	if err != nil {
		return err
	}
	ms[termsSchema-1].Then = func(ctx context.Context) error { return lists.Fill(ctx, c) }
	ms[gatesSchema-1].Then = func(ctx context.Context) error { return fillGates(ctx, c) }
	ms[minutesSchema-1].Then = func(ctx context.Context) error { return fillMinutes(ctx, c) }
	ms[marksSchema-1].Then = func(ctx context.Context) error { return fillMarks(ctx, c) }
	version, err := schemaDB{c}.Version(ctx)
	if err == nil && version < len(ms) {
		err = s.writes(c)
		if err == nil {
			err = c.Script("PRAGMA page_size=4096") // it is fixed once there is a table
		}
		if err == nil {
			err = s.wal(c)
		}
	}
	if err == nil {
		err = sqlschema.Migrate(ctx, schemaDB{c}, ms)
	}
	if err != nil {
		return s.schemaError(err)
	}
	return s.wrap("turn the write-ahead log on", s.wal(c))
}

func (s *Store) wal(c *db.Conn) error {
	mode := ""
	_, err := c.Row("PRAGMA journal_mode=WAL", func(stmt *sqlite.Stmt) { mode = stmt.ColumnText(0) })
	if err == nil && mode != "wal" {
		err = &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "the file system of " + s.path + " cannot hold a write-ahead log",
			Hint: "use a local disk, not a network file system",
		}
	}
	return err
}

func (s *Store) connect(m db.Mode) (*db.Conn, error) {
	c, err := db.Open(s.path, m, s.opts.BusyTimeout)
	if err == nil && m != db.ModeWrite {
		c.Fault = s.fault
	}
	return c, err
}

// writes sets up a connection that writes.
func (s *Store) writes(c *db.Conn) error {
	sync := "FULL"
	if s.opts.Sync == SyncNormal {
		sync = "NORMAL"
	}
	// Removed bytes are overwritten, not just unlinked. The write-ahead log is folded in
	// at SQLite's 4 MB, because a sync costs half as much again while its file grows.
	return c.Script("PRAGMA secure_delete=ON; PRAGMA journal_size_limit=16777216; PRAGMA synchronous=" + sync)
}

// identify refuses a database that another application made.
func (s *Store) identify(c *db.Conn) error {
	id, err := c.Number("PRAGMA application_id")
	if err != nil {
		return s.wrap("read the database", err)
	}
	if id == applicationID {
		return nil
	}
	tables, err := c.Number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return s.wrap("read the database", err)
	}
	if id != 0 || tables != 0 {
		return &posthouse.Error{
			Code: posthouse.CodeCorrupt, Message: s.path + " is a SQLite database that posthouse did not make",
			Hint: "choose another file",
		}
	}
	return nil
}

// abandon closes a connection without changing the database. The last connection to
// close would fold the write-ahead log in if it may write, so a connection that only
// reads stays open until afterwards.
func (s *Store) abandon(c *db.Conn) {
	keep, err := s.connect(db.ModeRead)
	if err == nil {
		_, err = keep.Number("PRAGMA user_version") // opens the file
	}
	_ = c.Close()
	if err == nil {
		_ = keep.Close()
	}
}

// Exclusive reports true: no other process has the store open for writing.
func (s *Store) Exclusive() bool { return !s.opts.ReadOnly }

// Runs implements [posthouse.Excluder].
func (s *Store) Runs() *posthouse.Running { return &s.runs }

// Close waits for writes in progress and closes the store. Acknowledged writes are
// durable without it. A second call returns nil.
func (s *Store) Close() error {
	s.state.Lock()
	defer s.state.Unlock()
	if !s.lifecycle.Close() {
		return nil
	}
	s.news.Close()
	s.folding.stop()
	if s.queue != nil {
		// It waits for the group that is being committed. All queued requests, this one
		// included, fail since the store is closed.
		_ = s.queue.Do(context.Background(), request{})
	}
	errs := []error{s.readers.Close()}
	if s.writer != nil {
		if s.lifecycle.Damage() == nil {
			_ = s.writer.catchUpAll() // nothing is lost without it
		}
		errs = append(errs, s.writer.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return s.wrap("close the store", errors.Join(errs...))
}
