package ledger

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/lists"
)

// A LatestQuery selects a newest checkpoint. It must name a thread or a coordination.
type LatestQuery struct {
	Thread       string
	Branch       string // of the thread; "" is main, unless Node is set: then any
	Coordination string // over all its threads
	Node         string // made by this node, alone or with others
}

// Latest returns the newest checkpoint that matches, with its state. With a thread
// named, its cost does not depend on the length of the history. [posthouse.ErrNotFound]
// if nothing matches, [posthouse.ErrInvalid] if q names neither a thread nor a
// coordination.
func (l *Ledger) Latest(ctx context.Context, q LatestQuery) (*posthouse.Checkpoint, error) {
	c, err := l.latest(ctx, q)
	if err == nil {
		l.core.Observe.Checkpoint(posthouse.OpLoaded, &c.Header)
	}
	return c, err
}

func (l *Ledger) latest(ctx context.Context, q LatestQuery) (*posthouse.Checkpoint, error) {
	if q.Thread == "" && q.Coordination == "" {
		return nil, posthouse.Invalid("query", "names neither a thread nor a coordination")
	}
	var was posthouse.Ref
	for {
		ref, err := l.newest(ctx, q)
		if err != nil {
			return nil, err
		}
		b, err := l.core.Logs.Reader(ctx, ref.Thread).Rebuild(ref.Seq)
		switch {
		case err == nil:
			return b.Checkpoint()
		case !threadlog.MayBeGone(err) || ref == was:
			return nil, err
		}
		was = ref // unless it was removed since, this is damage
	}
}

func (l *Ledger) newest(ctx context.Context, q LatestQuery) (posthouse.Ref, error) {
	if q.Thread != "" && q.Coordination == "" && q.Node == "" {
		info, err := l.Thread(ctx, q.Thread)
		if err != nil {
			return posthouse.Ref{}, err
		}
		b, ok := info.Branch(q.Branch)
		if !ok {
			return posthouse.Ref{}, posthouse.NotFound("branch "+cmp.Or(q.Branch, posthouse.MainBranch)+" of thread", q.Thread)
		}
		return posthouse.Ref{Thread: q.Thread, Seq: b.Seq}, nil
	}
	list := posthouse.Query{Thread: q.Thread, Coordination: q.Coordination, Branch: q.Branch, Node: q.Node, Descending: true, Limit: 1}
	for h, err := range l.List(ctx, list) {
		if err != nil {
			return posthouse.Ref{}, err
		}
		return posthouse.Ref{Thread: h.Thread, Seq: h.Seq}, nil
	}
	what := "checkpoint"
	if q.Node != "" {
		what += " of node " + q.Node
	}
	if q.Branch != "" {
		what += " on branch " + q.Branch
	}
	return posthouse.Ref{}, posthouse.NotFound(what+" of", cmp.Or(q.Coordination, q.Thread))
}

