package s3store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/framelog"
)

// A manifest has a span of commits without bodies, so that a store is opened with few
// requests. The first ones span firstSpan commits. Each spansPer of them that follow each
// other become one, as long as it is not too large.
const (
	firstSpan   = 64
	spansPer    = 16
	maxManifest = 16 << 20 // bytes
	maxSpan     = firstSpan * spansPer * spansPer
)

// A manifest is one that is known or to be written.
type manifest struct {
	first, last uint64
	commits     [][]byte
}

const manifestPrefix = "heads/"

func (m *manifest) data() []byte {
	head := manifestHead{m.first, m.last}
	return slices.Concat(append([][]byte{head.append(nil)}, m.commits...)...)
}

// manifests lists those that there are, by their first commits, the longest first.
func (o *objects) manifests(ctx context.Context) (all []manifest, err error) {
	keys, err := o.list(ctx, "list manifests", manifestPrefix, "", 0)
	for _, key := range keys {
		var m manifest
		name := strings.TrimPrefix(key, o.prefix+manifestPrefix)
		if n, _ := fmt.Sscanf(name, "%016x-%016x", &m.first, &m.last); n == 2 && o.manifestKey(m.first, m.last) == key {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b manifest) int {
		switch {
		case a.first != b.first:
			return int(int64(a.first - b.first))
		}
		return int(int64(b.last - a.last))
	})
	return all, err
}

// readManifest reads the commits of a manifest: errAbsent if it is not there, any error if
// it is damaged.
func (o *objects) readManifest(ctx context.Context, m manifest) (commits []*commit, tag string, err error) {
	got, err := o.get(ctx, "read a manifest", o.manifestKey(m.first, m.last), 0, 0)
	if err != nil {
		return nil, "", err
	}
	damaged := func(err error) ([]*commit, string, error) {
		return nil, got.tag, o.corrupt(o.manifestKey(m.first, m.last), "%w", err)
	}
	f, err := framelog.Parse(got.data, true)
	var head manifestHead
	if err == nil {
		err = head.read(f.Head)
	}
	if err == nil && head != (manifestHead{m.first, m.last}) {
		err = errors.New("it is another manifest")
	}
	if err != nil {
		return damaged(err)
	}
	rest := got.data[f.Size():]
	for n := m.first; n <= m.last; n++ {
		var c *commit
		c, rest, err = readCommit(rest, true)
		if err == nil && c.number != n {
			err = fmt.Errorf("it has commit %d in the place of commit %d", c.number, n)
		}
		if err != nil {
			return damaged(err)
		}
		commits = append(commits, c)
	}
	if len(rest) > 0 {
		return damaged(errors.New("it has more commits than it says"))
	}
	return commits, got.tag, nil
}

// load builds the index from the manifests and the commits after them.
func (s *Store) load(ctx context.Context) error {
	for range 8 {
		all, err := s.objects.manifests(ctx)
		if err != nil {
			return err
		}
		again, err := s.loadManifests(ctx, all)
		if err != nil {
			return err
		}
		if !again {
			break
		}
	}
	if err := s.pull(ctx); err != nil {
		return err
	}
	if err := s.findHole(ctx); err != nil {
		return err
	}
	s.view.index.Lock()
	s.view.loading = false
	var unfinished []string
	for thread := range s.view.dirty {
		unfinished = append(unfinished, thread)
	}
	s.view.index.Unlock()
	if s.opts.ReadOnly {
		return nil
	}
	s.writeManifests(ctx)
	for _, thread := range unfinished { // another process died while it removed
		if _, err := s.purge(ctx, thread, s.view.dirtyOf(thread)); err != nil {
			return err
		}
	}
	return nil
}

