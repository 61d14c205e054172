package memstore

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// A page is what an iterator takes under one hold of the lock: so many results,
// or so many candidates looked at.
const (
	pageResults    = 256
	pageCandidates = 4096
	firstGates     = 64 // of open gates most callers want the first few
)

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		left := limit(r.Limit)
		for more := true; more && left > 0; {
			var page []*entry
			var err error
			if page, r, more, err = s.readPage(ctx, thread, r, min(left, pageResults)); err != nil {
				yield(nil, err)
				return
			}
			left -= len(page)
			for _, e := range page {
				c := cloneEntry(&e.Entry, !r.Headers)
				if !yield(&c, nil) {
					return
				}
			}
		}
	}
}

// limit turns 0 into no limit.
func limit(n int) int {
	if n <= 0 {
		return int(^uint(0) >> 1)
	}
	return n
}

// readPage returns up to n entries and the range that is left.
func (s *Store) readPage(ctx context.Context, thread string, r posthouse.Range, n int) (page []*entry, rest posthouse.Range, more bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return nil, r, false, err
	}
	t := s.threads[thread]
	if t == nil {
		return nil, r, false, nil
	}
	if r.Seqs != nil {
		take := min(len(r.Seqs), pageCandidates)
		for i, seq := range r.Seqs[:take] {
			if e := t.at(seq); e != nil {
				if page = append(page, e); len(page) == n {
					take = i + 1
					break
				}
			}
		}
		r.Seqs = r.Seqs[take:]
		return page, r, len(r.Seqs) > 0, nil
	}
	from, to := max(r.From, t.first), t.info.Tail.Seq
	if r.To != 0 {
		to = min(to, r.To)
	}
	if from > to {
		return nil, r, false, nil
	}
	if count := to - from + 1; count > uint64(n) {
		more = true
		if r.Reverse {
			from = to - uint64(n) + 1
		} else {
			to = from + uint64(n) - 1
		}
	}
	for _, e := range t.entries[from-t.first : to-t.first+1] {
		if e != nil {
			page = append(page, e)
		}
	}
	if r.Reverse {
		slices.Reverse(page)
		r.To = from - 1
	} else {
		r.From = to + 1
	}
	return page, r, more, nil
}

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return posthouse.Ref{}, err
	}
	p, ok := s.ids[id]
	if !ok {
		return posthouse.Ref{}, posthouse.NotFound("checkpoint or gate", id)
	}
	return posthouse.Ref{Thread: p.thread.info.Thread, Seq: p.seq}, nil
}

// List implements [posthouse.Store].
func (s *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return func(yield func(*posthouse.Header, error) bool) {
		left := limit(q.Limit)
		for more := true; more && left > 0; {
			var page []*row
			var err error
			if page, q.After, more, err = s.listPage(ctx, &q, min(left, pageResults)); err != nil {
				yield(nil, err)
				return
			}
			left -= len(page)
			for _, r := range page {
				h := cloneHeader(&r.Header)
				if !yield(&h, nil) {
					return
				}
			}
		}
	}
}

// listPage returns up to n headers and the cursor to go on from.
func (s *Store) listPage(ctx context.Context, q *posthouse.Query, n int) (page []*row, after string, more bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return nil, "", false, err
	}
	rows, behind, err := s.candidates(q)
	if err != nil || rows == nil {
		return nil, "", false, err
	}
	looked := 0
	visit := func(r *row) bool {
		looked++
		if q.Match(&r.Header) {
			page = append(page, r)
		}
		if len(page) == n || looked == pageCandidates {
			after, more = r.Cursor(), true
		}
		return !more
	}
	from, to := func(*row) bool { return true }, func(*row) bool { return true }
	if q.Thread != "" { // by sequence: what is out of bounds need not be looked at
		from = func(r *row) bool { return r.Seq >= q.From }
		to = func(r *row) bool { return q.To == 0 || r.Seq <= q.To }
	}
	if q.Descending {
		rows.descend(func(r *row) bool { return to(r) && (q.After == "" || behind(r) < 0) }, func(r *row) bool { return from(r) && visit(r) })
	} else {
		rows.ascend(func(r *row) bool { return from(r) && (q.After == "" || behind(r) > 0) }, func(r *row) bool { return to(r) && visit(r) })
	}
	return page, after, more, nil
}

