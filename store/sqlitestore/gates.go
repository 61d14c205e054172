package sqlitestore

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// An openGate is the part of a waiting gate that its rows depend on.
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
		open[i] = openGateOf(&waiting[i])
	}
	return open
}

func openGateOf(w *posthouse.WaitingGate) openGate { return openGate{w.ID, w.Kind, w.Audience} }

// write runs a statement for the row of the gate in each of its lists.
func (g *openGate) write(c *db.Conn, sql string, thread int64) error {
	w := posthouse.WaitingGate{Kind: g.kind, Audience: g.audience}
	for _, list := range lists.OfGate(&w) {
		if err := c.Run(sql, int64(list), string(g.id), thread); err != nil {
			return err
		}
	}
	return nil
}

// reopen updates the rows of a thread's open gates to those that wait now. It skips what
// did not change at both ends: a gate opens after all others, and a decision takes one
// out.
func (w *writer) reopen(t *thread, waiting []posthouse.WaitingGate) error {
	was := t.open
	n, end := 0, 0
	for n < len(was) && n < len(waiting) && was[n] == openGateOf(&waiting[n]) {
		n++
	}
	for end < len(was)-n && end < len(waiting)-n && was[len(was)-1-end] == openGateOf(&waiting[len(waiting)-1-end]) {
		end++
	}
	if n == len(was) && n == len(waiting) {
		return nil
	}
	for _, g := range was[n : len(was)-end] {
		if err := g.write(w.Conn, qDropGate, t.id); err != nil {
			return err
		}
	}
	fresh := openGates(waiting[n : len(waiting)-end])
	for _, g := range fresh {
		if err := g.write(w.Conn, qAddGate, t.id); err != nil {
			return err
		}
	}
	t.open = slices.Replace(was, n, len(was)-end, fresh...)
	return nil
}

// fillGates writes the rows for summaries that were written without them.
func fillGates(ctx context.Context, c *db.Conn) error {
	return eachSummary(ctx, c, func(s *layout.Summary) error {
		for _, g := range openGates(s.Info.Waiting) {
			if err := g.write(c, qAddGate, s.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxGateLists is how many lists the statements of a walk merge.
const maxGateLists = 7

// A gateWalk is a query for open gates and its position.
type gateWalk struct {
	posthouse.ThreadQuery
	ctx   context.Context
	begun bool
}

func (w *gateWalk) next(c *db.Conn, p *db.Page[*posthouse.ThreadInfo]) (more bool, err error) {
	threads := map[int64]*waitingThread{} // gates of one thread are often neighbours
	for stmt, err := range w.open(c) {
		if err != nil {
			return false, err
		}
		if p.Full() {
			return true, nil
		}
		id := stmt.ColumnText(0)
		if w.begun && id == w.After {
			continue // the gate is in two of the lists
		}
		if w.begun && (id < w.After) != w.Descending {
			return false, layout.OutOfOrder("gates")
		}
		w.begun, w.After = true, id
		t, err := waitingAt(c, threads, stmt.ColumnInt64(1))
		err = cmp.Or(err, w.ctx.Err())
		if err != nil {
			return false, err
		}
		if g := t.gates[posthouse.ID(id)]; g != nil && lists.MatchGate(&w.ThreadQuery, g) && w.Match(t.info) {
			p.Add(lists.WithGate(t.info, g), 256)
		}
	}
	return false, nil
}

func (w *gateWalk) open(c *db.Conn) iter.Seq2[*sqlite.Stmt, error] {
	sql, bound := qGates, w.After
	if w.Descending {
		sql = qGatesDown
		if bound == "" {
			bound = "\x7f" // ids are ASCII without it
		}
	}
	args := []any{bound}
	for _, list := range lists.ForGates(&w.ThreadQuery) {
		args = append(args, int64(list))
	}
	for len(args) < 1+maxGateLists {
		args = append(args, int64(0)) // no list
	}
	return c.Rows(sql, args...)
}

// A waitingThread is a summary with its open gates by their ids. Both are nil if a row
// leads to no thread.
type waitingThread struct {
	info  *posthouse.ThreadInfo
	gates map[posthouse.ID]*posthouse.WaitingGate
}

func waitingAt(c *db.Conn, known map[int64]*waitingThread, id int64) (*waitingThread, error) {
	if t := known[id]; t != nil {
		return t, nil
	}
	s, err := layout.SummaryAt(c, id)
	if err != nil {
		return nil, err
	}
	t := &waitingThread{}
	if s != nil {
		t.info, t.gates = s.Info, make(map[posthouse.ID]*posthouse.WaitingGate, len(s.Info.Waiting))
		for i := range s.Info.Waiting {
			t.gates[s.Info.Waiting[i].ID] = &s.Info.Waiting[i]
		}
	}
	known[id] = t
	return t, nil
}
