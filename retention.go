package posthouse

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// A retention keeps count of the store's checkpoints against the cap. What
// other processes save is seen at the next census.
type retention struct {
	pass sync.Mutex // one eviction at a time; taken before any thread's lock

	mu      sync.Mutex // taken after a thread's lock; nothing is waited for under it
	counted bool
	count   int
	least   int // what the last pass could not take away
}

// saved counts one more checkpoint and reports whether a pass is due.
func (r *retention) saved(limit int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	return !r.counted || r.due(limit)
}

// due allows a little slack for large stores, so that not every save pays.
func (r *retention) due(limit int) bool {
	bar := max(limit, r.least)
	return r.count > bar+bar/64
}

// added counts n more checkpoints.
func (r *retention) added(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count += n
}

// deleted takes n checkpoints off the count.
func (r *retention) deleted(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count, r.least = r.count-n, 0
}

// recount sets the count to what a census found and reports whether that is
// over the cap.
func (r *retention) recount(n, limit int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted, r.count = true, n
	return r.due(limit)
}

// recountNext has the checkpoints counted anew when the next one is saved.
func (r *retention) recountNext() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = false
}

// evicted ends a pass that took away gone checkpoints and had to leave the
// rest of those beyond the cap.
func (r *retention) evicted(gone, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count -= gone
	if r.least = 0; r.count > limit {
		r.least = r.count
	}
}

// evict brings the store back under the cap, oldest first. Heads and waiting
// checkpoints stay, also if that leaves more than the cap. Bodies go at the
// next [Ledger.Compact]. The save that it follows is durable already, so a
// failure is logged, and made good by the next save.
func (l *Core) evict(ctx context.Context) {
	limit := l.opt.MaxCheckpoints
	if limit == 0 || !l.retained.saved(limit) {
		return
	}
	gone, err := l.evictBeyond(ctx, limit)
	if err != nil {
		l.opt.Logger.Error("the retention cap could not be kept", "cap", limit, "error", err)
	}
	for _, h := range gone {
		l.observe(Operation{Kind: OpEvicted, At: l.Now(), Thread: h.Thread, Coordination: h.Coordination, ID: h.ID})
	}
}

func (l *Core) evictBeyond(ctx context.Context, limit int) (gone []*Header, err error) {
	l.retained.pass.Lock()
	defer l.retained.pass.Unlock()
	count, infos, err := l.census(ctx)
	if err != nil || !l.retained.recount(count, limit) {
		return nil, err
	}
	keep := keeper{l: l, ctx: ctx, infos: infos, heads: map[string]map[ID]bool{}}
	byThread := map[string][]*Header{}
	surplus := count - limit
	for h, err := range l.store.List(ctx, Query{}) {
		if err != nil {
			return nil, err
		}
		if kept, err := keep.protects(h); err != nil {
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
		out, e := l.evictFrom(ctx, infos[thread], hs)
		gone, err = append(gone, out...), errors.Join(err, e)
	}
	l.retained.evicted(len(gone), limit)
	return gone, err
}

// census counts the store's checkpoints; the summaries say which must stay.
func (l *Core) census(ctx context.Context) (n int, infos map[string]*ThreadInfo, err error) {
	infos = map[string]*ThreadInfo{}
	for t, err := range l.store.Threads(ctx, ThreadQuery{}) {
		if err != nil {
			return 0, nil, err
		}
		n += t.Checkpoints + t.Archived
		infos[t.Thread] = t
	}
	return n, infos, nil
}

// A keeper knows what eviction leaves alone.
type keeper struct {
	l     *Core
	ctx   context.Context
	infos map[string]*ThreadInfo
	heads map[string]map[ID]bool // of a thread's releases, once asked for
}

func (k *keeper) protects(h *Header) (bool, error) {
	info := k.infos[h.Thread]
	if info == nil || info.Hold.Seq != 0 || info.protects(h) {
		return true, nil
	}
	if h.Seq >= info.First {
		return false, nil
	}
	heads := k.heads[h.Thread]
	if heads == nil {
		heads = map[ID]bool{}
		for r, err := range k.l.Releases(k.ctx, h.Thread) {
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

func (t *ThreadInfo) protects(h *Header) bool {
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

// evictFrom attests that checkpoints which are neither heads nor waiting leave
// the index. If the thread was released or deleted since, they stay for the
// next pass to look at.
func (l *Core) evictFrom(ctx context.Context, was *ThreadInfo, hs []*Header) ([]*Header, error) {
	thread := was.Thread
	t, err := l.lock(thread)
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	var gone []*Header
	err = l.append(ctx, t, func(a *appending) error {
		gone = nil
		if t.info.Generation != was.Generation || t.info.Hold.Seq != 0 {
			return errNothing
		}
		info := &RemovalInfo{Reason: "retention cap", By: "posthouse"}
		var list RemovedList
		for _, h := range hs {
			ref, err := l.store.Find(ctx, h.ID)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if err != nil || ref != (Ref{thread, h.Seq}) || t.info.protects(h) {
				continue // gone, replaced or a head since it was listed
			}
			gone = append(gone, h)
			info.count(h.Seq, t.info)
			list.Checkpoints = append(list.Checkpoints, RemovedCheckpoint{h.ID, h.Seq})
			a.drop = append(a.drop, h.ID)
		}
		if len(gone) == 0 {
			return errNothing
		}
		body, err := json.Marshal(list)
		if err != nil {
			return err
		}
		a.sign = true
		a.add(Record{Kind: RecordRemoval, Removal: info}, body)
		return nil
	})
	if errors.Is(err, errNothing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return gone, nil
}
