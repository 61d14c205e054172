package posthouse

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// A retention keeps count of the store's checkpoints against the cap.
type retention struct {
	mu      sync.Mutex
	counted bool
	count   int
}

// evict brings the store back under the cap, oldest first, with a little slack
// for large caps so that not every save pays. Heads and waiting checkpoints
// stay, also if that leaves more than the cap. Bodies go at the next
// [Ledger.Compact]. The save that it follows is durable already, so a failure
// is logged, and made good by the next save.
func (l *Ledger) evict(ctx context.Context) {
	if l.opt.MaxCheckpoints == 0 {
		return
	}
	gone, err := l.evictBeyond(ctx, l.opt.MaxCheckpoints)
	if err != nil {
		l.opt.Logger.Error("the retention cap could not be kept", "cap", l.opt.MaxCheckpoints, "error", err)
	}
	for _, h := range gone {
		l.opt.Observer.evicted(l.opt.Logger, h, l.Now())
	}
}

func (l *Ledger) evictBeyond(ctx context.Context, limit int) (gone []*Header, err error) {
	r := &l.retained
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counted {
		r.count++
	} else if err := r.recount(ctx, l.store); err != nil {
		return nil, err
	}
	if r.count <= limit+limit/64 {
		return nil, nil
	}
	byThread := map[string][]*Header{}
	surplus := r.count - limit
	for h, err := range l.store.List(ctx, Query{}) {
		if err != nil {
			return nil, err
		}
		info, err := l.Thread(ctx, h.Thread)
		if err != nil {
			return nil, err
		}
		if info.protects(h) {
			continue
		}
		byThread[h.Thread] = append(byThread[h.Thread], h)
		if surplus--; surplus == 0 {
			break
		}
	}
	for thread, hs := range byThread {
		out, err := l.evictFrom(ctx, thread, hs)
		r.count -= len(out)
		gone = append(gone, out...)
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}

func (r *retention) recount(ctx context.Context, s Store) error {
	n := 0
	for t, err := range s.Threads(ctx, ThreadQuery{}) {
		if err != nil {
			return err
		}
		n += t.Checkpoints
	}
	r.count, r.counted = n, true
	return nil
}

// deleted takes n checkpoints off the count.
func (r *retention) deleted(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count -= n
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
// the index.
func (l *Ledger) evictFrom(ctx context.Context, thread string, hs []*Header) ([]*Header, error) {
	t, err := l.thread(thread)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var gone []*Header
	err = l.append(ctx, t, func(a *appending) error {
		gone = nil
		var list RemovedList
		for _, h := range hs {
			if t.info.protects(h) {
				continue
			}
			gone = append(gone, h)
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
		a.add(Record{Kind: RecordRemoval, Removal: &RemovalInfo{Reason: "retention cap", By: "posthouse", Count: len(gone)}}, body)
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
