package filestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/durable"
	"github.com/posthouse/posthouse/internal/base/filelock"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// A Store keeps threads in the files of one directory. Besides [posthouse.Store] it is
// a Watcher, Compacter, Backuper, Excluder, Checker, SlotLister and BulkAppender.
type Store struct {
	opts Options
	dir  directory
	lock *filelock.Lock // nil when read-only
	runs posthouse.Running

	state

	queue    *groupcommit.Queue[*request]
	requests sync.Pool // of *request, of appends
	commits  atomic.Uint64
	journal  journal   // of the leader of the queue
	group    gathering // of the leader, too
	drains   drains
	follows  follower // read-only

	lifecycle lifecycle.State
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
)

// An entry is one that the index knows. Its place may change under the index's lock.
type entry = memindex.Entry

func entryPlace(e *entry) *place { return memindex.Data[place](e) }

// A place is where an entry or a slot is: in memory until it is drained, then in a log.
type place struct {
	frame []byte // nil once it is in its log
	at    int64  // the offset there
	head  uint32 // the length of the frame's head
	body  uint32
}

func (p place) size() int64 { return framelogHeader + int64(p.head) + int64(p.body) }

// state is what the store knows of its files. It is guarded by the index's lock.
type state struct {
	index   *memindex.Index
	logs    map[string]*logFile // by thread
	slots   map[posthouse.SlotKey]*slot
	slotLog logFile
	version uint64          // the newest of a log
	digest  framelog.Digest // of entries and slots; of the leader, without the lock
}

func newState() state {
	return state{index: memindex.New(), logs: map[string]*logFile{}, slots: map[posthouse.SlotKey]*slot{}}
}

// A logFile is what the store knows of a log besides its content.
type logFile struct {
	end     int64  // where the next frame goes
	version uint64 // grows when the file is rewritten, since its offsets change
}

// Open opens the store in a directory. It makes the directory, and the store, if they are
// missing. It fails with [posthouse.ErrLocked] if another process has the store open for
// writing, with [posthouse.ErrNewer] if a newer version wrote it, and with
// [posthouse.ErrCorrupt] if a file is damaged or the directory is no store. It reads the
// heads of all entries.
func Open(ctx context.Context, dir string, o *Options) (*Store, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, posthouse.Invalid("store", "no directory is named; for a store in memory use memory:")
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fileError("find", dir, err)
	}
	s := &Store{opts: opts, state: newState()}
	s.dir = directory{path: dir, system: opts.system, opts: &s.opts, lifecycle: &s.lifecycle}
	s.lifecycle = lifecycle.State{
		Store: "the store " + dir, ReadOnly: opts.ReadOnly, Writer: "the process",
		Poisoned: "after an error", Cure: "check the disk, then open the store again and run posthouse verify",
	}
	if s.dir.system == nil {
		s.dir.system, err = openDir(dir, opts.ReadOnly)
		if err != nil {
			return nil, err
		}
	}
	if opts.ReadOnly {
		err = s.openRead(ctx)
	} else {
		err = s.openWrite(ctx)
	}
	if err != nil {
		_ = s.release()
		return nil, s.dir.wrap("open the store", err)
	}
	return s, nil
}

func openDir(dir string, readOnly bool) (system, error) {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return nil, posthouse.Invalid("store", "%s is a file; name a directory", dir)
	case errors.Is(err, fs.ErrNotExist) && readOnly:
		return nil, noStore(dir, err)
	case errors.Is(err, fs.ErrNotExist), err == nil:
		err = nil
		if !readOnly {
			err = durable.Dirs{}.MakeAll(dir, dirMode)
		}
	}
	if err != nil {
		return nil, fileError("create the directory", dir, err)
	}
	sys, err := openRoot(dir)
	if err != nil {
		return nil, fileError("open", dir, err)
	}
	return sys, nil
}

func noStore(dir string, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeNotFound, Message: "there is no store at " + dir, Err: err,
		Hint: "name the directory of a store that was opened for writing once",
	}
}

func (s *Store) openWrite(ctx context.Context) error {
	isNew, err := s.dir.identify()
	if err != nil {
		return err
	}
	if s.opts.system == nil {
		s.lock, err = acquire(s.dir.path)
		if err != nil {
			return err
		}
		isNew, err = s.dir.identify() // another process may have made it first
	}
	if err == nil && isNew {
		err = s.dir.create()
	}
	if err != nil {
		return err
	}
	l, err := s.dir.load(ctx)
	if err == nil {
		err = s.takeOver(l)
	}
	if err != nil {
		return err
	}
	s.queue = groupcommit.New(maxGroupCost, (*request).cost, s.commit)
	s.startDraining()
	return nil
}

// takeOver makes the loaded journal the one that is written.
func (s *Store) takeOver(l *loaded) error {
	s.state, s.drains.dirs, s.journal.last = l.state, l.dirs, l.last
	n := len(l.segments) - 1
	s.drains.sealed = l.segments[:n]
	current := l.segments[n]
	f, err := s.dir.system.Open(segmentFile(current.number), true)
	if err != nil {
		return s.dir.wrap("open the journal", err)
	}
	s.journal.current = current
	current.file = f
	size, err := f.Size()
	if err == nil && size != current.end { // bytes after it were never acknowledged
		err = cmp.Or(f.Truncate(current.end), f.Sync())
	}
	return s.dir.wrap("cut off the end of the journal", err)
}

// Exclusive reports true: no other process has the store open for writing.
func (s *Store) Exclusive() bool { return !s.opts.ReadOnly }

// Runs implements [posthouse.Excluder].
func (s *Store) Runs() *posthouse.Running { return &s.runs }

// Commits returns how many commits the journal has taken since the store was opened.
// Each was one sync, so appends divided by commits is how many appends shared one.
func (s *Store) Commits() uint64 { return s.commits.Load() }

// Close waits for writes in progress, drains the journal and closes the store.
// Acknowledged writes are durable without it. A second call returns nil.
func (s *Store) Close() error {
	if !s.lifecycle.Close() {
		return nil
	}
	if s.queue != nil {
		_ = s.queue.Do(context.Background(), &request{alone: func() error { return nil }}) // waits for the group before it
		s.drains.wait()
		if s.lifecycle.Damage() == nil {
			_ = s.drainAll() // nothing is lost without it
		}
	}
	s.index.Close()
	if err := s.release(); err != nil {
		return fileError("close the store", s.dir.path, err)
	}
	return nil
}

// release closes what is open.
func (s *Store) release() error {
	var errs []error
	if c := s.journal.current; c != nil && c.file != nil {
		errs = append(errs, c.file.Close())
	}
	s.follows.close()
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if s.dir.system != nil && s.opts.system == nil {
		errs = append(errs, s.dir.system.Close())
	}
	return errors.Join(errs...)
}
