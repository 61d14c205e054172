package pgstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/pgstore/internal/paging"
)

const selectThread = "SELECT t.id, t.name, t.seq, t.state FROM posthouse.threads t WHERE "

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		if q.After != "" && q.DueBefore != 0 && q.Thread == "" {
			yield(nil, posthouse.Invalid("after", "cannot be joined with a due time: that order has no cursor"))
			return
		}
		w := &threadWalk{ThreadQuery: q, given: q, pace: paging.For(q.Limit)}
		if err := w.start(); err != nil {
			yield(nil, err)
			return
		}
		if err := w.findFew(ctx, s); err != nil {
			yield(nil, err)
			return
		}
		next := w.page
		switch {
		case q.Thread != "":
			next = (&threadWalk{ThreadQuery: q}).named
		case q.Gates:
			next = (&gateWalk{ThreadQuery: q, pace: paging.For(q.Limit)}).page
		}
		for t, err := range paging.All(q.Limit, func(left int) ([]*posthouse.ThreadInfo, bool, error) { return next(ctx, s, left) }) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// A threadWalk is a query and its position.
type threadWalk struct {
	posthouse.ThreadQuery
	given posthouse.ThreadQuery // as the caller has it
	pace  paging.Pace
	begun bool
	few   bool
	ids   []int64          // of a few threads in order, those that are left
	at    posthouse.Millis // when the last thread seen, the one named in After, is due, or its minute
}

// start reads the cursor of a walk by activity.
func (w *threadWalk) start() (err error) {
	if w.ByActivity() && w.After != "" && w.Thread == "" {
		w.begun = true
		w.at, w.After, err = lists.ParseActivityCursor(w.After)
	}
	return err
}

// named answers a query for one thread.
func (w *threadWalk) named(ctx context.Context, s *Store, _ int) (page []*posthouse.ThreadInfo, more bool, err error) {
	found, err := s.summaries(ctx, selectThread+"t.name = $1", []byte(w.Thread))
	for _, t := range found {
		switch {
		case w.Gates:
			page = lists.Gates(&w.ThreadQuery, t.info)
		case w.Match(t.info):
			follows, bad := lists.Follows(&w.ThreadQuery, t.info)
			if bad != nil {
				return nil, false, bad
			}
			if follows {
				page = append(page, t.info)
			}
		}
	}
	return page, false, err
}

func (w *threadWalk) page(ctx context.Context, s *Store, _ int) (page []*posthouse.ThreadInfo, more bool, err error) {
	if w.few {
		return w.fewPage(ctx, s)
	}
	n := w.pace.Next(paging.MaxRows)
	sql, args := w.build(n)
	found, err := s.summaries(ctx, sql, args...)
	for _, t := range found {
		if w.Match(t.info) {
			page = append(page, t.info)
		}
		w.begun, w.After, w.at = true, t.name, t.at
	}
	w.pace.Took(0)
	return page, len(found) == n, err
}

// build walks the index with the fewest candidates.
func (w *threadWalk) build(n int) (string, []any) {
	var b statement
	limit := fmt.Sprintf(" LIMIT %d", n)
	if w.DueBefore != 0 {
		b.and("t.due <= %s", int64(w.DueBefore))
		if w.begun {
			b.and("(t.due, t.name) > (%s::bigint, %s::bytea)", int64(w.at), []byte(w.After))
		}
		return strings.Replace(selectThread, "t.state", "t.state, t.due", 1) + strings.Join(b.where, " AND ") + " ORDER BY t.due, t.name" + limit, b.args
	}
	columns, order, compare := selectThread, "t.name", ">"
	if w.Descending {
		order, compare = "t.name DESC", "<"
	}
	b.and("true")
	switch {
	case w.ByActivity() && lists.Walk(&w.ThreadQuery) != "":
		return w.buildMark(n)
	case w.ByActivity():
		columns, order = strings.Replace(selectThread, "t.state", "t.state, t.minute", 1), "t.minute DESC, t.name DESC"
		if w.begun {
			b.and("(t.minute, t.name) < (%s::bigint, %s::bytea)", int64(w.at), []byte(w.After))
		}
	case w.After != "":
		b.and("t.name "+compare+" %s", []byte(w.After))
	}
	if w.Prefix != "" {
		b.and("t.name >= %s", []byte(w.Prefix))
		if end := lists.After(w.Prefix); end != "" {
			b.and("t.name < %s", []byte(end))
		}
	}
	switch {
	case w.Runnable || w.Leased:
		b.and("t.live")
	case w.Waiting:
		b.and("t.gates <> 0")
	}
	return columns + strings.Join(b.where, " AND ") + " ORDER BY " + order + limit, b.args
}

