package memindex

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// An iterator takes one page each time it holds the lock. These limits bound a page.
const (
	pageResults    = 256
	pageCandidates = 4096 // rows it looks at
	firstGates     = 64   // results of the first page of open gates
)

// Pages yields what next returns, page by page, until there is no more. It converts each
// result when it is asked for, and holds no lock while the caller's code runs. A limit
// of 0 is no limit.
func Pages[S, T any](limit int, next func(n int) (page []S, more bool, err error), convert func(S) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := noLimit(limit)
		for more := true; more && left > 0; {
			var page []S
			var err error
			page, more, err = next(left)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			left -= len(page)
			for _, item := range page {
				if !yield(convert(item), nil) {
					return
				}
			}
		}
	}
}

// noLimit turns 0 into no limit.
func noLimit(n int) int {
	if n <= 0 {
		return math.MaxInt
	}
	return n
}

// Entries returns up to n entries of a thread, at most a page, and moves the range past
// them.
func (ix *Index) Entries(ctx context.Context, thread string, r *posthouse.Range, n int) (page []*Entry, more bool, err error) {
	if err := ix.read(ctx); err != nil {
		return nil, false, err
	}
	defer ix.RUnlock()
	n = min(n, pageResults)
	t := ix.threads[thread]
	if t == nil || len(t.entries) == 0 {
		return nil, false, nil
	}
	if r.Seqs != nil {
		take := min(len(r.Seqs), pageCandidates)
		for i, seq := range r.Seqs[:take] {
			if e := t.at(seq); e != nil {
				page = append(page, e)
				if len(page) == n {
					take = i + 1
					break
				}
			}
		}
		r.Seqs = r.Seqs[take:]
		return page, len(r.Seqs) > 0, nil
	}
	from, to := max(r.From, t.first), t.first+uint64(len(t.entries))-1
	if r.To != 0 {
		to = min(to, r.To)
	}
	if from > to {
		return nil, false, nil
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
	return page, more, nil
}

// Find is that of [posthouse.Store].
func (ix *Index) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	if err := ix.read(ctx); err != nil {
		return posthouse.Ref{}, err
	}
	defer ix.RUnlock()
	p, ok := ix.ids[id]
	if !ok {
		return posthouse.Ref{}, posthouse.NotFound("checkpoint or gate", id)
	}
	return posthouse.Ref{Thread: p.thread.info.Thread, Seq: p.seq}, nil
}

// List is that of [posthouse.Store].
func (ix *Index) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	next := func(n int) ([]*row, bool, error) { return ix.listPage(ctx, &q, min(n, pageResults)) }
	return Pages(q.Limit, next, func(r *row) *posthouse.Header {
		return r.Header.Clone()
	})
}

// listPage returns up to n headers and moves the query's cursor past them.
func (ix *Index) listPage(ctx context.Context, q *posthouse.Query, n int) (page []*row, more bool, err error) {
	if err := ix.read(ctx); err != nil {
		return nil, false, err
	}
	defer ix.RUnlock()
	rows, behind, err := ix.candidates(q)
	if err != nil || rows == nil {
		return nil, false, err
	}
	// The rows of a thread are in order of sequence, so the walk can begin and end at the query's bounds.
	begun := func(r *row) bool { return q.Thread == "" || r.Seq >= q.From }
	within := func(r *row) bool { return q.Thread == "" || q.To == 0 || r.Seq <= q.To }
	if q.Descending {
		begun, within = within, begun
	}
	looked := 0
	for r := range rows.from(func(r *row) bool { return begun(r) && behind(r) }, q.Descending).all() {
		if !within(r) {
			break
		}
		if q.Match(&r.Header) {
			page = append(page, r)
		}
		if looked++; len(page) == n || looked == pageCandidates {
			q.After = r.Cursor()
			return page, true, nil
		}
	}
	return page, false, nil
}

// candidates returns the shortest list that holds all matches. behind reports
// whether a row comes after the query's cursor.
func (ix *Index) candidates(q *posthouse.Query) (rows *ordered[*row], behind func(*row) bool, err error) {
	var at row
	if q.After != "" {
		at.Order, at.Seq, err = posthouse.ParseCursor(q.After)
		if err != nil {
			return nil, nil, err
		}
	}
	compare := byKey
	switch {
	case q.Thread != "":
		if t := ix.threads[q.Thread]; t != nil {
			rows = &t.rows
		}
		compare = func(a, b *row) int { return cmp.Compare(a.Seq, b.Seq) }
	case q.Coordination != "":
		rows = ix.coords[q.Coordination]
	default:
		rows = &ix.rows
	}
	return rows, func(r *row) bool {
		c := compare(r, &at)
		return q.After == "" || q.Descending && c < 0 || !q.Descending && c > 0
	}, nil
}

