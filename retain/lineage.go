package retain

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A lineage is what forks and copies were made from.
type lineage struct {
	forks  sources
	copied map[string]bool // threads that others have copies of; nil: not known yet
}

// sources are the forks of each checkpoint that has any.
type sources map[posthouse.ID][]posthouse.Ref

func (s sources) has(id posthouse.ID) bool { return s[id] != nil }

func findSources(ctx context.Context, c *core.Core) (sources, error) {
	s := sources{}
	for h, err := range c.Store.List(ctx, posthouse.Query{Kind: posthouse.KindFork}) {
		if err != nil {
			return nil, err
		}
		if h.Source != nil {
			s[h.Source.ID] = append(s[h.Source.ID], posthouse.Ref{Thread: h.Thread, Seq: h.Seq})
		}
	}
	return s, nil
}

// isSource reports whether a fork or a copy in another thread was made from a checkpoint.
func (g *lineage) isSource(thread string, id posthouse.ID) bool {
	return g.copied[thread] || slices.ContainsFunc(g.forks[id], func(r posthouse.Ref) bool { return r.Thread != thread })
}

// findCopied finds the threads with checkpoints that another thread has copies of: a copy has
// the kinds of its originals, so all are looked at, once a pass.
func (g *lineage) findCopied(ctx context.Context, store posthouse.Store) error {
	if g.copied != nil {
		return nil
	}
	copied := map[string]bool{}
	for h, err := range store.List(ctx, posthouse.Query{}) {
		if err != nil {
			return err
		}
		if h.Source != nil && h.Source.Thread != h.Thread {
			copied[h.Source.Thread] = true
		}
	}
	g.copied = copied
	return nil
}

// forkedFrom reports whether a fork elsewhere was made from a version.
func (g *lineage) forkedFrom(ctx context.Context, store posthouse.Store, r *posthouse.Release) (bool, error) {
	for h, err := range store.List(ctx, posthouse.Query{Thread: r.Thread, From: r.First, To: r.Seq}) {
		if err != nil {
			return false, err
		}
		for _, fork := range g.forks[h.ID] {
			if fork.Thread != r.Thread || fork.Seq < r.First || fork.Seq > r.Seq {
				return true, nil
			}
		}
	}
	return false, nil
}
