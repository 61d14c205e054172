package s3store

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
)

// Remove implements [posthouse.Store]. A commit says what goes, so that no process serves
// it any more; then the objects that have it are rewritten without it, each on the
// condition that it has not changed. A removal that was broken off is finished by asking
// again, and by the next process that opens the store for writing. The objects stay, with
// about 100 bytes if everything in them was removed.
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return done, err
	}
	if err := s.submit(ctx, "remove from the log", &request{removal: &r}); err != nil {
		return done, err
	}
	if r.All {
		if err := s.slots.removeAll(ctx, r.Thread); err != nil {
			return done, err
		}
	}
	numbers := s.view.dirtyOf(r.Thread)
	s.view.index.RLock()
	for _, ref := range bodiesOf(&r) {
		if e := s.view.index.Entry(r.Thread, ref.Seq); e != nil {
			numbers = append(numbers, e.Commit/perCommit)
		}
	}
	s.view.index.RUnlock()
	return s.purge(ctx, r.Thread, numbers)
}

// bodiesOf returns the bodies that a removal takes by themselves.
func bodiesOf(r *posthouse.Removal) []posthouse.BodyRef {
	if r.All || r.Below > 0 {
		return nil
	}
	return r.Bodies
}

// dirtyOf returns the commits that may still have removed bytes of a thread in their
// objects.
func (v *view) dirtyOf(thread string) (numbers []uint64) {
	v.index.RLock()
	defer v.index.RUnlock()
	for n := range v.dirty[thread] {
		numbers = append(numbers, n)
	}
	return numbers
}

// judgeRemoval returns what a commit must say, nil if nothing is left to remove. Callers
// hold the lock.
func (v *view) judgeRemoval(r *posthouse.Removal) *removal {
	info := v.index.Info(r.Thread)
	if info == nil {
		return nil
	}
	m := &removal{what: *r}
	if r.All {
		return m
	}
	m.summary, _ = info.MarshalBinary() // never fails
	if r.Below > 0 {
		first := v.index.First(r.Thread)
		for seq := max(first, r.From); first > 0 && seq < min(r.Below, info.Tail.Seq+1); seq++ {
			if v.index.Entry(r.Thread, seq) != nil {
				return m
			}
		}
		return nil
	}
	m.what.Bodies = nil
	for _, ref := range r.Bodies {
		if e := v.index.Entry(r.Thread, ref.Seq); e != nil && ref.Record >= 0 && ref.Record < maxRecords && !v.gone[e.Commit].Has(ref.Record) {
			m.what.Bodies = append(m.what.Bodies, ref)
		}
	}
	if len(m.what.Bodies) == 0 {
		return nil
	}
	return m
}

// maxRecords bounds what a wrong reference to a body costs in memory.
const maxRecords = 1 << 20

// applyRemoval takes out of the index what a commit removes. Callers hold the lock.
func (v *view) applyRemoval(m *removal) error {
	r := &m.what
	var out []*entry
	switch {
	case r.All:
		out = v.index.RemoveAll(r.Thread)
	case r.Below > 0:
		out = v.index.RemoveEntries(r.Thread, r.From, r.Below)
	}
	if len(m.summary) > 0 {
		var info posthouse.ThreadInfo
		if err := info.UnmarshalBinary(m.summary); err != nil {
			return err
		}
		v.index.Summarise(&info)
	}
	delete(v.partial, r.Thread)
	v.removals++
	for _, ref := range bodiesOf(r) {
		if e := v.index.Entry(r.Thread, ref.Seq); e != nil {
			g := slices.Clone(v.gone[e.Commit]) // readers may have the old one
			g.Set(ref.Record)
			v.gone[e.Commit] = g
			if !v.loading {
				v.markDirty(r.Thread, e.Commit/perCommit)
			}
		}
	}
	for _, e := range out {
		delete(v.gone, e.Commit)
		v.markDirty(r.Thread, e.Commit/perCommit)
	}
	return nil
}

func (v *view) markDirty(thread string, number uint64) {
	if v.dirty[thread] == nil {
		v.dirty[thread] = map[uint64]bool{}
	}
	v.dirty[thread][number] = true
}

// purge rewrites the objects of commits without removed bytes, and counts what it took
// from the thread.
func (s *Store) purge(ctx context.Context, thread string, numbers []uint64) (done posthouse.Removed, err error) {
	if len(numbers) == 0 {
		return done, nil
	}
	s.purging.Lock()
	defer s.purging.Unlock()
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	counts := make([]posthouse.Removed, len(numbers))
	if err := each(len(numbers), func(i int) (err error) {
		counts[i], err = s.purgeCommit(ctx, thread, numbers[i])
		return err
	}); err != nil {
		return done, err
	}
	all, err := s.objects.manifests(ctx)
	if err != nil {
		return done, err
	}
	for _, m := range all {
		from, _ := slices.BinarySearch(numbers, m.first)
		to, _ := slices.BinarySearch(numbers, m.last+1)
		if from == to {
			continue
		}
		if err := s.purgeManifest(ctx, m, numbers[from:to]); err != nil {
			return done, err
		}
	}
	for _, c := range counts {
		done.Entries, done.Bodies, done.Bytes = done.Entries+c.Entries, done.Bodies+c.Bodies, done.Bytes+c.Bytes
	}
	s.view.index.Lock()
	defer s.view.index.Unlock()
	for _, n := range numbers {
		delete(s.view.dirty[thread], n)
	}
	if len(s.view.dirty[thread]) == 0 {
		delete(s.view.dirty, thread)
	}
	return done, nil
}

