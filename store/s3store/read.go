package s3store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// A page of entries is bounded, in entries and in bytes. One entry may be larger.
const (
	pageEntries = 64
	pageBytes   = 1 << 20
)

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	next := func(n int) ([]*posthouse.Entry, bool, error) {
		n = min(n, pageEntries)
		begin := r
		page, more, err := s.view.index.Entries(ctx, thread, &r, n)
		if fits := s.fitting(page, r.Headers); fits < len(page) {
			r = begin
			page, more, err = s.view.index.Entries(ctx, thread, &r, fits)
		}
		if err != nil {
			return nil, false, s.objects.wrap("read", err)
		}
		full, err := s.fetch(ctx, page, r.Headers, true)
		return full, more, away.Read(s.objects.wrap(fmt.Sprintf("read thread %q", thread), err))
	}
	return memindex.Pages(r.Limit, next, func(e *posthouse.Entry) *posthouse.Entry { return e })
}

// fitting returns how many entries make a page: those that fit, at least one.
func (s *Store) fitting(page []*entry, headers bool) int {
	s.view.index.RLock()
	defer s.view.index.RUnlock()
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

// A wanted entry is one to be read, as the index knew it at one moment.
type wanted struct {
	*entry
	place place
	gone  bodies.Gone
	isOut bool // removed
}

func (w *wanted) end(headers bool) int64 {
	n := int64(w.place.at) + framelog.HeaderSize + int64(w.place.head)
	if !headers {
		n += int64(w.place.body)
	}
	return n
}

// want looks entries up again, of one commit.
func (s *Store) want(some []*entry) []wanted {
	s.view.index.RLock()
	defer s.view.index.RUnlock()
	out := make([]wanted, len(some))
	for i, e := range some {
		out[i] = wanted{entry: e, isOut: true}
		if now := s.view.index.Entry(e.Thread, e.Seq); now != nil && now.Commit == e.Commit {
			out[i] = wanted{e, *entryPlace(now), s.view.gone[e.Commit], false}
		}
	}
	return out
}

// fetch returns the entries of a page, one request for each commit that is not at hand.
// It leaves out those that were removed since.
func (s *Store) fetch(ctx context.Context, page []*entry, headers, cached bool) (full []*posthouse.Entry, err error) {
	var groups [][]*entry
	for i, e := range page {
		if i == 0 || page[i-1].Commit/perCommit != e.Commit/perCommit {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], e)
	}
	if len(groups) == 0 {
		return nil, nil
	}
	read := make([][]*posthouse.Entry, len(groups))
	err = each(len(groups), func(i int) (err error) {
		read[i], err = s.fetchCommit(ctx, groups[i], headers, cached)
		return err
	})
	return slices.Concat(read...), err
}

// fetchCommit reads entries of one commit: the part of its object that has them, or if
// they are not there, all of it, since another process may have rewritten it.
func (s *Store) fetchCommit(ctx context.Context, some []*entry, headers, cached bool) ([]*posthouse.Entry, error) {
	number := some[0].Commit / perCommit
	key, list := s.objects.commitKey(number), s.want(some)
	from, to := int64(-1), int64(0)
	for i := range list {
		if w := &list[i]; !w.isOut {
			if from < 0 || int64(w.place.at) < from {
				from = int64(w.place.at)
			}
			to = max(to, w.end(headers))
		}
	}
	if from < 0 {
		return nil, nil
	}
	if data := s.cache.get(number, from, to); cached && data != nil {
		if full, err := decode(list, data, from, headers); err == nil {
			return full, nil
		}
	}
	o, err := s.objects.get(ctx, "read the log", key, from, to-from)
	if err == nil {
		if !headers {
			s.cache.put(number, span{from, o.data})
		}
		full, derr := decode(list, o.data, from, headers)
		if derr == nil {
			return full, nil
		}
	} else if !errors.Is(err, errRange) && !errors.Is(err, errAbsent) {
		return nil, err
	}
	s.cache.drop(number)
	if err := s.refresh(ctx); err != nil { // a removal that the object reflects is known then
		return nil, err
	}
	o, err = s.objects.get(ctx, "read the log", key, 0, 0)
	if errors.Is(err, errAbsent) {
		err = s.objects.corrupt(key, "it is missing")
	}
	if err != nil {
		return nil, err
	}
	c, err := s.parseCommit(number, o.data)
	if err != nil {
		return nil, err
	}
	s.move(c, o.data)
	full, err := decode(s.want(some), o.data, 0, headers)
	if err != nil {
		s.cache.drop(number)
		return nil, s.objects.corrupt(key, "%w", err)
	}
	return full, nil
}

