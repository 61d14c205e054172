package redisstore

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Watch implements [posthouse.Watcher]. It goes on by itself when the server was away. It
// ends with an error when ctx ends, when the store is closed, or at an entry that does not
// decode. Messages of the server only wake it: it polls too.
//
// A cursor is valid for as long as the server keeps its data. A cursor of a store
// that was deleted, or after the newest commit, is [posthouse.ErrInvalid].
func (s *Store) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	start, bad := s.startWatch(ctx, cursor) // "now" is when Watch is called
	return func(yield func(*posthouse.Entry, error) bool) {
		if bad != nil {
			yield(nil, bad)
			return
		}
		s.listen.Begin()
		defer s.listen.End()
		wait := newRetries()
		for at := start; ; {
			news := s.news.Wait()
			page, err := s.watchPage(ctx, &at)
			for _, e := range page { // also those before an entry that cannot be read
				if !yield(e, nil) {
					return
				}
			}
			switch {
			case err != nil && (!isLost(err) || !wait.Next(ctx)):
				if ctx.Err() != nil && !s.lifecycle.Closed() {
					err = ctx.Err()
				}
				yield(nil, err)
				return
			case err == nil && len(page) == 0:
				wait.Reset()
				s.await(ctx, news)
			}
		}
	}
}

// await returns when there may be something new.
func (s *Store) await(ctx context.Context, news <-chan struct{}) {
	t := time.NewTimer(s.opts.Poll)
	defer t.Stop()
	select {
	case <-news:
	case <-t.C:
	case <-ctx.Done():
	}
}

// startWatch returns the commit that a cursor follows.
func (s *Store) startWatch(ctx context.Context, cursor string) (commit uint64, err error) {
	if cursor == "" {
		return 0, s.lifecycle.Usable(ctx)
	}
	foreign := posthouse.Invalid("cursor", "%.80q is not one this store gave out", cursor)
	foreign.Hint = "watch from the start; the server may have lost or got other data since"
	if cursor != "now" {
		life, n, _ := strings.Cut(cursor, "-")
		commit, err = strconv.ParseUint(n, 10, 53)
		if err != nil || life != s.life {
			return 0, foreign
		}
	}
	m, err := s.get(ctx, "begin to watch", "GET", s.prefix+"commit")
	if err != nil {
		return 0, err
	}
	var last uint64
	if !m.IsNil() {
		n, err := m.Int()
		if err != nil {
			return 0, s.wrap("begin to watch", err)
		}
		last = uint64(n)
	}
	switch {
	case cursor == "now":
		return last, nil
	case commit > last:
		return 0, foreign
	}
	return commit, nil
}

// watchPage reads the entries after a commit and moves at past them.
func (s *Store) watchPage(ctx context.Context, at *uint64) (page []*posthouse.Entry, err error) {
	r, err := s.ask(ctx, "watch", watchScript, strconv.FormatUint(*at, 10), strconv.Itoa(maxRows))
	if err != nil {
		return nil, err
	}
	for i := 0; i+3 < len(r); i += 4 {
		commit, err := strconv.ParseUint(r.text(i), 10, 64)
		member := r.text(i + 1)
		if err != nil || len(member) < 9 {
			return page, posthouse.Corrupt("the order of commits has %.80q at %.80q", member, r.text(i))
		}
		seq, thread := number64(member[:8]), member[8:]
		e, err := entryOf(thread, seq, r.text(i+2), r.text(i+3), false)
		if err != nil {
			return page, err
		}
		e.Cursor = fmt.Sprintf("%s-%d", s.life, commit)
		page, *at = append(page, e.Entry), commit
	}
	return page, nil
}
