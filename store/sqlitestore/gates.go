package sqlitestore

import (
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
)

// An openGate is as much of a waiting gate as its rows depend on.
type openGate struct {
	id       posthouse.ID
	kind     string
	audience *posthouse.Audience
}

func openGates(waiting []posthouse.WaitingGate) []openGate {
	if len(waiting) == 0 {
		return nil
	}
	open := make([]openGate, len(waiting))
	for i := range waiting {
		open[i] = gateRows(&waiting[i])
	}
	return open
}

func gateRows(w *posthouse.WaitingGate) openGate { return openGate{w.ID, w.Kind, w.Audience} }

func (g *openGate) lists() []posthouse.GateList {
	w := posthouse.WaitingGate{Kind: g.kind, Audience: g.audience}
	return w.Lists()
}

// reopen makes the rows say what waits in the thread. What did not change is
// passed over: a gate opens behind all others, and a decision takes one out.
func (w *writer) reopen(t *thread, waiting []posthouse.WaitingGate) error {
	was := t.open
	n, end := 0, 0
	for n < len(was) && n < len(waiting) && was[n] == gateRows(&waiting[n]) {
		n++
	}
	for end < len(was)-n && end < len(waiting)-n && was[len(was)-1-end] == gateRows(&waiting[len(waiting)-1-end]) {
		end++
	}
	if n == len(was) && n == len(waiting) {
		return nil
	}
	for _, g := range was[n : len(was)-end] {
		for _, list := range g.lists() {
			if err := w.gateRow(qDropGate, list, g.id, t.id); err != nil {
				return err
			}
		}
	}
	fresh := openGates(waiting[n : len(waiting)-end])
	for _, g := range fresh {
		for _, list := range g.lists() {
			if err := w.gateRow(qAddGate, list, g.id, t.id); err != nil {
				return err
			}
		}
	}
	t.open = slices.Replace(was, n, len(was)-end, fresh...)
	return nil
}

func (c *conn) gateRow(statement int, list posthouse.GateList, id posthouse.ID, thread int64) error {
	stmt, err := c.stmt(statement)
	if err != nil {
		return err
	}
	stmt.BindInt64(1, int64(list))
	stmt.BindText(2, string(id))
	stmt.BindInt64(3, thread)
	return exec(stmt)
}

// fillGates makes the rows for summaries that were written without them.
func fillGates(ctx context.Context, c *conn) error {
	for id := int64(0); ; {
		var err error
		if id, err = c.nextThread(id); err != nil || id == 0 {
			return first(err, ctx.Err())
		}
		s, err := c.summaryOf(id)
		switch {
		case refused(err):
			continue // for verify to find
		case err != nil || ctx.Err() != nil:
			return first(err, ctx.Err())
		case s == nil:
			continue
		}
		for _, g := range openGates(s.Waiting) {
			for _, list := range g.lists() {
				if err := c.gateRow(qAddGate, list, g.id, id); err != nil {
					return err
				}
			}
		}
	}
}

// maxGateLists is how many lists the statements of a walk merge.
const maxGateLists = 6

// A gateWalk is a query for open gates and how far it got.
type gateWalk struct {
	posthouse.ThreadQuery
	begun bool
}

func (w *gateWalk) next(ctx context.Context) func(*conn, *page[*posthouse.ThreadInfo]) (bool, error) {
	return func(c *conn, p *page[*posthouse.ThreadInfo]) (bool, error) {
		stmt, err := w.open(c)
		if err != nil {
			return false, err
		}
		threads := map[int64]*waitingThread{} // gates of one thread are often neighbours
		for {
			if p.full() {
				return true, stmt.Reset()
			}
			row, err := stmt.Step()
			if err != nil {
				return false, err
			}
			if !row {
				return false, stmt.Reset()
			}
			id := stmt.ColumnText(0)
			if w.begun && id == w.After {
				continue // in two lists whose numbers are one
			}
			w.begun, w.After = true, id
			t, err := c.waitingThread(threads, stmt.ColumnInt64(1))
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return false, first(err, stmt.Reset())
			}
			if g := t.gates[posthouse.ID(id)]; g != nil && w.MatchGate(g) && w.Match(t.info) {
				p.add(t.info.OfGate(g), 256)
			}
		}
	}
}

func (w *gateWalk) open(c *conn) (*sqlite.Stmt, error) {
	k, bound := qGates, w.After
	if w.Descending {
		if k = qGatesDown; bound == "" {
			bound = "\x7f" // ids are ASCII without it
		}
	}
	stmt, err := c.stmt(k)
	if err != nil {
		return nil, err
	}
	stmt.BindText(1, bound)
	lists := w.GateLists()
	for i := range maxGateLists {
		if i < len(lists) {
			stmt.BindInt64(2+i, int64(lists[i]))
		} else {
			stmt.BindInt64(2+i, 0) // no list
		}
	}
	return stmt, nil
}

// A waitingThread is a summary with its open gates by their ids; both are empty
// where a row leads to no thread.
type waitingThread struct {
	info  *posthouse.ThreadInfo
	gates map[posthouse.ID]*posthouse.WaitingGate
}

func (c *conn) waitingThread(known map[int64]*waitingThread, id int64) (*waitingThread, error) {
	if t := known[id]; t != nil {
		return t, nil
	}
	info, err := c.summaryOf(id)
	if err != nil {
		return nil, err
	}
	t := &waitingThread{info: info}
	if info != nil {
		t.gates = make(map[posthouse.ID]*posthouse.WaitingGate, len(info.Waiting))
		for i := range info.Waiting {
			t.gates[info.Waiting[i].ID] = &info.Waiting[i]
		}
	}
	known[id] = t
	return t, nil
}

// summaryOf is summary by the thread's number.
func (c *conn) summaryOf(id int64) (*posthouse.ThreadInfo, error) {
	stmt, err := c.stmt(qThreadByID)
	if err != nil {
		return nil, err
	}
	stmt.BindInt64(1, id)
	return c.scanOne(stmt)
}