// candidates returns the shortest index that holds all matches, in the query's
// order, and how a row compares with the cursor.
func (s *Store) candidates(q *posthouse.Query) (rows *ordered[*row], behind func(*row) int, err error) {
	var key posthouse.OrderKey
	var seq uint64
	if q.After != "" {
		if key, seq, err = posthouse.ParseCursor(q.After); err != nil {
			return nil, nil, err
		}
	}
	if q.Thread != "" {
		if t := s.threads[q.Thread]; t != nil {
			rows = &t.rows
		}
		return rows, func(r *row) int { return byKey(posthouse.OrderKey{}, r.Seq, posthouse.OrderKey{}, seq) }, nil
	}
	if rows = &s.rows; q.Coordination != "" {
		rows = s.coords[q.Coordination]
	}
	return rows, func(r *row) int { return byKey(r.Order, r.Seq, key, seq) }, nil
}

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		left, size := limit(q.Limit), pageResults
		if q.Gates {
			size = firstGates
		}
		for more := true; more && left > 0; {
			var page []posthouse.ThreadInfo
			var err error
			if page, q.After, more, err = s.threadsPage(ctx, &q, min(left, size)); err != nil {
				yield(nil, err)
				return
			}
			left, size = left-len(page), min(4*size, pageResults)
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
		}
	}
}

func (s *Store) threadsPage(ctx context.Context, q *posthouse.ThreadQuery, n int) (page []posthouse.ThreadInfo, after string, more bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch err := s.usable(ctx); {
	case err != nil:
		return nil, "", false, err
	case q.DueBefore != 0:
		return s.dueBy(q), "", false, nil
	case q.Gates && q.Thread != "":
		if t := s.threads[q.Thread]; t != nil {
			page = t.gatesOf(q)
		}
		return page, "", false, nil
	case q.Gates:
		page, after, more = s.gatesPage(q, n)
		return page, after, more, nil
	case q.Thread != "":
		if t := s.threads[q.Thread]; t != nil && q.Match(&t.info) && q.Behind(q.Thread) {
			page = append(page, cloneInfo(&t.info))
		}
		return page, "", false, nil
	}
	names := &s.names
	if q.Waiting || q.Runnable || q.Leased {
		names = &s.active
	}
	looked := 0
	visit := func(t *thread) bool {
		if !strings.HasPrefix(t.info.Thread, q.Prefix) {
			return false
		}
		looked++
		if q.Match(&t.info) {
			page = append(page, cloneInfo(&t.info))
		}
		if len(page) == n || looked == pageCandidates {
			after, more = t.info.Thread, true
		}
		return !more
	}
	if q.Descending {
		names.descend(func(t *thread) bool {
			return q.Behind(t.info.Thread) && (t.info.Thread < q.Prefix || strings.HasPrefix(t.info.Thread, q.Prefix))
		}, visit)
	} else {
		names.ascend(func(t *thread) bool { return t.info.Thread >= q.Prefix && q.Behind(t.info.Thread) }, visit)
	}
	return page, after, more, nil
}

// dueBy returns what matches at once: by due time there is no cursor to go on from.
func (s *Store) dueBy(q *posthouse.ThreadQuery) (all []posthouse.ThreadInfo) {
	n := limit(q.Limit)
	s.due.ascend(func(*thread) bool { return true }, func(t *thread) bool {
		if q.Match(&t.info) {
			all = append(all, cloneInfo(&t.info))
		}
		return t.info.Due <= q.DueBefore && len(all) < n
	})
	return all
}
