package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestWait waits for a run over a day of sleep, and for one that asks in the thread of a subgraph.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := ledger.Open(memstore.New(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		sub := graph.New[innerState]("sub")
		sub.Node("ask", func(ctx context.Context, s *innerState) error {
			if s.Topic == "fails" {
				return errors.New("no such topic")
			}
			_, err := gate.Ask[any](ctx, gate.Question{Name: "go on", Text: "Go on with " + s.Topic + "?"})
			return err
		})
		sub.Edge(graph.Start, "ask")
		sub.Edge("ask", graph.End)
		g := graph.New[outerState]("outer")
		g.Node("sleep", func(ctx context.Context, _ *outerState) error { return step.Sleep(ctx, "a day", 24*time.Hour) })
		graph.Subgraph(g, "call", sub, &graph.SubOptions[outerState, innerState]{
			In:        func(s *outerState) innerState { return innerState{Topic: s.Topic} },
			Out:       func(*outerState, *innerState) error { return nil },
			OwnThread: true,
		})
		g.Edge(graph.Start, "sleep")
		g.Edge("sleep", "call")
		g.Edge("call", graph.End)
		app, err := g.Compile(l, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := runner.New(l, &runner.Options{Programs: app.Programs()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Run(ctx) }()

		if _, err := app.Wait(t.Context(), "t"); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("an unknown thread: %v", err)
		}
		for thread, topic := range map[string]string{"t": "tea", "f": "fails"} {
			if _, err := app.StartJSON(t.Context(), thread, json.RawMessage(`{"Topic":"`+topic+`"}`), nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := app.Wait(t.Context(), "t", graph.WaitOptions{Branch: "b"}); !errors.Is(err, posthouse.ErrNotFound) {
			t.Errorf("an unknown branch: %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Hour)
		if _, err := app.Wait(short, "t"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it sleeps, and the wait ends with %v", err)
		}
		cancel()
		began := time.Now()
		s, err := app.Wait(t.Context(), "t")
		if err != nil || s.Status != posthouse.StatusWaiting || s.State.Topic != "tea" || time.Since(began) < 22*time.Hour {
			t.Fatalf("after %s: %+v, %v", time.Since(began), s, err)
		}
		var asked []posthouse.ID
		for q, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if posthouse.AsksPeople(q.Kind) {
				asked = append(asked, q.ID)
			}
		}
		if len(asked) != 1 {
			t.Fatalf("people are asked %v", asked)
		}
		if _, err := l.Decide(t.Context(), asked[0], posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}); err != nil {
			t.Fatal(err)
		}
		if s, err := app.Wait(t.Context(), "t"); err != nil || s.Status != posthouse.StatusDone {
			t.Errorf("decided it is %+v, %v", s, err)
		}
		if s, err := app.Wait(t.Context(), "f"); err != nil || s.Status != posthouse.StatusFailed || s.Error == "" {
			t.Errorf("the other is %+v, %v", s, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
