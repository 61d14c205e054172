package pgstore

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/terms"
	"github.com/posthouse/posthouse/store/internal/valid"
	"github.com/posthouse/posthouse/store/pgstore/internal/paging"
)

// List implements [posthouse.Store]. Within a thread it walks the index of the log,
// otherwise that of order keys, of the coordination, or of terms: the planner of Postgres
// chooses. Each result is matched with the query. A header that was changed ends the list
// with [posthouse.ErrCorrupt], after the results before it.
func (s *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	start, bad := startOf(&q)
	return func(yield func(*posthouse.Header, error) bool) {
		if bad != nil {
			yield(nil, bad)
			return
		}
		l := &listing{Query: q, at: start, pace: paging.For(q.Limit)}
		for h, err := range paging.All(q.Limit, func(left int) ([]*posthouse.Header, bool, error) { return l.page(ctx, s, left) }) {
			if !yield(h, err) {
				return
			}
		}
	}
}

// A spot is a checkpoint's place in the lists across threads, and in that of its thread.
type spot struct {
	order  posthouse.OrderKey
	seq    int64
	thread int64
}

// A listing is a query and its position.
type listing struct {
	posthouse.Query
	at     *spot // of the last checkpoint seen; nil at the start
	pace   paging.Pace
	reader posthouse.HeaderReader
}

func startOf(q *posthouse.Query) (*spot, error) {
	if q.After == "" {
		return nil, nil
	}
	order, seq, err := posthouse.ParseCursor(q.After)
	if err == nil && seq > valid.MaxSeq {
		err = posthouse.Invalid("cursor", "%.80q is not one this store gave out", q.After)
	}
	if err != nil {
		return nil, err
	}
	at := &spot{order, int64(seq), math.MaxInt64}
	if q.Thread != "" && !q.Descending { // a cursor is after all of its entry
		for i := range at.order {
			at.order[i] = 0xff
		}
	}
	if q.Descending {
		at.thread = -1
		if q.Thread != "" {
			at.order = posthouse.OrderKey{}
		}
	}
	return at, nil
}

// A statement collects conditions and their arguments.
type statement struct {
	where []string
	args  []any
}

func (b *statement) and(condition string, args ...any) {
	at := make([]any, len(args))
	for i, a := range args {
		b.args = append(b.args, a)
		at[i] = fmt.Sprint("$", len(b.args))
	}
	b.where = append(b.where, fmt.Sprintf(condition, at...))
}

// build returns the statement for the next n candidates.
func (l *listing) build(n int) (string, []any) {
	var b statement
	direction, compare := "", ">"
	if l.Descending {
		direction, compare = " DESC", "<"
	}
	b.and("i.order_key IS NOT NULL")
	sorted := []string{"i.order_key", "i.seq", "i.thread"}
	if l.Thread != "" {
		sorted = []string{"i.seq", "i.order_key"}
		b.and("i.thread = (SELECT o.id FROM posthouse.threads o WHERE o.name = %s)", []byte(l.Thread))
		b.and("i.seq >= %s", int64(min(l.From, valid.MaxSeq)))
		if l.To != 0 {
			b.and("i.seq <= %s", int64(min(l.To, valid.MaxSeq)))
		}
	}
	switch {
	case l.at == nil:
	case l.Thread != "":
		b.and("(i.seq, i.order_key) "+compare+" (%s::bigint, %s::bytea)", l.at.seq, l.at.order[:])
	default:
		b.and("(i.order_key, i.seq, i.thread) "+compare+" (%s::bytea, %s::bigint, %s::bigint)", l.at.order[:], l.at.seq, l.at.thread)
	}
	if l.Coordination != "" {
		b.and("i.coordination = %s", terms.Hash(l.Coordination))
	}
	if ts := terms.In(&l.Query); len(ts) > 0 {
		b.and("i.terms @> %s::bigint[]", ts)
	}
	by := strings.Join(sorted, direction+", ") + direction
	return "SELECT " + entryColumns + ", i.seq, i.thread, i.order_key, t.name FROM (SELECT i.seq, i.thread, i.order_key FROM posthouse.ids i WHERE " +
		strings.Join(b.where, " AND ") + " ORDER BY " + by + fmt.Sprintf(" LIMIT %d", n) + ") i LEFT JOIN posthouse.entries e ON e.thread = i.thread AND e.seq = i.seq " +
		"LEFT JOIN posthouse.threads t ON t.id = i.thread ORDER BY " + by, b.args
}

// page reads candidates until some match, and moves the listing past them.
func (l *listing) page(ctx context.Context, s *Store, left int) (page []*posthouse.Header, more bool, err error) {
	if l.Thread != "" && l.To != 0 && l.From > l.To {
		return nil, false, s.lifecycle.Usable(ctx)
	}
	n := l.pace.Next(math.MaxInt)
	if l.indexed() {
		n = min(n, left)
	}
	sql, args := l.build(n)
	if !s.opts.Pooler { // plan it for these values: a label may be rare or common
		args = append([]any{pgx.QueryExecModeCacheDescribe}, args...)
	}
	seen, at := 0, l.at
	err = s.read(ctx, "list checkpoints", func(ctx context.Context, c *conn) error {
		page, seen, at = nil, 0, l.at
		return c.each(ctx, sql, args, func(rows pgx.Rows) error {
			h, place, err := l.scan(rows)
			if err != nil {
				return err
			}
			seen++
			at = place
			if h != nil {
				page = append(page, h)
			}
			return nil
		})
	})
	l.at = at
	l.pace.Took(0)
	return page, seen == n, err
}

// indexed reports whether most candidates match: their index knows every filter.
func (l *listing) indexed() bool {
	return l.Branch == "" && l.Generation == 0 && l.Since == 0 && l.Until == 0 && (l.Thread != "" || l.From == 0 && l.To == 0)
}

// scan reads the checkpoint in a row, nil if the query does not match it.
func (l *listing) scan(rows pgx.Rows) (*posthouse.Header, *spot, error) {
	var seq, generation *int64
	var prev, hash, order, name []byte
	e, at := &posthouse.Entry{}, &spot{}
	if err := rows.Scan(&seq, &generation, &prev, &hash, &e.Sig, &e.Header, &at.seq, &at.thread, &order, &name); err != nil {
		return nil, nil, err
	}
	if seq == nil || generation == nil || name == nil || len(order) != len(at.order) {
		return nil, nil, posthouse.Corrupt("the index leads to entry %d of thread number %d (%q), which is not there", at.seq, at.thread, name)
	}
	e.Thread, e.Seq, e.Generation = string(name), uint64(*seq), uint32(*generation)
	copy(e.Prev[:], prev)
	copy(e.Hash[:], hash)
	copy(at.order[:], order)
	if e.Sum() != e.Hash {
		return nil, nil, posthouse.Corrupt("entry %d of thread %q is not what was written there", e.Seq, e.Thread)
	}
	heads, err := l.reader.Read(e)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range heads {
		if h.Order == at.order {
			if l.Match(h) {
				return h, at, nil
			}
			return nil, at, nil
		}
	}
	return nil, nil, posthouse.Corrupt("the index leads from order key %s to entry %d of thread %q, which does not have it", at.order, e.Seq, e.Thread)
}