// Threads is that of [posthouse.Store].
func (ix *Index) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	if q.Thread != "" && !q.Gates && q.DueBefore == 0 { // each run begins so
		return ix.named(ctx, q)
	}
	return ix.walk(ctx, q)
}

// walk yields the summaries that q matches, page by page.
func (ix *Index) walk(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	size := pageResults
	if q.Gates {
		size = firstGates
	}
	next := func(n int) ([]*posthouse.ThreadInfo, bool, error) {
		n = min(n, size)
		size = min(4*size, pageResults)
		return ix.threadsPage(ctx, &q, n)
	}
	return Pages(q.Limit, next, func(t *posthouse.ThreadInfo) *posthouse.ThreadInfo { return t })
}

// named yields the summary of the thread that q names, if it matches.
func (ix *Index) named(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		info, err := ix.match(ctx, &q)
		if info != nil || err != nil {
			yield(info, err)
		}
	}
}

// match returns a copy of the summary of the thread that q names, nil if that does not match.
func (ix *Index) match(ctx context.Context, q *posthouse.ThreadQuery) (*posthouse.ThreadInfo, error) {
	if err := ix.read(ctx); err != nil {
		return nil, err
	}
	defer ix.RUnlock()
	t := ix.threads[q.Thread]
	if t == nil {
		return nil, nil
	}
	follows, err := lists.Follows(q, &t.info)
	if err != nil || !follows || !q.Match(&t.info) {
		return nil, err
	}
	return CloneInfo(&t.info), nil
}

// threadsPage returns up to n summaries and moves the query's cursor past them.
func (ix *Index) threadsPage(ctx context.Context, q *posthouse.ThreadQuery, n int) (page []*posthouse.ThreadInfo, more bool, err error) {
	if err := ix.read(ctx); err != nil {
		return nil, false, err
	}
	defer ix.RUnlock()
	named := ix.threads[q.Thread]
	switch {
	case q.DueBefore != 0:
		return ix.dueBy(q), false, nil
	case q.Gates && q.Thread == "":
		page, more = ix.gatesPage(q, n)
		return page, more, nil
	case q.Thread != "" && named == nil:
		return nil, false, nil
	case q.Gates:
		for _, one := range lists.Gates(q, &named.info) {
			page = append(page, CloneInfo(one))
		}
		return page, false, nil
	}
	found, few, err := ix.few(q)
	switch mark := lists.Walk(q); {
	case err != nil:
		return nil, false, err
	case few:
		page, more = fewPage(q, found, n)
		return page, more, nil
	case q.ByActivity() && mark != "":
		return ix.walkMark(q, mark, n)
	case q.ByActivity():
		return ix.newestPage(q, n)
	}
	names := &ix.names
	if q.Waiting || q.Runnable || q.Leased {
		names = &ix.active
	}
	behind := func(t *thread) bool {
		name := t.info.Thread
		return q.Behind(name) && (!q.Descending && name >= q.Prefix || q.Descending && (name < q.Prefix || strings.HasPrefix(name, q.Prefix)))
	}
	looked := 0
	for t := range names.from(behind, q.Descending).all() {
		if !strings.HasPrefix(t.info.Thread, q.Prefix) {
			break
		}
		if q.Match(&t.info) {
			page = append(page, CloneInfo(&t.info))
		}
		if looked++; len(page) == n || looked == pageCandidates {
			q.After = t.info.Thread
			return page, true, nil
		}
	}
	return page, false, nil
}

// newestPage walks all threads by activity: those that queries for work may match are not
// in that order.
func (ix *Index) newestPage(q *posthouse.ThreadQuery, n int) (page []*posthouse.ThreadInfo, more bool, err error) {
	at := &thread{}
	if q.After != "" {
		at.info.Updated, at.info.Thread, err = lists.ParseActivityCursor(q.After)
		if err != nil {
			return nil, false, err
		}
	}
	behind := func(t *thread) bool { return q.After == "" || byActivity(t, at) < 0 }
	looked := 0
	for t := range ix.newest.from(behind, true).all() {
		if q.Match(&t.info) {
			page = append(page, CloneInfo(&t.info))
		}
		if looked++; len(page) == n || looked == pageCandidates {
			q.After = t.info.ActivityCursor()
			return page, true, nil
		}
	}
	return page, false, nil
}

// dueBy returns all matches at once, since there is no cursor by due time.
func (ix *Index) dueBy(q *posthouse.ThreadQuery) (all []*posthouse.ThreadInfo) {
	n := noLimit(q.Limit)
	for t := range ix.due.from(func(*thread) bool { return true }, false).all() {
		if t.info.Due > q.DueBefore || len(all) == n {
			break
		}
		if q.Match(&t.info) {
			all = append(all, CloneInfo(&t.info))
		}
	}
	return all
}
