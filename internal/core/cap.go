package core

import (
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
)

// A capCounter counts the store's checkpoints against the cap. The next census finds
// what other processes save.
type capCounter struct {
	pass sync.Mutex // one eviction at a time; taken before any thread's lock

	mu      sync.Mutex // taken after a thread's lock; nothing blocks under it
	counted bool
	count   int
	least   int // what the last pass could not take away
}

// saved counts one more checkpoint and reports whether a pass is due.
func (r *capCounter) saved(limit int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	return !r.counted || r.due(limit)
}

// due allows a little slack for large stores, so that not every save pays.
func (r *capCounter) due(limit int) bool {
	bar := max(limit, r.least)
	return r.count > bar+bar/64
}

// Added counts n more checkpoints.
func (r *capCounter) Added(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count += n
}

// Deleted counts n fewer checkpoints.
func (r *capCounter) Deleted(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count, r.least = r.count-n, 0
}

// recount sets the count to what a census found and reports whether it is over the cap.
func (r *capCounter) recount(n, limit int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted, r.count = true, n
	return r.due(limit)
}

// RecountNext makes the next save count the checkpoints again.
func (r *capCounter) RecountNext() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = false
}

// evicted ends a pass. It notes how many checkpoints it removed; the others beyond the
// cap have to stay.
func (r *capCounter) evicted(gone, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count -= gone
	r.least = 0
	if r.count > limit {
		r.least = r.count
	}
}

// EnforceCap evicts the oldest checkpoints until the store is within the cap. Heads and
// waiting checkpoints stay, even beyond it. Bodies go at the next [retain.Compact]. The
// save before it is durable already, so a failure is logged, and the next save tries
// again.
func (c *Core) EnforceCap(ctx context.Context) {
	limit := c.Config.MaxCheckpoints
	if limit == 0 || !c.Cap.saved(limit) {
		return
	}
	gone, err := c.evictBeyond(ctx, limit)
	if err != nil {
		c.Config.Logger.Error("the retention cap could not be kept", "cap", limit, "error", err)
	}
	for _, h := range gone {
		c.Observe.Operation(posthouse.Operation{Kind: posthouse.OpEvicted, At: c.Now(), Thread: h.Thread, Coordination: h.Coordination, ID: h.ID})
	}
}

func (c *Core) evictBeyond(ctx context.Context, limit int) (gone []*posthouse.Header, err error) {
	c.Cap.pass.Lock()
	defer c.Cap.pass.Unlock()
	count, infos, err := c.countCheckpoints(ctx)
	if err != nil || !c.Cap.recount(count, limit) {
		return nil, err
	}
	keep := RetentionGuard{l: c, ctx: ctx, infos: infos, heads: map[string]map[posthouse.ID]bool{}}
	byThread := map[string][]*posthouse.Header{}
	surplus := count - limit
	for h, err := range c.Store.List(ctx, posthouse.Query{}) {
		if err != nil {
			return nil, err
		}
		if kept, err := keep.mustStay(h); err != nil {
			return nil, err
		} else if kept {
			continue
		}
		byThread[h.Thread] = append(byThread[h.Thread], h)
		if surplus--; surplus == 0 {
			break
		}
	}
	for thread, hs := range byThread {
		out, e := c.evictFrom(ctx, infos[thread], hs)
		gone, err = append(gone, out...), errors.Join(err, e)
	}
	c.Cap.evicted(len(gone), limit)
	return gone, err
}

// countCheckpoints counts the store's checkpoints; the summaries say which must stay.
func (c *Core) countCheckpoints(ctx context.Context) (n int, infos map[string]*posthouse.ThreadInfo, err error) {
	infos = map[string]*posthouse.ThreadInfo{}
	for t, err := range c.Store.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return 0, nil, err
		}
		n += t.Checkpoints + t.Archived
		infos[t.Thread] = t
	}
	return n, infos, nil
}

// A RetentionGuard knows which checkpoints eviction must keep.
type RetentionGuard struct {
	l     *Core
	ctx   context.Context
	infos map[string]*posthouse.ThreadInfo
	heads map[string]map[posthouse.ID]bool // of a thread's releases, once asked for
}

func (k *RetentionGuard) mustStay(h *posthouse.Header) (bool, error) {
	info := k.infos[h.Thread]
	if info == nil || info.Hold.Seq != 0 || Protects(info, h) {
		return true, nil
	}
	if h.Seq >= info.First {
		return false, nil
	}
	heads := k.heads[h.Thread]
	if heads == nil {
		heads = map[posthouse.ID]bool{}
		for r, err := range k.l.Logs.Releases(k.ctx, h.Thread) {
			if err != nil {
				return false, err
			}
			for _, b := range r.Heads {
				heads[b.Head] = true
			}
		}
		k.heads[h.Thread] = heads
	}
	return heads[h.ID], nil
}

// Protects reports whether a checkpoint must stay by its thread's summary: a head, or
// one that a gate waits at.
func Protects(t *posthouse.ThreadInfo, h *posthouse.Header) bool {
	for _, b := range t.Branches {
		if b.Head == h.ID {
			return true
		}
	}
	for _, w := range t.Waiting {
		if w.Seq == h.Seq {
			return true
		}
	}
	return false
}

// evictFrom removes checkpoints of a thread from the index and records that. Heads and
// waiting ones stay. If the thread was released or deleted since, all stay until the
// next pass.
func (c *Core) evictFrom(ctx context.Context, was *posthouse.ThreadInfo, hs []*posthouse.Header) ([]*posthouse.Header, error) {
	var gone []*posthouse.Header
	err := c.LockAndAppend(ctx, was.Thread, func(tx *Tx) error {
		t := tx.Thread
		gone = nil
		if t.Info.Generation != was.Generation || t.Info.Hold.Seq != 0 {
			return ErrNothing
		}
		info := &posthouse.RemovalInfo{Reason: "retention cap", By: "posthouse"}
		var list posthouse.RemovedList
		for _, h := range hs {
			ref, err := c.Store.Find(ctx, h.ID)
			if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
				return err
			}
			if err != nil || ref != (posthouse.Ref{Thread: t.Name, Seq: h.Seq}) || Protects(t.Info, h) {
				continue // gone, replaced or a head since it was listed
			}
			gone = append(gone, h)
			info.CountRemoved(h.Seq, t.Info)
			list.Checkpoints = append(list.Checkpoints, posthouse.RemovedCheckpoint{ID: h.ID, Seq: h.Seq})
			tx.Drop = append(tx.Drop, h.ID)
		}
		if len(gone) == 0 {
			return ErrNothing
		}
		return tx.AddRemoval(info, list)
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}