// decode makes entries of bytes of their commit's object, from an offset on.
func decode(list []wanted, data []byte, from int64, headers bool) (full []*posthouse.Entry, err error) {
	for i := range list {
		w := &list[i]
		if w.isOut {
			continue
		}
		at, end := int64(w.place.at)-from, w.end(headers)-from
		if at < 0 || end > int64(len(data)) {
			return nil, &framelog.Damage{At: int64(w.place.at), Why: "is cut off"}
		}
		f, err := framelog.Parse(bytes.Clone(data[at:end]), !headers)
		var e framelog.Entry
		if err == nil {
			err = e.Read(f.Head)
		}
		if err == nil && (e.Entry.Thread != w.Thread || e.Entry.Seq != w.Seq || e.Entry.Hash != w.Hash || e.Commit != w.Commit) {
			err = fmt.Errorf("it has entry %d of thread %q where entry %d of thread %q was", e.Entry.Seq, e.Entry.Thread, w.Seq, w.Thread)
		}
		if err == nil && !headers {
			err = e.Fill(f.Body)
			if err == nil {
				for i := range e.Entry.Bodies {
					if w.gone.Has(i) {
						e.Entry.Bodies[i] = nil
					}
				}
			}
		}
		if err != nil {
			return nil, err
		}
		full = append(full, &e.Entry)
	}
	return full, nil
}

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	ref, err := s.view.index.Find(ctx, id)
	return ref, s.objects.wrap("find an id", err)
}

// List implements [posthouse.Store].
func (s *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return s.view.index.List(ctx, q)
}

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return s.view.index.Threads(ctx, q)
}

// Check implements [posthouse.Checker]. It reads each entry from the service, folds each
// log into a summary, and compares the summary and the index with it. It reads each slot
// and each manifest too.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return away.Checks(func(yield func(error) bool) {
		for err := range s.view.index.Check(ctx, func(e *entry) (*posthouse.Entry, error) { return s.one(ctx, e, false) }) {
			if !yield(err) {
				return
			}
		}
		for _, err := range s.Slots(ctx, "") {
			if err != nil && !yield(err) {
				return
			}
		}
		all, err := s.objects.manifests(ctx)
		if err != nil && !yield(err) {
			return
		}
		for _, m := range all {
			if _, _, err := s.objects.readManifest(ctx, m); err != nil && !errors.Is(err, errAbsent) && !yield(err) {
				return
			}
		}
	})
}

// one returns an entry, nil if it was removed since.
func (s *Store) one(ctx context.Context, e *entry, cached bool) (*posthouse.Entry, error) {
	full, err := s.fetch(ctx, []*entry{e}, false, cached)
	if err != nil || len(full) == 0 {
		return nil, s.objects.wrap(fmt.Sprintf("read thread %q", e.Thread), err)
	}
	return full[0], nil
}

// A cache keeps parts of objects that were written or read of late, so that a log is not
// asked for again by who has just written it.
type cache struct {
	mu    sync.Mutex
	spans map[uint64]span // by commit
	order []uint64        // the oldest first
	size  int
}

// A span is a part of an object.
type span struct {
	from int64
	data []byte
}

const (
	maxCache  = 32 << 20 // bytes
	maxCached = 4 << 20  // bytes of one commit
)

func (c *cache) put(number uint64, s span) {
	if len(s.data) > maxCached {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spans == nil {
		c.spans = map[uint64]span{}
	}
	old, have := c.spans[number]
	c.size += len(s.data) - len(old.data)
	c.spans[number] = s
	if !have {
		c.order = append(c.order, number)
	}
	for c.size > maxCache {
		c.size -= len(c.spans[c.order[0]].data)
		delete(c.spans, c.order[0])
		c.order = c.order[1:]
	}
}

// get returns bytes of an object, nil if they are not all there. They are not to be changed.
func (c *cache) get(number uint64, from, to int64) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.spans[number]
	if from < s.from || to > s.from+int64(len(s.data)) {
		return nil
	}
	return s.data[from-s.from : to-s.from]
}

// drop forgets an object's bytes, not that it had some.
func (c *cache) drop(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.spans[number]; ok {
		c.size -= len(s.data)
		c.spans[number] = span{}
	}
}
