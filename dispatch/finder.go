package dispatch

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/hints"
	"github.com/posthouse/posthouse/dispatch/internal/sessions"
	"github.com/posthouse/posthouse/ledger"
)

// A finder finds open tasks in the store, and offers them to workers.
type finder struct {
	ledger   *ledger.Ledger
	opt      Options
	board    *board.Board
	hints    *hints.Queue
	claims   *claims.Claims
	sessions *sessions.Sessions
}

// add offers an open task to the workers here or, by the shared queue, to those of all engines.
// Again says that the shared queue may have forgotten it. It reports whether the task is
// published there now.
func (f *finder) add(g *posthouse.Gate, again bool) (published bool) {
	if g.Decision != nil || g.Call == nil {
		return false
	}
	f.board.See(g.ID)
	return f.hints.Offer(board.FromGate(g), again)
}

// drop forgets a task after its gate was decided or removed. A session that has it is told.
func (f *finder) drop(gate posthouse.ID) {
	f.hints.Drop(gate)
	f.claims.MarkLost(gate)
}

// watch adds tasks as they are opened. It makes claims faster: a poll finds those that it misses.
func (f *finder) watch(ctx context.Context, events iter.Seq2[*posthouse.Event, error]) {
	for cursor := "now"; ; {
		for e, err := range events {
			if e != nil {
				cursor = e.Cursor
			}
			switch {
			case err != nil && e == nil:
				if ctx.Err() == nil {
					f.opt.Logger.Warn("cannot watch the store: tasks are found by looking", "error", err)
				}
			case err != nil:
			case e.Gate != nil && e.Gate.Kind == posthouse.GateTask:
				f.add(e.Gate, false)
			case e.Decision != nil:
				f.drop(e.Decision.Gate)
			case e.Removal != nil:
				for _, gate := range e.Removal.Gates {
					f.drop(gate)
				}
			}
		}
		select {
		case <-time.After(f.opt.Poll):
			events = f.ledger.Watch(ctx, ledger.WatchQuery{Cursor: cursor})
		case <-ctx.Done():
			return
		}
	}
}

// poll lists the tasks that were opened since the last poll. A full poll lists all, drops claims
// of tasks that were decided, and sweeps sessions of processes that are gone.
func (f *finder) poll(ctx context.Context, full bool) error {
	after, decided := f.board.Newest(), map[posthouse.ID]bool{}
	if full {
		after, decided = "", f.claims.Gates()
	}
	published := map[board.QueueKey]hints.Published{}
	for g, err := range f.ledger.Gates(ctx, ledger.GateQuery{Kind: posthouse.GateTask, After: after}) {
		if g != nil {
			delete(decided, g.ID)
		}
		switch {
		case err == nil:
			if f.add(g, full) {
				key := board.KeyOf(g.Call)
				published[key] = published[key].Add(g)
			}
		case g == nil || !claims.IsUnreadable(err):
			return err
		default:
			f.opt.Logger.Warn("a task cannot be read", "gate", g.ID, "error", err)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for gate := range decided {
		f.drop(gate)
	}
	if !full {
		return nil
	}
	f.hints.SetPublished(published)
	if err := f.sessions.SweepPeers(ctx); err != nil {
		return fmt.Errorf("look for workers of other processes: %w", err)
	}
	return nil
}
