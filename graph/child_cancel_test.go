package graph_test

import (
	"context"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// A cancellation by another process reaches a run that waits for its subgraph's thread, although it
// commits nothing: the node that works there stops.
func TestCancelFromElsewhereReachesAChildAtWork(t *testing.T) {
	ctx, store := t.Context(), memstore.New()
	mine := open(t, store, &ledger.Options{Owner: "me", LeaseTTL: time.Second})
	other := open(t, store, &ledger.Options{Owner: "other", LeaseTTL: time.Second})
	works := make(chan struct{})
	app := owning(t, mine, map[string]*graph.Graph[innerState]{"works": oneInner("works", func(ctx context.Context, _ *innerState) error {
		close(works)
		<-ctx.Done()
		return context.Cause(ctx)
	})})
	done := make(chan posthouse.Status, 1)
	go func() {
		res, err := app.Run(ctx, "t", outerState{})
		if res == nil {
			t.Errorf("the run: %v", err)
			done <- ""
			return
		}
		done <- res.Status
	}()
	<-works
	must.Get(other.Cancel(ctx, "t", &ledger.CancelOptions{By: "op", Reason: "stop"}))(t)
	select {
	case status := <-done:
		if status != posthouse.StatusCancelled {
			t.Errorf("the run ended %s", status)
		}
	case <-time.After(time.Minute):
		t.Fatal("the run does not learn of the cancellation")
	}
}