// buildMark walks the threads of one mark by activity.
func (w *threadWalk) buildMark(n int) (string, []any) {
	var b statement
	b.and("m.mark = %s", []byte(lists.Walk(&w.ThreadQuery)))
	if w.begun {
		b.and("(m.minute, m.name) < (%s::bigint, %s::bytea)", int64(w.at), []byte(w.After))
	}
	return "SELECT t.id, t.name, t.seq, t.state, m.minute FROM (SELECT m.thread, m.minute, m.name FROM posthouse.marks m WHERE " + strings.Join(b.where, " AND ") +
		fmt.Sprintf(" ORDER BY m.minute DESC, m.name DESC LIMIT %d) m", n) +
		" CROSS JOIN LATERAL (SELECT t.id, t.name, t.seq, t.state FROM posthouse.threads t WHERE t.id = m.thread OFFSET 0) t ORDER BY m.minute DESC, m.name DESC", b.args
}

// buildSet finds the rows of a set, at most one more than a few of each of its ranges.
func buildSet(set *lists.Set) (string, []any) {
	var b statement
	var each []string
	add := func(columns, key, from, to string) {
		b.where = nil
		b.and(key+" >= %s", []byte(from))
		if to != "" {
			b.and(key+" < %s", []byte(to))
		}
		each = append(each, fmt.Sprintf("(SELECT %s WHERE %s ORDER BY %s LIMIT %d)", columns, strings.Join(b.where, " AND "), key, lists.Few+1))
	}
	if set.Prefix != "" {
		add("t.id, t.name, t.minute FROM posthouse.threads t", "t.name", set.Prefix, lists.After(set.Prefix))
	}
	for _, r := range set.Ranges {
		add("m.thread, m.name, m.minute FROM posthouse.marks m", "m.mark", r.From, r.To)
	}
	return strings.Join(each, " UNION ALL "), b.args
}

// findFew finds the threads of the first set of the query that has few, if one has.
func (w *threadWalk) findFew(ctx context.Context, s *Store) error {
	sets := lists.Sets(&w.ThreadQuery)
	for i := range sets {
		var places []lists.Place
		sql, args := buildSet(&sets[i])
		err := s.read(ctx, "list threads", func(ctx context.Context, c *conn) error {
			places = nil
			return c.each(ctx, sql, args, func(rows pgx.Rows) error {
				var p lists.Place
				var name []byte
				err := rows.Scan(&p.ID, &name, &p.Minute)
				p.Name = string(name)
				places = append(places, p)
				return err
			})
		})
		if err != nil {
			return err
		}
		if len(places) > lists.Few {
			continue
		}
		places, err = lists.Order(&w.given, places)
		for _, p := range places {
			w.ids = append(w.ids, p.ID)
		}
		w.few = true
		return err
	}
	return nil
}

// fewPage reads the next summaries of what findFew found.
func (w *threadWalk) fewPage(ctx context.Context, s *Store) (page []*posthouse.ThreadInfo, more bool, err error) {
	ids := w.ids[:min(w.pace.Next(paging.MaxRows), len(w.ids))]
	w.ids = w.ids[len(ids):]
	found, err := s.summaries(ctx, selectThread+"t.id = ANY ($1::bigint[])", ids)
	at := make(map[int64]*posthouse.ThreadInfo, len(found))
	for _, t := range found {
		at[t.id] = t.info
	}
	for _, id := range ids {
		if t := at[id]; t != nil && w.Match(t) {
			page = append(page, t)
		}
	}
	return page, len(w.ids) > 0, err
}

// A summary is a row of table threads.
type summary struct {
	id   int64
	name string
	at   posthouse.Millis // when it is due, or its minute, where that is the order
	info *posthouse.ThreadInfo
}

