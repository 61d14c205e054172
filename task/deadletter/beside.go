package deadletter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// ownPrefix begins the ids of letters that are in this process's memory.
const ownPrefix = "here-"

// beside is a shared box, and memory for what cannot be put there.
type beside struct {
	shared Box
	own    *Memory
}

// Beside returns a box that puts letters into a shared one and, while that does not take
// them, into memory. It shows both. Now is the clock.
func Beside(shared Box, now func() time.Time) Box { return beside{shared, NewMemory(now)} }

// Put implements [Box].
func (b beside) Put(ctx context.Context, l Letter) error {
	if b.shared.Put(ctx, l) == nil {
		return nil
	}
	return b.own.Put(ctx, l)
}

// Letters implements [Box]. Those in memory are shown, too, when the shared box is away.
func (b beside) Letters(ctx context.Context, n int) ([]Letter, error) {
	own, _ := b.own.Letters(ctx, n) // memory does not fail
	for i := range own {
		own[i].ID = ownPrefix + own[i].ID
	}
	all, err := b.shared.Letters(ctx, n)
	if err != nil && len(own) == 0 {
		return nil, err
	}
	all = append(all, own...)
	slices.SortStableFunc(all, func(a, b Letter) int { return b.At.Compare(a.At) })
	return all[:min(n, len(all))], nil
}

// Replay implements [Box].
func (b beside) Replay(ctx context.Context, id string) error {
	if own, ok := strings.CutPrefix(id, ownPrefix); ok {
		return b.own.Replay(ctx, own)
	}
	return b.shared.Replay(ctx, id)
}

// Remove implements [Box].
func (b beside) Remove(ctx context.Context, id string) error {
	if own, ok := strings.CutPrefix(id, ownPrefix); ok {
		return b.own.Remove(ctx, own)
	}
	return b.shared.Remove(ctx, id)
}

// Purge implements [Box].
func (b beside) Purge(ctx context.Context) (int, error) {
	n, own := b.own.Purge(ctx)
	m, err := b.shared.Purge(ctx)
	return n + m, errors.Join(own, err)
}
