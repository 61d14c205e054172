package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// A page of entries is bounded, in entries and in bytes. One entry may be larger.
const (
	pageEntries = 64
	pageBytes   = 1 << 20
)

// attempts is how often a read starts over because files changed under it.
const attempts = 8

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	next := func(n int) ([]*posthouse.Entry, bool, error) {
		n = min(n, pageEntries)
		begin := r
		page, more, err := s.index.Entries(ctx, thread, &r, n)
		if fits := s.fitting(page, r.Headers); fits < len(page) {
			r = begin
			page, more, err = s.index.Entries(ctx, thread, &r, fits)
		}
		if err != nil {
			return nil, false, s.dir.wrap("read", err)
		}
		full, err := s.fetch(ctx, thread, page, r.Headers)
		return full, more, s.dir.wrap(fmt.Sprintf("read thread %q", thread), err)
	}
	return memindex.Pages(r.Limit, next, func(e *posthouse.Entry) *posthouse.Entry { return e })
}

// fitting returns how many entries make a page: those that fit, at least one.
func (s *state) fitting(page []*entry, headers bool) int {
	s.index.RLock()
	defer s.index.RUnlock()
	size := 0
	for i, e := range page {
		if size += int(entryPlace(e).head); !headers {
			size += int(entryPlace(e).body)
		}
		if i > 0 && size > pageBytes {
			return i
		}
	}
	return len(page)
}

// fetch returns the entries of a page. It leaves out those that were removed since.
func (s *Store) fetch(ctx context.Context, thread string, page []*entry, headers bool) (full []*posthouse.Entry, err error) {
	if len(page) == 0 {
		return nil, nil
	}
	for range attempts {
		var again bool
		full, again, err = s.tryFetch(thread, page, headers)
		if !again {
			return full, err
		}
		if err := s.rebuild(ctx, err); err != nil {
			return nil, err
		}
	}
	return full, err
}

// tryFetch does it once. again says that the log was rewritten during the read or,
// for a store that only reads, that it may have been.
func (s *Store) tryFetch(thread string, page []*entry, headers bool) (full []*posthouse.Entry, again bool, err error) {
	places, log := s.places(thread, page)
	if s.lifecycle.Closed() {
		return nil, false, s.lifecycle.ClosedError()
	}
	var f file
	for i, p := range places {
		if p == nil {
			continue // removed
		}
		frame := bytes.Clone(p.frame)
		if frame == nil {
			if f == nil {
				f, err = s.dir.system.Open(threadFile(thread), false)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, false, err
				}
				if f != nil {
					defer func() { _ = f.Close() }()
				}
				if _, now := s.places(thread, nil); now != log {
					return nil, true, err
				}
				if err != nil {
					return nil, s.opts.ReadOnly, s.dir.corrupt(threadFile(thread), err)
				}
			}
			frame, err = readFrame(f, *p, !headers)
			if err != nil {
				return nil, s.opts.ReadOnly, err
			}
		}
		e, err := decode(frame, page[i], !headers)
		if err != nil {
			return nil, s.opts.ReadOnly, s.dir.corrupt(threadFile(thread), err)
		}
		full = append(full, e)
	}
	return full, false, nil
}

// places returns where the entries are now, nil for those that are gone, and the version
// of their log.
func (s *state) places(thread string, page []*entry) (places []*place, version uint64) {
	s.index.RLock()
	defer s.index.RUnlock()
	if log := s.logs[thread]; log != nil {
		version = log.version
	}
	for _, e := range page {
		var at *place
		if now := s.index.Entry(thread, e.Seq); now != nil && now.Hash == e.Hash {
			p := *entryPlace(now)
			at = &p
		}
		places = append(places, at)
	}
	return places, version
}

// readFrame reads a frame, or its head.
func readFrame(f file, p place, body bool) ([]byte, error) {
	n := p.size()
	if !body {
		n -= int64(p.body)
	}
	b := make([]byte, n)
	if k, err := f.ReadAt(b, p.at); k < len(b) {
		return nil, err
	}
	return b, nil
}

// decode makes an entry of a frame, which it shares.
func decode(frame []byte, want *entry, bodies bool) (*posthouse.Entry, error) {
	f, err := framelog.Parse(frame, bodies)
	if err != nil {
		return nil, err
	}
	var e framelog.Entry
	if err := e.Read(f.Head); err != nil {
		return nil, err
	}
	if e.Entry.Thread != want.Thread || e.Entry.Seq != want.Seq || e.Entry.Hash != want.Hash {
		return nil, fmt.Errorf("it has entry %d of thread %q where entry %d was", e.Entry.Seq, e.Entry.Thread, want.Seq)
	}
	if bodies {
		if err := e.Fill(f.Body); err != nil {
			return nil, err
		}
	}
	return &e.Entry, nil
}

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	ref, err := s.index.Find(ctx, id)
	return ref, s.dir.wrap("find an id", err)
}

// List implements [posthouse.Store].
func (s *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return s.index.List(ctx, q)
}

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return s.index.Threads(ctx, q)
}

// Check implements [posthouse.Checker]. It reads each entry from the disk, folds each
// log into a summary, and compares the summary and the index with it. It reads each
// slot too.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		for err := range s.index.Check(ctx, func(e *entry) (*posthouse.Entry, error) { return s.one(ctx, e) }) {
			if !yield(err) {
				return
			}
		}
		for _, err := range s.Slots(ctx, "") {
			if err != nil && !yield(err) {
				return
			}
		}
	}
}

// one returns an entry, nil if it was removed since.
func (s *Store) one(ctx context.Context, e *entry) (*posthouse.Entry, error) {
	full, err := s.fetch(ctx, e.Thread, []*entry{e}, false)
	if err != nil || len(full) == 0 {
		return nil, s.dir.wrap(fmt.Sprintf("read thread %q", e.Thread), err)
	}
	return full[0], nil
}

func isNotFound(err error) bool { return errors.Is(err, posthouse.ErrNotFound) }