// summaries reads rows of selectThread. One that does not decode is made from the log, so
// that one damaged row does not keep the other threads from being listed. Check reports
// it, and the next append overwrites it.
func (s *Store) summaries(ctx context.Context, sql string, args ...any) (found []*summary, err error) {
	err = s.read(ctx, "list threads", func(ctx context.Context, c *conn) error {
		found = nil
		var damaged []*summary
		tails := map[*summary]uint64{}
		err := c.each(ctx, sql, args, func(rows pgx.Rows) error {
			t := &summary{}
			var name, state []byte
			var seq, at int64
			into := []any{&t.id, &name, &seq, &state}
			if len(rows.FieldDescriptions()) > len(into) {
				into = append(into, &at)
			}
			if err := rows.Scan(into...); err != nil {
				return err
			}
			t.name, t.at = string(name), posthouse.Millis(at)
			var err error
			t.info, err = readState(state)
			if err != nil || t.info.Thread != t.name {
				damaged, tails[t] = append(damaged, t), uint64(seq)
				if err != nil && !errors.Is(err, posthouse.ErrCorrupt) {
					return err
				}
			}
			found = append(found, t)
			return nil
		})
		for _, t := range damaged {
			if err == nil {
				t.info, err = c.fold(ctx, t.name, tails[t])
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// A gateWalk is a query for open gates and its position.
type gateWalk struct {
	posthouse.ThreadQuery
	pace paging.Pace
}

type openGate struct {
	id     string
	thread int64
}

// page merges the lists that hold the gates, from the cursor on, and then reads the
// summaries of their threads.
func (w *gateWalk) page(ctx context.Context, s *Store, _ int) (page []*posthouse.ThreadInfo, more bool, err error) {
	n := w.pace.Next(paging.MaxRows)
	sql, args := w.build(n)
	var gates []openGate
	err = s.read(ctx, "list open gates", func(ctx context.Context, c *conn) error {
		gates = nil
		return c.each(ctx, sql, args, func(rows pgx.Rows) error {
			var id []byte
			var g openGate
			err := rows.Scan(&id, &g.thread)
			g.id = string(id)
			gates = append(gates, g)
			return err
		})
	})
	if err != nil || len(gates) == 0 {
		return nil, false, err
	}
	var ids []int64
	threads := map[int64]map[posthouse.ID]*posthouse.ThreadInfo{}
	for _, g := range gates {
		if threads[g.thread] == nil {
			ids, threads[g.thread] = append(ids, g.thread), map[posthouse.ID]*posthouse.ThreadInfo{}
		}
	}
	found, err := s.summaries(ctx, selectThread+"t.id = ANY ($1::bigint[])", ids)
	if err != nil {
		return nil, false, err
	}
	for _, t := range found {
		if !w.Match(t.info) {
			continue
		}
		for i := range t.info.Waiting {
			if g := &t.info.Waiting[i]; lists.MatchGate(&w.ThreadQuery, g) {
				threads[t.id][g.ID] = lists.WithGate(t.info, g)
			}
		}
	}
	for _, g := range gates {
		if g.id == w.After {
			continue // the gate is in two of the lists
		}
		w.After = g.id
		if info := threads[g.thread][posthouse.ID(g.id)]; info != nil {
			page = append(page, info)
		}
	}
	w.pace.Took(0)
	return page, len(gates) == n, nil
}

func (w *gateWalk) build(n int) (string, []any) {
	direction, compare := "", ">"
	if w.Descending {
		direction, compare = " DESC", "<"
	}
	var b statement
	var each []string
	for _, list := range lists.ForGates(&w.ThreadQuery) {
		b.where = nil
		b.and("g.list = %s", int64(list))
		if w.After != "" {
			b.and("g.gate "+compare+" %s", []byte(w.After))
		}
		each = append(each, "(SELECT g.gate, g.thread FROM posthouse.gates g WHERE "+strings.Join(b.where, " AND ")+
			fmt.Sprintf(" ORDER BY g.gate%s LIMIT %d)", direction, n))
	}
	return "SELECT g.gate, g.thread FROM (" + strings.Join(each, " UNION ALL ") + ") g" + fmt.Sprintf(" ORDER BY g.gate%s LIMIT %d", direction, n), b.args
}
