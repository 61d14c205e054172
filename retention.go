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
// [Ledger.Compact].
func (l *Ledger) evict(ctx context.Context) error {
	if l.opt.MaxCheckpoints == 0 {
		return nil
	}
	return l.evictBeyond(ctx, l.opt.MaxCheckpoints)
}

func (l *Ledger) evictBeyond(ctx context.Context, limit int) error {
	r := &l.retained
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.counted {
		for t, err := range l.store.Threads(ctx, ThreadQuery{}) {
			if err != nil {
				return err
			}
			r.count += t.Checkpoints
		}
		r.counted = true
	} else {
		r.count++
	}
	if r.count <= limit+limit/64 {
		return nil
	}
	byThread := map[string][]*Header{}
	surplus := r.count - limit
	for h, err := range l.store.List(ctx, Query{}) {
		if err != nil {
			return err
		}
		info, err := l.Thread(ctx, h.Thread)
		if err != nil {
			return err
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
		n, err := l.evictFrom(ctx, thread, hs)
		r.count -= n
		if err != nil {
			return err
		}
	}
	return nil
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
func (l *Ledger) evictFrom(ctx context.Context, thread string, hs []*Header) (int, error) {
	t, err := l.thread(thread)
	if err != nil {
		return 0, err
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
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, h := range gone {
		l.opt.Observer.evicted(l.opt.Logger, h, l.Now())
	}
	return len(gone), nil
}
