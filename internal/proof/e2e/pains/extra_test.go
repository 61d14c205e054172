package pains_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
)

// A node that acts on the world and failed runs again when the thread is
// resumed; one that succeeded does not, whatever fails after it.
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
			out, err = h.app(g).Resume(h.Context(), "t")
			if err == nil {
				want(h, "log", out.State.Log, "[charge ship]")
			}
		}
		must(0, err)(h)
		must(h.app(g).Resume(h.Context(), "t"))(h)
		want(h, "done", did, "map[charge:2 ship:2]")
	})
}

// Results of parallel branches are merged once, though the step was begun twice
// because one of them failed, or the process died in it; those that finished do
// not run again.
func TestExtra20BranchesMergeOnce(t *testing.T) {
	for _, dies := range []bool{false, true} {
		onStores(t, func(h *house) { branchesMergeOnce(h, dies) })
	}
}

// A doomed store tells when two tasks are on record, and can die.
type doomed struct {
	posthouse.Store
	others chan struct{}
	done   int
	dead   atomic.Bool
}

func (d *doomed) Append(ctx context.Context, b *posthouse.Batch) error {
	if d.dead.Load() {
		return &posthouse.Error{Code: posthouse.CodeFull, Message: "dead"}
	}
	recs, err := b.Entry.Records()
	if err == nil {
		err = d.Store.Append(ctx, b)
	}
	if err != nil {
		return err
	}
	for _, r := range recs {
		if r.Step == nil || r.Step.Name != "$done" {
			continue
		}
		if d.done++; d.done == 2 {
			close(d.others)
		}
	}
	return nil
}

func branchesMergeOnce(h *house, dies bool) {
	store := &doomed{Store: h.store, others: make(chan struct{})}
	var mu sync.Mutex
	did := map[string]int{}
	g := graph.New[state]("branches")
	for i, name := range []string{"a", "b", "c"} {
		g.Node(name, func(_ context.Context, s *state) error {
			mu.Lock()
			did[name]++
			again := did[name] > 1
			mu.Unlock()
			s.Log = append(s.Log, name)
			s.Total += i + 1
			if s.Artifacts == nil {
				s.Artifacts = map[string]string{}
			}
			s.Artifacts[name] = "made"
			if name == "b" && !again {
				if dies {
					<-store.others
					store.dead.Store(true)
				}
				return errBoom
			}
			return nil
		})
		g.Edge(graph.Start, name)
	}
	g.Join("end", "a", "b", "c")
	g.Node("end", say("end"))
	g.Edge("end", graph.End)
	l := h.open(store, "me")
	_, err := must(g.Compile(l, &graph.CompileOptions{Check: true}))(h).Run(h.Context(), "t", state{Log: []string{"in"}, Total: 100, Artifacts: map[string]string{"in": "was"}})
	status := "failed"
	if dies {
		status = "running"
	}
	if err == nil {
		h.Fatal("the run went through")
	}
	l.Close()
	h.restart()
	s := must(h.app(g).State(h.Context(), "t"))(h)
	want(h, "before the step", []any{s.Status, s.State}, "["+status+" {[in] map[in:was] 100 }]")
	out := must(h.app(g).Resume(h.Context(), "t"))(h)
	want(h, "state", out.State, "{[in a b c end] map[a:made b:made c:made in:was] 106 }")
	want(h, "done", did, "map[a:1 b:2 c:1]")
	h.restart()
	want(h, "on record", must(h.app(g).State(h.Context(), "t"))(h).State, "{[in a b c end] map[a:made b:made c:made in:was] 106 }")
}

// When a node is tried again, and how often it was, is on record: a restart
// neither hastens the next attempt nor forgets it nor gives new ones.
func TestExtra21RetryTimersSurviveARestart(t *testing.T) {
	onStores(t, func(h *house) {
		tries := 0
		g := line("retry", node{name: "n", opt: graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: time.Minute}}, run: func(context.Context, *state) error {
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

// So is the pause between two turns of a loop: a restart neither shortens it nor
// starts it over, nor does a turn run twice; the state that the earlier turns
// made is there, and goes into the next one.
func TestExtra21LoopDelaySurvivesARestart(t *testing.T) {
	onStores(t, func(h *house) {
		did := map[string]int{}
		g := graph.New[state]("loop")
		g.Node("think", func(ctx context.Context, s *state) error {
			if err := count(ctx, "call", did); err != nil {
				return err
			}
			s.Log = append(s.Log, fmt.Sprint("turn ", len(s.Log)+1))
			return nil
		})
		g.Node("pause", func(ctx context.Context, s *state) error { return step.Sleep(ctx, "delay", time.Minute) })
		g.Edge(graph.Start, "think")
		g.Route("think", func(s *state) string {
			if len(s.Log) < 3 {
				return "pause"
			}
			return graph.End
		}, "pause", graph.End)
		g.Edge("pause", "think")
		out := must(h.app(g).Run(h.Context(), "t", state{Doc: "kept"}))(h)
		for turn, log := range []string{"[turn 1]", "[turn 1 turn 2]"} {
			if len(out.Waiting) != 1 || out.Waiting[0].Kind != posthouse.GateTimer {
				h.Fatalf("output %+v", out)
			}
			due := out.Waiting[0].ExpiresAt
			want(h, "due in", due.Sub(h.now), time.Minute.String())
			h.now = h.now.Add(40 * time.Second)
			h.restart()
			early := must(h.app(g).Resume(h.Context(), "t"))(h)
			if early.Status != posthouse.StatusWaiting || !early.Waiting[0].ExpiresAt.Equal(due) {
				h.Fatalf("early %+v", early)
			}
			want(h, "so far", []any{early.State.Log, early.State.Doc, did["call"]}, fmt.Sprint([]any{log, "kept", turn + 1}))
			h.now = h.now.Add(20 * time.Second)
			h.restart()
			out = must(h.app(g).Resume(h.Context(), "t"))(h)
		}
		want(h, "in the end", []any{out.Status, out.State.Log, out.State.Doc, did["call"]}, "[done [turn 1 turn 2 turn 3] kept 3]")
	})
}
