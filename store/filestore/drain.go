package filestore

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/internal/framelog"
)

// drains are the segments that wait to be drained, and who drains them.
type drains struct {
	mu      sync.Mutex
	sealed  []*segment // oldest first
	running bool
	hurry   atomic.Bool // set while somebody waits for those that are drained

	work sync.WaitGroup
	one  sync.Mutex      // held while a segment is drained
	dirs map[string]bool // that are in threads/; guarded by one
}

func (d *drains) add(g *segment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sealed = append(d.sealed, g)
}

func (d *drains) waiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sealed)
}

// wait waits until nothing is drained beside the commits. Readers are not waited for.
func (d *drains) wait() {
	d.hurry.Store(true)
	defer d.hurry.Store(false)
	d.work.Wait()
}

// startDraining drains what is sealed, beside the commits.
func (s *Store) startDraining() {
	d := &s.drains
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running || len(d.sealed) == 0 {
		return
	}
	d.running = true
	d.work.Go(func() {
		for {
			for s.dir.held() && d.waiting() < maxSealedRead && !s.lifecycle.Closed() && !d.hurry.Load() {
				<-time.After(heldPause)
			}
			err := s.drainOldest()
			d.mu.Lock()
			if err != nil || len(d.sealed) == 0 || s.lifecycle.Closed() {
				d.running = false
				d.mu.Unlock()
				return
			}
			d.mu.Unlock()
		}
	})
}

// drainAll empties the journal. Only the leader calls it.
func (s *Store) drainAll() error {
	if !s.journal.current.empty() {
		if err := s.seal(); err != nil {
			return s.dir.wrap("begin a segment of the journal", err)
		}
	}
	for s.drains.waiting() > 0 {
		if err := s.drainOldest(); err != nil {
			return err
		}
	}
	return nil
}

// drainOldest drains the oldest segment, if there is one. A full disk is
// [posthouse.ErrFull], and the segment stays. Other errors stop all writing.
func (s *Store) drainOldest() error {
	d := &s.drains
	d.one.Lock()
	defer d.one.Unlock()
	d.mu.Lock()
	if len(d.sealed) == 0 {
		d.mu.Unlock()
		return nil
	}
	g := d.sealed[0]
	d.mu.Unlock()
	if err := s.lifecycle.Damage(); err != nil {
		return err // what the logs hold is not known
	}
	err := s.drain(g)
	if err == nil {
		d.mu.Lock()
		d.sealed = d.sealed[1:]
		d.mu.Unlock()
		err = s.tidySlots()
	}
	if err != nil && !isFull(err) {
		return s.dir.poison(err)
	}
	return s.dir.wrap("drain the journal", err)
}

// A thread's share of a segment.
type share struct {
	thread  string
	entries []*entry
	end     int64 // of the log, before and then after
	fresh   bool  // the log is new
}

// drain moves a segment's content to the logs, and removes the segment when all of it is
// durable there.
func (s *Store) drain(g *segment) error {
	if !g.drained {
		if err := s.copyOut(g); err != nil {
			return err
		}
		g.drained = true
	}
	if err := s.dir.system.Remove(segmentFile(g.number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.dir.system.SyncDir(journalDir)
}

// copyOut makes a segment's content durable in the logs.
func (s *Store) copyOut(g *segment) error {
	shares := s.shares(g)
	if err := s.makeDirs(shares); err != nil {
		return err
	}
	if err := each(shares, s.dir.drainThread); err != nil {
		return err
	}
	synced := map[string]bool{}
	for _, sh := range shares {
		if dir := path.Dir(threadFile(sh.thread)); sh.fresh && !synced[dir] {
			synced[dir] = true
			if err := s.dir.system.SyncDir(dir); err != nil {
				return err
			}
		}
	}
	moved, end, err := s.drainSlots(g)
	if err != nil {
		return err
	}
	s.index.Lock()
	for _, sh := range shares {
		at := sh.end
		for _, e := range sh.entries {
			at -= entryPlace(e).size()
		}
		for _, e := range sh.entries {
			p := entryPlace(e)
			p.frame, p.at = nil, at
			at += p.size()
		}
		s.logs[sh.thread].end = sh.end
	}
	for key, to := range moved {
		if have := s.slots[key]; have != nil && have.commit == to.commit {
			have.place = to.place
		}
	}
	s.slotLog.end = max(s.slotLog.end, end)
	s.index.Unlock()
	return nil
}

// shares divides a segment's entries by thread.
func (s *state) shares(g *segment) (all []*share) {
	s.index.Lock()
	defer s.index.Unlock()
	by := map[string]*share{}
	for _, e := range g.entries {
		sh := by[e.Thread]
		if sh == nil {
			log := s.logs[e.Thread]
			if log == nil {
				s.version++
				log = &logFile{version: s.version}
				s.logs[e.Thread] = log
			}
			sh = &share{thread: e.Thread, end: log.end, fresh: log.end == 0}
			by[e.Thread] = sh
			all = append(all, sh)
		}
		sh.entries = append(sh.entries, e)
	}
	return all
}

// makeDirs makes the directories of new logs.
func (s *Store) makeDirs(shares []*share) error {
	made := []string(nil)
	for _, sh := range shares {
		dir := path.Dir(threadFile(sh.thread))
		if !sh.fresh || s.drains.dirs[dir] {
			continue
		}
		if err := s.dir.system.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		s.drains.dirs[dir] = true
		made = append(made, dir)
	}
	if len(made) == 0 {
		return nil
	}
	err := s.dir.system.SyncDir(threadsDir)
	if err != nil {
		for _, dir := range made {
			delete(s.drains.dirs, dir)
		}
	}
	return err
}

// drainThread appends a thread's share to its log and syncs it. It first cuts off bytes
// that an earlier attempt left after the end.
func (d *directory) drainThread(sh *share) (err error) {
	name := threadFile(sh.thread)
	var f file
	if sh.fresh {
		f, err = d.system.Create(name)
	} else {
		f, err = d.system.Open(name, true)
	}
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	if err := cutAt(f, sh.end); err != nil {
		return err
	}
	var buf []byte
	if sh.fresh {
		first := framelog.Thread{Name: sh.thread}
		buf = first.Append(nil)
	}
	size := 0
	for _, e := range sh.entries {
		size += len(entryPlace(e).frame)
	}
	buf = slices.Grow(buf, size)
	for _, e := range sh.entries {
		buf = append(buf, entryPlace(e).frame...)
	}
	if _, err := f.WriteAt(buf, sh.end); err != nil {
		_ = f.Truncate(sh.end) // the next attempt does it too
		return err
	}
	sh.end += int64(len(buf))
	return f.Sync()
}

// cutAt cuts off the bytes after the end of a log.
func cutAt(f file, end int64) error {
	size, err := f.Size()
	if err == nil && size > end {
		err = f.Truncate(end)
	}
	return err
}

// parallel is how many logs are drained at once: file systems sync many files that are
// synced together for little more than one.
const parallel = 16

// each calls f for all items, several at once, and returns the first error.
func each[T any](items []T, f func(T) error) error {
	if len(items) == 1 {
		return f(items[0])
	}
	var mu sync.Mutex
	var first error
	next := 0
	take := func() (item T, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		ok = next < len(items) && first == nil
		if ok {
			item = items[next]
			next++
		}
		return item, ok
	}
	var group sync.WaitGroup
	for range min(parallel, len(items)) {
		group.Go(func() {
			for item, ok := take(); ok; item, ok = take() {
				if err := f(item); err != nil {
					mu.Lock()
					first = cmp.Or(first, err)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return first
}