// List yields the headers of matching checkpoints, oldest first unless Descending.
//
// The order is a named thread's log, else [posthouse.OrderKey]. A named thread's
// current generation is listed unless the query names another. With
// [posthouse.Query.Open] it also reads each thread's summary. Headers are checked as
// far as the store does that for lists (SQLite: by checksums); [Ledger.Get] and
// [Ledger.Log] check hashes and find what an index has lost. [posthouse.ErrInvalid] for
// a malformed cursor. An unknown thread has no checkpoints.
func (l *Ledger) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return func(yield func(*posthouse.Header, error) bool) {
		if q.After != "" {
			if _, _, err := posthouse.ParseCursor(q.After); err != nil {
				yield(nil, err)
				return
			}
		}
		q, err := within(ctx, l.core.Core, q)
		if err != nil {
			if !errors.Is(err, posthouse.ErrNotFound) {
				yield(nil, err)
			}
			return
		}
		list := l.core.Store.List
		if q.Open {
			list = l.listOpen
		}
		for h, err := range list(ctx, q) {
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// listOpen filters what the rest of the query selects by the threads' summaries.
func (l *Ledger) listOpen(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	limit := q.Limit
	q.Limit, q.Open = 0, false
	return func(yield func(*posthouse.Header, error) bool) {
		n := 0
		var t *posthouse.ThreadInfo // of the previous header: those of a thread often come together
		for h, err := range l.core.Store.List(ctx, q) {
			if err == nil && (t == nil || t.Thread != h.Thread) {
				t, err = l.core.Logs.Summary(ctx, h.Thread)
			}
			switch {
			case errors.Is(err, posthouse.ErrNotFound):
				continue // deleted since it was listed
			case err != nil:
				yield(nil, err)
				return
			case !isOpen(t, h):
				continue
			case !yield(h, nil):
				return
			}
			if n++; n == limit {
				return
			}
		}
	}
}

// isOpen reports whether a checkpoint is the head of a branch that waits or has open
// gates.
func isOpen(t *posthouse.ThreadInfo, h *posthouse.Header) bool {
	b, ok := t.Branch(h.Branch)
	return ok && b.Head == h.ID && (b.Status == posthouse.StatusWaiting ||
		slices.ContainsFunc(t.Waiting, func(w posthouse.WaitingGate) bool { return w.Branch == b.Branch }))
}

// Count returns how many checkpoints [Ledger.List] would yield. The summary has the
// count of a thread's current generation without other filters; any other costs as much
// as the list.
func Count(ctx context.Context, l *Ledger, q posthouse.Query) (n int, err error) {
	if q.Thread != "" && q == (posthouse.Query{Thread: q.Thread, Descending: q.Descending, Limit: q.Limit}) {
		info, err := l.core.Logs.Summary(ctx, q.Thread)
		switch {
		case errors.Is(err, posthouse.ErrNotFound):
			return 0, nil
		case err != nil:
			return 0, err
		case q.Limit > 0:
			return min(info.Checkpoints, q.Limit), nil
		}
		return info.Checkpoints, nil
	}
	for _, err := range l.List(ctx, q) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// within limits a query for a thread to the entries of its generation.
// [posthouse.ErrNotFound] for an unknown generation.
func within(ctx context.Context, c *core.Core, q posthouse.Query) (posthouse.Query, error) {
	if q.Thread == "" {
		return q, nil
	}
	info, err := c.Logs.Summary(ctx, q.Thread)
	switch {
	case err != nil:
		return q, err
	case q.Generation == 0 || q.Generation == info.Generation:
		q.From = max(q.From, info.First)
		return q, nil
	}
	r, err := c.Logs.ReleaseOf(ctx, q.Thread, strconv.FormatUint(uint64(q.Generation), 10))
	if err != nil {
		return q, err
	}
	q.From = max(q.From, r.First)
	if q.To == 0 || q.To > r.Seq {
		q.To = r.Seq
	}
	return q, nil
}

// ListStates lists checkpoints with their states. One that is deleted during the call
// may be left out. One with an unreadable state ([posthouse.ErrCorrupt],
// [posthouse.ErrSealed]) is yielded as its header with the error; the others follow.
// Any other error is the last element.
func (l *Ledger) ListStates(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Checkpoint, error] {
	return func(yield func(*posthouse.Checkpoint, error) bool) {
		r := l.core.Logs.Reader(ctx, "")
		for h, err := range l.List(ctx, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			if r.Thread != h.Thread {
				r = l.core.Logs.Reader(ctx, h.Thread)
			}
			var c *posthouse.Checkpoint
			b, err := r.Rebuild(h.Seq)
			if err == nil {
				c, err = b.Checkpoint()
			} else if threadlog.MayBeGone(err) {
				if ref, e := l.core.Store.Find(ctx, h.ID); errors.Is(e, posthouse.ErrNotFound) || e == nil && ref != (posthouse.Ref{Thread: h.Thread, Seq: h.Seq}) {
					continue // deleted or replaced since it was listed
				}
			}
			damaged := threadlog.MayBeGone(err)
			if damaged {
				c = &posthouse.Checkpoint{Header: *h}
			}
			if !yield(c, err) || err != nil && !damaged {
				return
			}
		}
	}
}

// Threads yields matching summaries by name, with Newest by activity, or by due time with
// DueBefore. It leaves out deleted threads and, unless q.Released is set, released threads
// that have not started again.
func (l *Ledger) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	limit := q.Limit
	if !q.ByActivity() {
		q.Limit = 0 // a store that has no index of activity needs to know how many
	}
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		n := 0
		for {
			asked := 0
			for t, err := range l.core.Store.Threads(ctx, q) {
				if err == nil {
					asked++
					q.After = t.ActivityCursor() // read with Limit only
				}
				if err == nil && t.Gone() && !(q.Released && t.Releases > 0) {
					continue
				}
				if err == nil {
					t.Branches = lists.SortBranches(t.Branches)
				}
				if !yield(t, err) || err != nil {
					return
				}
				if n++; n == limit {
					return
				}
			}
			if q.Limit == 0 || asked < q.Limit {
				return
			}
		}
	}
}
