package inbox

import (
	"context"
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/lists"
)

// remembers reports whether a Memory's gates have what the query asks for: not the texts of questions, nor
// what only the store's indexes know.
func (q *Query) remembers() bool {
	return q.Memory != nil && q.Coordination == "" && q.Checkpoint == "" && q.Label == "" && q.Assignee == "" && q.Text == "" && q.Order != ByDeadline
}

// listKnown is listOpen with a Memory.
func listKnown(ctx context.Context, l *ledger.Ledger, q *Query, each func(*Item) bool) (*Page, error) {
	p := &page{q: q, each: each}
	last := q.After
	for window, err := range windows(openGates(ctx, l, q)) {
		if err != nil {
			return nil, err
		}
		items, err := readOpen(ctx, l, q.Memory, window)
		if err != nil {
			return nil, err
		}
		for i, t := range window {
			if items[i].Gate == nil {
				continue // it went with its checkpoint since
			}
			if p.full() {
				p.Next = last
				return &p.Page, nil
			}
			p.looked++
			item := &items[i]
			last = string(item.Gate.ID)
			if of := q.Program == "" || q.Program == t.Graph; of && item.Err != nil && !q.narrow() || of && item.Err == nil && q.matches(item.Gate, l.Now()) {
				p.add(*item)
			}
		}
	}
	return &p.Page, nil
}

// openGates yields the summary of a thread for each open gate, with that gate alone.
func openGates(ctx context.Context, l *ledger.Ledger, q *Query) iter.Seq2[*posthouse.ThreadInfo, error] {
	return l.Store().Threads(ctx, posthouse.ThreadQuery{
		Thread: q.Thread, Gates: true, GateKind: q.Kind, People: q.Kind == "", Descending: q.Order == Newest, After: q.After,
	})
}

// readOpen returns the gate of each summary. The gate is nil if it is gone since. The entries of gates that
// the Memory does not have are read together, if the store can.
func readOpen(ctx context.Context, l *ledger.Ledger, m *Memory, window []*posthouse.ThreadInfo) ([]Item, error) {
	items, threads := make([]Item, len(window)), make([]*cachedThread, len(window))
	var unknown []int
	for i, t := range window {
		threads[i] = m.thread(t.Link)
		items[i].Gate = m.openGate(threads[i], t.Waiting[0].ID)
		if items[i].Gate == nil {
			unknown = append(unknown, i)
		}
	}
	keep := func(i int, g *posthouse.Gate) {
		items[i].Gate = bare(g)
		if w := &window[i].Waiting[0]; g.Decision == nil && g.Seq == w.Seq && g.Record.Trail == w.Trail {
			m.keepOpen(threads[i], items[i].Gate)
		}
	}
	readTogether(ctx, l, window, unknown, keep)
	for _, i := range unknown {
		if items[i].Gate != nil {
			continue
		}
		w := &window[i].Waiting[0]
		g, err := l.Core().Logs.Reader(ctx, window[i].Thread).WaitingGate(w)
		if gone(err) || threadlog.MayBeGone(err) {
			g, err = l.Gate(ctx, w.ID)
		}
		switch {
		case gone(err):
		case unread(err):
			items[i] = Item{w.Unread(window[i].Thread), err}
		case err != nil:
			return nil, err
		default:
			keep(i, g)
		}
	}
	return items, nil
}

// readTogether reads gates of a window by their entries, those that can be. Others are left to be read one by one, and so
// are all after an error of the store.
func readTogether(ctx context.Context, l *ledger.Ledger, window []*posthouse.ThreadInfo, unknown []int, keep func(i int, g *posthouse.Gate)) {
	store, ok := l.Store().(lists.BulkReader)
	if !ok {
		return
	}
	var refs []posthouse.Ref
	of := map[posthouse.Ref][]int{}
	for _, i := range unknown {
		ref := posthouse.Ref{Thread: window[i].Thread, Seq: window[i].Waiting[0].Seq}
		if of[ref] == nil {
			refs = append(refs, ref)
		}
		of[ref] = append(of[ref], i)
	}
	if len(refs) == 0 {
		return
	}
	for e, err := range store.ReadAll(ctx, refs, false) {
		if err != nil {
			return
		}
		r := l.Core().Logs.Reader(ctx, e.Thread)
		if err := r.Keep(e, true); err != nil {
			continue
		}
		for _, i := range of[posthouse.Ref{Thread: e.Thread, Seq: e.Seq}] {
			g, err := r.WaitingGate(&window[i].Waiting[0])
			if err == nil {
				keep(i, g)
			}
			if errors.Is(err, context.Canceled) {
				return
			}
		}
	}
}