// loadManifests takes in the content of manifests. again says that one was merged during
// the read.
func (s *Store) loadManifests(ctx context.Context, all []manifest) (again bool, err error) {
	var chain []manifest
	for next := s.view.at + 1; ; next = chain[len(chain)-1].last + 1 {
		i := slices.IndexFunc(all, func(m manifest) bool { return m.first == next && m.last >= next })
		if i < 0 {
			break
		}
		chain = append(chain, all[i])
	}
	for some := range slices.Chunk(chain, parallel) {
		read := make([][]*commit, len(some))
		errs := make([]error, len(some))
		_ = each(len(some), func(i int) error {
			read[i], _, errs[i] = s.objects.readManifest(ctx, some[i])
			return nil
		})
		for i, err := range errs {
			switch {
			case errors.Is(err, errAbsent):
				return true, nil
			case isCorrupt(err): // the commits have what it had
				s.opts.Logger.Warn("posthouse: a manifest is damaged; reading its commits one by one", "store", s.objects.where, "err", err)
				return false, s.discard(ctx, some[i])
			case err != nil:
				return false, err
			}
			if err := s.take(read[i], false); err != nil {
				return false, err
			}
		}
	}
	return false, nil
}

// discard removes a damaged manifest, so that it is made again.
func (s *Store) discard(ctx context.Context, m manifest) error {
	if s.opts.ReadOnly {
		return nil
	}
	return s.objects.remove(ctx, "remove a manifest", s.objects.manifestKey(m.first, m.last))
}

// findHole looks whether commits follow one that is missing.
func (s *Store) findHole(ctx context.Context) error {
	later, err := s.objects.list(ctx, "list the log", "log/", s.objects.commitKey(s.newest()), 1)
	if err != nil || len(later) == 0 {
		return err
	}
	if err := s.pull(ctx); err != nil {
		return err
	}
	if at := s.newest(); later[0] > s.objects.commitKey(at) {
		return s.view.fail(s.objects.corrupt(s.objects.commitKey(at+1), "it is missing, and later commits are there"))
	}
	return nil
}

func (s *Store) newest() uint64 {
	s.view.index.RLock()
	defer s.view.index.RUnlock()
	return s.view.at
}

// writeManifests writes those that are ready. A manifest that cannot be written is made by
// who opens the store next.
func (s *Store) writeManifests(ctx context.Context) {
	s.view.index.Lock()
	ready, removals := s.view.ready, s.view.removals
	s.view.ready = nil
	s.view.index.Unlock()
	for _, m := range ready {
		err := s.writeManifest(ctx, m, removals)
		for span := uint64(firstSpan * spansPer); err == nil && span <= maxSpan && m.last%span == 0; span *= spansPer {
			err = s.merge(ctx, m.last-span+1, m.last)
		}
		if err != nil {
			s.opts.Logger.Warn("posthouse: cannot write a manifest", "store", s.objects.where, "err", err)
		}
	}
}

// writeManifest writes one that was made when there had been so many removals. If there
// are more, what they removed is taken out of it.
func (s *Store) writeManifest(ctx context.Context, m manifest, removals int) error {
	_, err := s.objects.put(ctx, "write a manifest", s.objects.manifestKey(m.first, m.last), m.data(), "")
	if err != nil && !errors.Is(err, errTaken) {
		return err
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	s.view.index.RLock()
	same := removals == s.view.removals
	s.view.index.RUnlock()
	if same {
		return nil
	}
	return s.purgeManifest(ctx, m, nil)
}

// merge makes one manifest of those between two commits.
func (s *Store) merge(ctx context.Context, first, last uint64) error {
	s.view.index.RLock()
	removals := s.view.removals
	s.view.index.RUnlock()
	all, err := s.objects.manifests(ctx)
	if err != nil {
		return err
	}
	whole := manifest{first: first, last: last}
	var parts []manifest
	size := 0
	for next := first; next <= last; next = parts[len(parts)-1].last + 1 {
		i := slices.IndexFunc(all, func(m manifest) bool { return m.first == next && m.last <= last })
		if i < 0 {
			return nil // one is missing
		}
		commits, _, err := s.objects.readManifest(ctx, all[i])
		if err != nil {
			return err
		}
		for _, c := range commits {
			b := c.bare(nil)
			whole.commits, size = append(whole.commits, b), size+len(b)
		}
		parts = append(parts, all[i])
		if size > maxManifest {
			return nil
		}
	}
	if len(parts) < 2 {
		return nil
	}
	if err := s.writeManifest(ctx, whole, removals); err != nil {
		return err
	}
	for _, m := range parts {
		if err := s.objects.remove(ctx, "remove a manifest", s.objects.manifestKey(m.first, m.last)); err != nil {
			return err
		}
	}
	return nil
}
