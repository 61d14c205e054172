package filestore

import (
	"context"
	"errors"
	"io/fs"
	"sync"
)

// A follower keeps a store that only reads up with the process that writes.
type follower struct {
	mu     sync.Mutex
	loaded *loaded // what is followed; its maps are the store's
	oldest uint64  // segment; when it is gone its entries are in their logs
	file   file    // the newest segment
}

func (f *follower) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

func (s *Store) openRead(ctx context.Context) error {
	isNew, err := s.dir.identify()
	if err != nil {
		return err
	}
	if isNew {
		return noStore(s.dir.path, nil)
	}
	s.index.Refresh = s.follow
	s.follows.mu.Lock()
	defer s.follows.mu.Unlock()
	return s.loadAgain(ctx)
}

// loadAgain reads all of the store. Callers hold follows.mu.
func (s *Store) loadAgain(ctx context.Context) error {
	l, f, err := s.dir.loadUnmoved(ctx)
	if err != nil {
		return s.dir.wrap("read the store", err)
	}
	s.index.Lock()
	s.index.Replace(l.index)
	s.version++
	s.logs, s.slots, s.slotLog = l.logs, l.slots, logFile{end: l.slotLog.end, version: s.version}
	s.index.Wake()
	s.index.Unlock()
	if s.follows.file != nil {
		_ = s.follows.file.Close()
	}
	l.index = s.index
	s.follows.loaded, s.follows.oldest, s.follows.file = l, l.segments[0].number, f
	return nil
}

// loadUnmoved reads all of the store while the process that writes leaves its journal as it
// is, as long as that can; else again, a few times.
func (d *directory) loadUnmoved(ctx context.Context) (*loaded, file, error) {
	defer d.holdJournal()()
	for range attempts {
		if l, f, err := d.loadToFollow(ctx); !errors.Is(err, errMoved) {
			return l, f, err
		}
	}
	return nil, nil, d.corrupt(journalDir, errMoved) // it does not move that often
}

// loadToFollow reads all of the store, and opens the newest segment. It fails with errMoved
// if the process that writes drained that segment first.
func (d *directory) loadToFollow(ctx context.Context) (*loaded, file, error) {
	l, err := d.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	f, err := d.system.Open(segmentFile(l.segments[len(l.segments)-1].number), false)
	if errors.Is(err, fs.ErrNotExist) {
		err = errMoved
	}
	return l, f, err
}

// refresh brings a store that only reads up to date.
func (s *Store) refresh(ctx context.Context) error {
	if !s.opts.ReadOnly {
		return nil
	}
	return s.follow(ctx)
}

// follow reads what the other process has committed since.
func (s *Store) follow(ctx context.Context) error {
	s.follows.mu.Lock()
	defer s.follows.mu.Unlock()
	if s.lifecycle.Closed() {
		return nil // the index says so
	}
	numbers, err := s.dir.segments()
	if err != nil {
		return s.dir.wrap("read the journal", err)
	}
	if len(numbers) == 0 || numbers[0] != s.follows.oldest {
		return s.loadAgain(ctx)
	}
	l := s.follows.loaded
	for {
		g := l.segments[len(l.segments)-1]
		if err := s.followSegment(l, g); err != nil {
			return s.dir.wrap("read the journal", err)
		}
		if g.number >= numbers[len(numbers)-1] {
			return nil
		}
		more, err := s.nextSegment(l, g)
		if err != nil || !more {
			return s.dir.wrap("read the journal", err)
		}
	}
}

// followSegment reads what is new in a segment.
func (s *Store) followSegment(l *loaded, g *segment) error {
	size, err := s.follows.file.Size()
	if err != nil || size <= g.end {
		return err
	}
	b := make([]byte, size-g.end)
	n, err := s.follows.file.ReadAt(b, g.end)
	if n == 0 {
		return err
	}
	s.index.Lock()
	defer s.index.Unlock()
	end, err := l.replay(g, b[:n], 0)
	g.end += end
	if err != nil {
		return s.dir.corrupt(segmentFile(g.number), err)
	}
	if end > 0 {
		s.index.Wake()
	}
	return nil
}

// nextSegment goes on to the segment after g, which is sealed by then.
func (s *Store) nextSegment(l *loaded, g *segment) (bool, error) {
	number := g.number + 1
	f, err := s.dir.system.Open(segmentFile(number), false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b, err := readAll(f)
	if err == nil {
		var end int64
		_, end, err = readSegment(b, number)
		if err == nil {
			err = s.followSegment(l, g)
			if err == nil { // the last of it
				_ = s.follows.file.Close()
				s.follows.file = f
				l.segments = append(l.segments, &segment{number: number, end: end})
				return true, nil
			}
		}
	}
	_ = f.Close()
	if isDamage(err) {
		return false, nil // it is being made
	}
	return false, err
}

// rebuild reads all of the store again, when a read of a store that only reads found
// something else than it should. why is the error it found, or nil.
func (s *Store) rebuild(ctx context.Context, why error) error {
	if !s.opts.ReadOnly {
		return nil
	}
	s.follows.mu.Lock()
	defer s.follows.mu.Unlock()
	if s.lifecycle.Closed() {
		return why
	}
	return s.loadAgain(ctx)
}
