package runner_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestEmissionsAreTold has what a graph and a flow report while the runner advances them, with the
// thread and the step that it comes from. A report after the end is dropped.
func TestEmissionsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, memstore.New(), "me")
		late := make(chan struct{})
		work := func(ctx context.Context) error {
			step.Emit(ctx, 42)
			go func() { <-late; step.Token(ctx, "late") }()
			_, err := step.Do(ctx, "llm", func(ctx context.Context) (string, error) {
				step.Token(ctx, "Hel")
				step.Token(ctx, "lo")
				return "Hello", nil
			})
			return err
		}
		g := graph.New[struct{ X int }]("g")
		g.Node("a", func(ctx context.Context, _ *struct{ X int }) error { return work(ctx) })
		g.Edge(graph.Start, "a")
		g.Edge("a", graph.End)
		ga := must.Get(g.Compile(l, nil))(t)
		fa := must.Get(flow.New("f", func(ctx context.Context, _ string) (string, error) { return "", work(ctx) }).Open(l, nil))(t)
		var mu sync.Mutex
		told := map[string][]string{}
		_, stop := run(t, l, runner.Options{Programs: []posthouse.Program{ga, fa}, Emitted: func(e *runner.Emission) {
			mu.Lock()
			defer mu.Unlock()
			told[e.Thread] = append(told[e.Thread], fmt.Sprintf("%s %s %d %q %v %v", e.Branch, e.Step, e.Attempt, e.Text, e.Value, e.Custom))
		}})
		must.Get(ga.StartJSON(t.Context(), "graph", []byte(`{"X":1}`), nil))(t)
		must.Get(fa.StartJSON(t.Context(), "flow", []byte(`"x"`), nil))(t)
		for status(t, l, "graph") != posthouse.StatusDone || status(t, l, "flow") != posthouse.StatusDone {
			sleep(time.Second)
		}
		must.Do(t, stop())
		close(late)
		waitIdle()
		for _, thread := range []string{"graph", "flow"} {
			if want := []string{`main  0 "" 42 true`, `main llm 1 "Hel" <nil> false`, `main llm 1 "lo" <nil> false`}; !slices.Equal(told[thread], want) {
				t.Errorf("of the %s it tells %q, want %q", thread, told[thread], want)
			}
		}
	})
}