// purgeCommit rewrites one commit's object.
func (s *Store) purgeCommit(ctx context.Context, thread string, number uint64) (done posthouse.Removed, err error) {
	key := s.objects.commitKey(number)
	for {
		o, err := s.objects.get(ctx, "remove from the log", key, 0, 0)
		if errors.Is(err, errAbsent) {
			err = s.objects.corrupt(key, "it is missing")
		}
		if err != nil {
			return done, err
		}
		c, err := s.parseCommit(number, o.data)
		if err != nil {
			return done, err
		}
		data, now, err := s.strip(c, thread, false)
		if err != nil {
			return done, err
		}
		if done.Entries+done.Bodies == 0 {
			done = now // an attempt that lost its answer may have done it
		}
		if data == nil {
			return done, nil
		}
		_, err = s.objects.put(ctx, "remove from the log", key, data, o.tag)
		if err == nil {
			fresh, err := s.parseCommit(number, data)
			if err == nil {
				s.move(fresh, data)
			}
			return done, err
		}
		if !errors.Is(err, errTaken) {
			return done, err
		}
	}
}

// strip returns a commit without the bytes that left the index, nil if there are no such
// bytes, and what goes of the thread.
func (s *Store) strip(c *commit, thread string, bare bool) (out []byte, done posthouse.Removed, err error) {
	s.view.index.RLock()
	defer s.view.index.RUnlock()
	changed := false
	var frames [][]byte
	for i := range c.pieces {
		p := &c.pieces[i]
		if p.KindOf() != framelog.KindEntry {
			frames = append(frames, p.raw)
			continue
		}
		var e framelog.Entry
		if err := e.Read(p.Head); err != nil {
			return nil, done, s.objects.corrupt(s.objects.commitKey(c.number), "%w", err)
		}
		have := s.view.index.Entry(e.Entry.Thread, e.Entry.Seq)
		gone := have == nil || have.Commit != e.Commit
		n := 0
		for i, size := range e.Sizes {
			if size == 0 || !gone && (bare || !s.view.gone[e.Commit].Has(i)) {
				continue
			}
			n++
			if e.Entry.Thread == thread {
				done.Bodies++
				done.Bytes += int64(size)
			}
		}
		switch {
		case gone:
			changed = true
			if e.Entry.Thread == thread {
				done.Entries++
				done.Bytes += int64(len(e.Entry.Header) + len(e.Entry.Sig))
			}
			if g := s.view.taken(&e); len(g.ids) > 0 {
				frames = append(frames, g.append(nil))
			}
		case n > 0:
			changed = true
			f, err := framelog.Parse(p.raw, true)
			if err == nil {
				err = e.Fill(f.Body)
			}
			if err != nil {
				return nil, done, s.objects.corrupt(s.objects.commitKey(c.number), "%w", err)
			}
			for i := range e.Entry.Bodies {
				if s.view.gone[e.Commit].Has(i) {
					e.Entry.Bodies[i] = nil
				}
			}
			b, _ := e.Append(nil)
			frames = append(frames, b)
		default:
			frames = append(frames, p.raw)
		}
	}
	if !changed {
		return nil, done, nil
	}
	h := c.commitHead
	h.frames = len(frames)
	return append(h.append(nil), bytes.Join(frames, nil)...), done, nil
}

// taken returns the ids that an entry took away from older ones that are still there.
func (v *view) taken(e *framelog.Entry) (g gone) {
	g.thread = e.Entry.Thread
	first := v.index.First(g.thread)
	if first == 0 || first >= e.Entry.Seq {
		return g
	}
	mine := map[posthouse.ID]bool{}
	for _, id := range slices.Concat(e.IDs, e.Drop) {
		mine[id] = true
	}
	for seq := first; seq < e.Entry.Seq; seq++ {
		older := v.index.Entry(g.thread, seq)
		if older == nil {
			continue
		}
		for _, id := range older.IDs {
			if mine[id] && !slices.Contains(g.ids, string(id)) {
				g.ids = append(g.ids, string(id))
			}
		}
	}
	return g
}

// move notes where the entries of a commit are in its rewritten object.
func (s *Store) move(c *commit, data []byte) {
	s.cache.put(c.number, span{0, data})
	s.view.index.Lock()
	defer s.view.index.Unlock()
	for i := range c.pieces {
		p := &c.pieces[i]
		var e framelog.Entry
		if p.KindOf() != framelog.KindEntry || e.Read(p.Head) != nil {
			continue
		}
		if have := s.view.index.Entry(e.Entry.Thread, e.Entry.Seq); have != nil && have.Commit == e.Commit {
			*entryPlace(have) = p.place()
		}
	}
}

// purgeManifest rewrites a manifest without the removed bytes of some of its commits, all
// of them for nil. A manifest that was merged in between is clean: a merge looks for
// removals afterwards.
func (s *Store) purgeManifest(ctx context.Context, m manifest, numbers []uint64) error {
	for {
		commits, tag, err := s.objects.readManifest(ctx, m)
		if errors.Is(err, errAbsent) {
			return nil
		}
		if isCorrupt(err) {
			return s.discard(ctx, m)
		}
		if err != nil {
			return err
		}
		changed := false
		m.commits = nil
		for _, c := range commits {
			var b []byte
			if _, some := slices.BinarySearch(numbers, c.number); some || numbers == nil {
				b, _, err = s.strip(c, "", true)
				if err != nil {
					return err
				}
			}
			changed = changed || b != nil
			if b == nil {
				b = c.bare(nil)
			}
			m.commits = append(m.commits, b)
		}
		if !changed {
			return nil
		}
		_, err = s.objects.put(ctx, "remove from a manifest", s.objects.manifestKey(m.first, m.last), m.data(), tag)
		if !errors.Is(err, errTaken) {
			return err
		}
	}
}

func isCorrupt(err error) bool { return errors.Is(err, posthouse.ErrCorrupt) }
