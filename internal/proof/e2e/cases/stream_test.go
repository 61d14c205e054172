package cases_test

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/runs"
)

// TestUpdateAndResumeInsideAStream: a person answers inside the loop over a stream, at its park
// event, and the loop's body updates and resumes the thread.
func TestUpdateAndResumeInsideAStream(t *testing.T) {
	onStores(t, func(h *house) {
		ctx := h.Context()
		g := graph.New[order]("review")
		g.Node("draft", func(_ context.Context, s *order) error { s.Log = append(s.Log, "draft"); return nil })
		g.Node("publish", func(_ context.Context, s *order) error { s.Log = append(s.Log, "publish "+s.Memo); return nil }, graph.NodeOptions{InterruptBefore: true})
		g.Node("ask", func(ctx context.Context, s *order) error {
			a, err := gate.Ask[any](ctx, gate.Question{Name: "fine?"})
			s.Log = append(s.Log, string(a.Verdict))
			return err
		})
		g.Edge(graph.Start, "draft")
		g.Edge("draft", "publish")
		g.Edge("publish", "ask")
		g.Edge("ask", graph.End)
		app := must.Get(g.Compile(h.led, nil))(h)
		var last *graph.Result[order]
		for e, err := range app.Stream(ctx, "t", order{}) {
			must.Get(e, err)(h)
			if e.Kind != runs.EventPark {
				continue
			}
			h.want("the event's node and checkpoint", e.Checkpoint.ID+" "+posthouse.ID(e.Node), e.Result.Checkpoint+" draft")
			must.Get(app.Update(ctx, "t", func(s *order) { s.Memo = "by ann" }))(h)
			for e, err := range app.ResumeStream(ctx, "t") {
				must.Get(e, err)(h)
				if e.Kind == runs.EventPark {
					h.approve(e.Result.Waiting[0].ID)
					last = must.Get(app.Resume(ctx, "t"))(h)
				}
			}
		}
		h.want("log", last.State.Log, "[draft publish by ann approve]")
		ended := false
		for e, err := range app.ResumeStream(ctx, "t") {
			if must.Get(e, err)(h); e.Kind == runs.EventEnd {
				must.Get(app.Run(ctx, "t", order{}))(h) // the next turn, inside the loop
				ended = true
			}
		}
		h.want("the stream of a thread that is done ended", ended, true)
	})
}

// TestResumeInsideAStreamOfAFlow is the same for a flow.
func TestResumeInsideAStreamOfAFlow(t *testing.T) {
	onStores(t, func(h *house) {
		ctx := h.Context()
		app := must.Get(flow.New("review", func(ctx context.Context, _ string) (string, error) {
			a, err := gate.Ask[any](ctx, gate.Question{Name: "fine?"})
			return string(a.Verdict), err
		}).Open(h.led, nil))(h)
		out := ""
		for e, err := range app.Stream(ctx, "t", "") {
			if must.Get(e, err)(h); e.Kind == runs.EventPark {
				h.approve(e.Result.Waiting[0].ID)
				for e, err := range app.ResumeStream(ctx, "t") {
					if must.Get(e, err)(h); e.Kind == runs.EventEnd {
						out = must.Get(app.Run(ctx, "u", ""))(h).Thread + " " + e.Output
						must.Get(app.Run(ctx, "t", ""))(h)
					}
				}
			}
		}
		h.want("output", out, "u approve")
	})
}
