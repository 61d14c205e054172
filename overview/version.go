package overview

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/lists"
)

// Version returns a thread as a version of it was released, named by its number or a tag, and the
// release. The summary has what the release and the checkpoints of that generation say: branches, the
// program, labels and times. Of a version that was dropped it has what its release says alone.
// [posthouse.ErrNotFound] for an unknown thread or version.
func Version(ctx context.Context, l *ledger.Ledger, thread, version string) (*posthouse.ThreadInfo, *posthouse.Release, error) {
	rel, err := ledger.FindRelease(ctx, l, thread, version)
	if err != nil {
		return nil, nil, err
	}
	t := &posthouse.ThreadInfo{
		Thread: thread, Generation: rel.Version, First: rel.First, Tail: posthouse.Position{Seq: rel.Seq, Hash: rel.Hash}, Branches: rel.Heads, Checkpoints: rel.Checkpoints,
		Updated: posthouse.Millis(rel.At.UnixMilli()), Created: posthouse.Millis(rel.At.UnixMilli()), Signed: rel.Seq,
	}
	if len(rel.Heads) > 0 {
		t.Status = rel.Heads[0].Status
	}
	t.Branches = lists.SortBranches(t.Branches)
	for e, err := range l.Log(ctx, thread, posthouse.Range{From: rel.First, To: rel.First, Headers: true}) {
		if err != nil {
			return nil, nil, err
		}
		t.Created = posthouse.Millis(e.At.UnixMilli())
	}
	for h, err := range l.List(ctx, posthouse.Query{Thread: thread, Generation: rel.Version}) {
		if err != nil {
			return nil, nil, err
		}
		t.Graph, t.Coordination, t.Labels = h.Graph, h.Coordination, h.Labels
		break // what it began with
	}
	if len(rel.Heads) == 0 {
		return t, rel, nil
	}
	h, err := l.GetHeader(ctx, rel.Heads[0].Head)
	if errors.Is(err, posthouse.ErrNotFound) {
		return t, rel, nil // it was dropped
	}
	if err != nil {
		return nil, nil, err
	}
	if h.Graph != "" {
		t.Graph = h.Graph
	}
	if len(h.Labels) > 0 {
		t.Labels = h.Labels
	}
	return t, rel, nil
}
