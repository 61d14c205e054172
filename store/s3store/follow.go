package s3store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/posthouse/posthouse/internal/base/groupcommit"
)

// parallel is how many requests one call has on their way at most.
const parallel = 16

// refresh brings the index up to what was acknowledged when it was called. Calls that come
// while one asks share the next answer.
func (s *Store) refresh(ctx context.Context) error {
	if err := s.lifecycle.Usable(ctx); err != nil {
		return err
	}
	if ctx.Done() == nil {
		return s.pulls.Do(ctx, struct{}{})
	}
	s.view.index.RLock() // Close waits for those who began before it
	err := s.view.index.Usable(ctx)
	if err == nil {
		s.asking.Add(1)
	}
	s.view.index.RUnlock()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer s.asking.Done()
		done <- s.pulls.Do(ctx, struct{}{})
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done(): // whoever asks for all goes on
		return ctx.Err()
	}
}

func (s *Store) pullGroup(group []*groupcommit.Call[struct{}]) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*s.opts.Timeout)
	defer cancel()
	if err := s.pull(ctx); err != nil {
		for _, call := range group {
			call.Err = err
		}
	}
}

// pull takes in commits until there is no next one. It looks for one at first, and for
// more at once the more there are.
func (s *Store) pull(ctx context.Context) error {
	var missing uint64 // a commit that was not there though a later one was
	for rounds, window := 1, 1; ; rounds++ {
		s.view.index.RLock()
		next, partial, err := s.view.at+1, len(s.view.partial) > 0, s.view.damage
		s.view.index.RUnlock()
		if err != nil {
			return err
		}
		found, behind, err := s.fetchCommits(ctx, next, window)
		if err == nil && len(found) == 0 && (partial || next == missing) {
			err = s.objects.corrupt(s.objects.commitKey(next), "it is missing, and later commits are there")
		}
		if err == nil {
			err = s.take(found, true)
		}
		switch {
		case err != nil:
			return s.view.fail(err)
		case behind:
			missing, window = next+uint64(len(found)), 1
		case len(found) < window && !s.view.isPartial():
			return nil
		case len(found) < window || rounds == 1:
			window = 1
		default:
			window = min(4*window, 64)
		}
	}
}

// fetchCommits reads up to n commits from one on, those before the first that is absent.
// behind reports that a later one is there.
func (s *Store) fetchCommits(ctx context.Context, from uint64, n int) (found []*commit, behind bool, err error) {
	got := make([]*commit, n)
	err = each(n, func(i int) error {
		c, err := s.readCommit(ctx, from+uint64(i))
		if errors.Is(err, errAbsent) {
			return nil
		}
		got[i] = c
		return err
	})
	end := slices.Index(got, nil)
	if end < 0 {
		end = n
	}
	for _, c := range got[end:] {
		behind = behind || c != nil
	}
	return got[:end], behind, err
}

// each calls fn for each number below n, some at once, and returns the first error.
func each(n int, fn func(i int) error) error {
	if n == 1 {
		return fn(0)
	}
	var wg sync.WaitGroup
	errs := make([]error, n)
	room := make(chan struct{}, parallel)
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			errs[i] = fn(i)
			<-room
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readCommit reads one commit whole. It fails with errAbsent if the commit does not
// exist.
func (s *Store) readCommit(ctx context.Context, number uint64) (*commit, error) {
	o, err := s.objects.get(ctx, "read the log", s.objects.commitKey(number), 0, 0)
	if err != nil {
		return nil, err
	}
	c, err := s.parseCommit(number, o.data)
	if err == nil {
		s.cache.put(number, span{0, o.data})
	}
	return c, err
}

func (s *Store) parseCommit(number uint64, data []byte) (*commit, error) {
	c, _, err := readCommit(data, false)
	if err == nil && c.number != number {
		err = fmt.Errorf("it is commit %d", c.number)
	}
	if err != nil {
		return nil, s.objects.corrupt(s.objects.commitKey(number), "%w", err)
	}
	return c, nil
}

// take puts commits into the index, all of them at once to readers. logged says that they
// are from the log, so that they may lack a manifest.
func (s *Store) take(commits []*commit, logged bool) error {
	s.view.index.Lock()
	defer s.view.index.Unlock()
	defer s.view.index.Wake()
	for _, c := range commits {
		if c.number <= s.view.at {
			continue // adopted since
		}
		if err := s.view.apply(c); err != nil {
			return s.objects.corrupt(s.objects.commitKey(c.number), "%w", err)
		}
		own := c.id == s.view.awaited.id
		if own {
			s.view.mine = true
		} else {
			s.view.foreign = s.opts.now()
		}
		s.view.at, s.view.id = c.number, c.id
		if logged {
			s.advance(c.bare(nil), own || s.view.loading)
		}
	}
	return nil
}

// advance keeps the newest commit without its bodies. The process that wrote the last commit of a span
// makes the span's manifest, and so does one that finds it missing when it opens the store.
// Callers hold the lock.
func (s *Store) advance(bare []byte, make bool) {
	if s.opts.ReadOnly {
		return
	}
	s.view.recent = append(s.view.recent, bare)
	if s.view.at%firstSpan == 0 {
		if make && len(s.view.recent) == firstSpan {
			s.view.ready = append(s.view.ready, manifest{s.view.at - firstSpan + 1, s.view.at, s.view.recent})
		}
		s.view.recent = nil
	}
}

func (p *piece) place() place {
	return place{uint32(p.At), uint32(len(p.Head)), uint32(p.BodySize)}
}
