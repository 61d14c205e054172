package pains_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
)

// A node that acts on the world and failed runs again when the thread is
// resumed; one that succeeded does not, whatever fails behind it.
func TestExtra09FailedExternalNodeRunsAgain(t *testing.T) {
	onStores(t, func(h *house) {
		did := map[string]int{}
		act := func(name string) node {
			return node{name: name, opt: graph.NodeOptions{Effect: posthouse.EffectExternal}, run: func(_ context.Context, s *state) error {
				s.Log = append(s.Log, name)
				if did[name]++; did[name] == 1 {
					return errBoom
				}
				return nil
			}}
		}
		g := line("external", act("charge"), act("ship"))
		_, err := h.app(g).Run(h.Context(), "t", state{})
		for _, wanted := range []string{"map[charge:1]", "map[charge:2 ship:1]"} {
			wantIs(h, err, errBoom)
			want(h, "done", did, wanted)
			h.restart()
			if s := must(h.app(g).State(h.Context(), "t"))(h); s.Status != posthouse.StatusFailed || len(s.State.Log) != len(did)-1 {
				h.Fatalf("%+v", s)
			}
			var out *graph.Result[state]
			if out, err = h.app(g).Resume(h.Context(), "t"); err == nil {
				want(h, "log", out.State.Log, "[charge ship]")
			}
		}
		must(0, err)(h)
		must(h.app(g).Resume(h.Context(), "t"))(h)
		want(h, "done", did, "map[charge:2 ship:2]")
	})
}

// What branches beside each other made is merged once, though the step was
// begun twice because one of them failed; those that finished do not run again.
func TestExtra20BranchesMergeOnce(t *testing.T) {
	onStores(t, func(h *house) {
		var mu sync.Mutex
		did := map[string]int{}
		g := graph.New[state]("branches")
		for i, name := range []string{"a", "b", "c"} {
			g.Node(name, func(_ context.Context, s *state) error {
				mu.Lock()
				defer mu.Unlock()
				did[name]++
				s.Log = append(s.Log, name)
				s.Total += i + 1
				if s.Artifacts == nil {
					s.Artifacts = map[string]string{}
				}
				s.Artifacts[name] = "made"
				if name == "b" && did["b"] == 1 {
					return errBoom
				}
				return nil
			})
			g.Edge(graph.Start, name)
		}
		g.Join("end", "a", "b", "c")
		g.Node("end", say("end"))
		g.Edge("end", graph.End)
		_, err := h.app(g).Run(h.Context(), "t", state{Log: []string{"in"}, Total: 100, Artifacts: map[string]string{"in": "was"}})
		wantIs(h, err, errBoom)
		h.restart()
		s := must(h.app(g).State(h.Context(), "t"))(h)
		want(h, "before the step", []any{s.Status, s.State}, "[failed {[in] map[in:was] 100 }]")
		out := must(h.app(g).Resume(h.Context(), "t"))(h)
		want(h, "state", out.State, "{[in a b c end] map[a:made b:made c:made in:was] 106 }")
		want(h, "done", did, "map[a:1 b:2 c:1]")
		h.restart()
		want(h, "on record", must(h.app(g).State(h.Context(), "t"))(h).State, "{[in a b c end] map[a:made b:made c:made in:was] 106 }")
	})
}

// When a node is tried again, and how often it was, is on record: a restart
// neither hastens the next attempt nor forgets it nor gives new ones.
func TestExtra21RetryTimersSurviveARestart(t *testing.T) {
	onStores(t, func(h *house) {
		tries := 0
		g := line("retry", node{name: "n", opt: graph.NodeOptions{Retry: graph.Retry{Max: 2, Delay: time.Minute}}, run: func(context.Context, *state) error {
			tries++
			return errBoom
		}})
		out := must(h.app(g).Run(h.Context(), "t", state{}))(h)
		for try, delay := range []time.Duration{time.Minute, 2 * time.Minute} {
			if len(out.Waiting) != 1 || out.Waiting[0].Kind != posthouse.GateTimer || tries != try+1 {
				h.Fatalf("%+v after %d tries", out, tries)
			}
			want(h, "due in", out.Waiting[0].ExpiresAt.Sub(h.now), delay.String())
			h.now = h.now.Add(delay - 20*time.Second)
			h.restart()
			early := must(h.app(g).Resume(h.Context(), "t"))(h)
			if early.Status != posthouse.StatusWaiting || tries != try+1 {
				h.Fatalf("%s, %d tries before the attempt is due", early.Status, tries)
			}
			h.now = h.now.Add(20 * time.Second)
			h.restart()
			next, err := h.app(g).Resume(h.Context(), "t")
			if try == 1 {
				wantIs(h, err, errBoom)
				break
			}
			out = must(next, err)(h)
		}
		want(h, "tries", tries, "3")
	})
}
