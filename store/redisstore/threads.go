package redisstore

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/newest"
)

// Threads implements [posthouse.Store].
func (s *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		if q.After != "" && q.DueBefore != 0 && q.Thread == "" {
			yield(nil, posthouse.Invalid("after", "cannot be joined with a due time: that order has no cursor"))
			return
		}
		if q.ByActivity() && q.Thread == "" {
			newest.Threads(ctx, s.Threads, q)(yield)
			return
		}
		w := &threadWalk{ThreadQuery: q, s: s}
		next := w.page
		switch {
		case q.Thread != "":
			next = w.named
		case q.DueBefore != 0:
			next = w.dueBy
		case q.Gates:
			next = w.gates
		}
		for t, err := range pages(q.Limit, func(left int) ([]*posthouse.ThreadInfo, bool, error) {
			return next(ctx, min(left, maxRows))
		}) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// A threadWalk is a query and its position, which is in After.
type threadWalk struct {
	posthouse.ThreadQuery
	s     *Store
	begun bool
	names []string // of threads that are due, in order, still to be looked at
}

// named answers a query for one thread.
func (w *threadWalk) named(ctx context.Context, _ int) (page []*posthouse.ThreadInfo, more bool, err error) {
	found, err := w.s.summaries(ctx, []string{w.Thread})
	info := found[w.Thread]
	switch {
	case info == nil:
	case w.Gates:
		page = lists.Gates(&w.ThreadQuery, info)
	case w.Match(info):
		var follows bool
		follows, err = lists.Follows(&w.ThreadQuery, info)
		if follows {
			page = append(page, info)
		}
	}
	return page, false, err
}

func (w *threadWalk) page(ctx context.Context, n int) (page []*posthouse.ThreadInfo, more bool, err error) {
	if w.Status != "" || w.Graph != "" || w.Released || w.Label != "" || w.Text != "" {
		n = maxRows // most may not match
	}
	from, to := "-", "+"
	if w.Prefix != "" {
		from = "[" + w.Prefix
		if end := lists.After(w.Prefix); end != "" {
			to = "(" + end
		}
	}
	down := "0"
	switch {
	case w.Descending:
		down = "1"
		if w.After != "" && (to == "+" || w.After < to[1:]) {
			to = "(" + w.After
		}
	case w.After != "" && w.After >= w.Prefix:
		from = "(" + w.After
	}
	list := "names"
	if w.Waiting || w.Runnable || w.Leased {
		list = "active"
	}
	r, err := w.s.ask(ctx, "list threads", threadsScript, list, down, from, to, strconv.Itoa(n))
	if err != nil {
		return nil, false, err
	}
	for i := 0; i+1 < len(r); i += 2 {
		w.After = r.text(i)
		info, err := w.s.summary(ctx, w.After, r.text(i+1))
		if err != nil {
			return page, false, err
		}
		if w.Match(info) {
			page = append(page, info)
		}
	}
	return page, len(r) == 2*n, nil
}

// dueBy reads all names at once, since there is no cursor by due time.
func (w *threadWalk) dueBy(ctx context.Context, n int) (page []*posthouse.ThreadInfo, more bool, err error) {
	if !w.begun {
		m, err := w.s.get(ctx, "list due threads", "ZRANGEBYSCORE", w.s.prefix+"due", "-inf", strconv.FormatInt(int64(w.DueBefore), 10))
		if err == nil {
			w.names, err = m.Texts()
		}
		if err != nil {
			return nil, false, w.s.wrap("list due threads", err)
		}
		w.begun = true
	}
	names := w.names[:min(n, len(w.names))]
	w.names = w.names[len(names):]
	found, err := w.s.summaries(ctx, names)
	for _, name := range names {
		if info := found[name]; info != nil && w.Match(info) {
			page = append(page, info)
		}
	}
	return page, len(w.names) > 0, err
}

// gates merges the lists that hold the gates, from the cursor on, and then reads the
// summaries of their threads.
func (w *threadWalk) gates(ctx context.Context, n int) (page []*posthouse.ThreadInfo, more bool, err error) {
	gates, more, err := w.openGates(ctx, n)
	if err != nil || len(gates) == 0 {
		return nil, false, err
	}
	threads := make([]string, len(gates))
	for i, g := range gates {
		_, threads[i], _ = strings.Cut(g, "\x00")
	}
	slices.Sort(threads)
	found, err := w.s.summaries(ctx, slices.Compact(threads))
	if err != nil {
		return nil, false, err
	}
	for _, g := range gates {
		id, thread, _ := strings.Cut(g, "\x00")
		w.After = id
		info := found[thread]
		if info == nil || !w.Match(info) {
			continue
		}
		for i := range info.Waiting {
			if open := &info.Waiting[i]; string(open.ID) == id && lists.MatchGate(&w.ThreadQuery, open) {
				page = append(page, lists.WithGate(info, open))
			}
		}
	}
	return page, more, nil
}

// openGates returns the next n members of the lists that hold the gates: id, a zero byte,
// thread. No id has a zero byte.
func (w *threadWalk) openGates(ctx context.Context, n int) (gates []string, more bool, err error) {
	err = w.s.retryUnknown(ctx, "list open gates", func(ctx context.Context) error {
		gates, more = nil, false
		var commands [][]string
		for _, list := range lists.ForGates(&w.ThreadQuery) {
			key := w.s.prefix + "g:" + key64(uint64(list))
			if w.Descending {
				from := "+"
				if w.After != "" {
					from = "(" + w.After
				}
				commands = append(commands, []string{"ZREVRANGEBYLEX", key, from, "-", "LIMIT", "0", strconv.Itoa(n)})
				continue
			}
			from := "-"
			if w.After != "" {
				from = "(" + w.After + "\x01"
			}
			commands = append(commands, []string{"ZRANGEBYLEX", key, from, "+", "LIMIT", "0", strconv.Itoa(n)})
		}
		answers, err := w.s.client.DoAll(ctx, commands)
		if err != nil {
			return err
		}
		for i := range answers {
			members, err := answers[i].Texts()
			if err != nil {
				return err
			}
			gates, more = append(gates, members...), more || len(members) == n
		}
		return nil
	})
	slices.Sort(gates)
	gates = slices.Compact(gates) // a gate may be in two of the lists
	more = more || len(gates) > n
	if w.Descending {
		slices.Reverse(gates)
	}
	return gates[:min(n, len(gates))], more, away.Read(err)
}

// summaries reads the summaries of threads. Those that are not there are left out.
func (s *Store) summaries(ctx context.Context, names []string) (found map[string]*posthouse.ThreadInfo, err error) {
	if len(names) == 0 {
		return nil, s.lifecycle.Usable(ctx)
	}
	keys := make([]string, 1, 1+len(names))
	keys[0] = "MGET"
	for _, name := range names {
		keys = append(keys, s.prefix+"t:"+name)
	}
	m, err := s.get(ctx, "read summaries", keys...)
	if err != nil {
		return nil, err
	}
	values, err := m.List()
	if err != nil {
		return nil, s.wrap("read summaries", err)
	}
	found = map[string]*posthouse.ThreadInfo{}
	for i, name := range names {
		if values[i].IsNil() {
			continue
		}
		found[name], err = s.summary(ctx, name, reply(values).text(i))
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// summary decodes a record. One that does not decode is made from the log, so that one
// damaged value does not keep the other threads from being listed. Check reports it, and
// the next append overwrites it.
func (s *Store) summary(ctx context.Context, name, record string) (*posthouse.ThreadInfo, error) {
	info, err := readRecord(name, record)
	if err == nil {
		return info, nil
	}
	return s.fold(ctx, name, 0)
}
