package graph_test

import (
	"testing"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/graph/internal/migrate"
	"github.com/posthouse/posthouse/graph/internal/progress"
	"github.com/posthouse/posthouse/internal/engine/session"
)

// TestPublicConstantsAreThoseInUse compares kinds of mismatch, marks and bounds that users know
// with those that are found and kept.
func TestPublicConstantsAreThoseInUse(t *testing.T) {
	if graph.MaxBehind != session.MaxBehind {
		t.Errorf("an Async run may be %d checkpoints ahead, and is at most %d", graph.MaxBehind, session.MaxBehind)
	}
	for public, found := range map[graph.MismatchKind]migrate.Kind{
		graph.MismatchNode: migrate.MismatchNode, graph.MismatchPart: migrate.MismatchPart, graph.MismatchInput: migrate.MismatchInput,
		graph.MismatchJoin: migrate.MismatchJoin, graph.MismatchResult: migrate.MismatchResult,
		graph.MismatchSubgraph: migrate.MismatchSubgraph, graph.MismatchMigration: migrate.MismatchMigration,
	} {
		if string(public) != string(found) {
			t.Errorf("a mismatch %q is found as %q", public, found)
		}
	}
	for public, found := range map[graph.Mark]progress.Mark{
		graph.MarkNone: progress.None, graph.MarkDone: progress.Done, graph.MarkNext: progress.Next,
		graph.MarkWaiting: progress.Waiting, graph.MarkFailed: progress.Failed,
	} {
		if string(public) != string(found) {
			t.Errorf("a mark %q is found as %q", public, found)
		}
	}
}
