package pains_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
)

// Of two processes on one thread one runs it and the other is told who does.
// Once the first shows no life the other takes over; what the first still
// commits is refused, and the thread has one history.
func TestPain08TwoWritersOneWins(t *testing.T) {
	onStores(t, func(h *house) {
		shared := struct{ posthouse.Store }{h.store} // as of a server: shared with other processes
		started, release, first := make(chan struct{}), make(chan struct{}), true
		g := line("twins", node{name: "a", run: say("a")}, node{name: "b", run: func(_ context.Context, s *state) error {
			if first {
				first = false
				close(started)
				<-release
				s.Log = append(s.Log, "stale")
				return nil
			}
			s.Log = append(s.Log, "b")
			return nil
		}})
		one := must(g.Compile(h.open(frozen{shared}, "one"), nil))(h)
		two := must(g.Compile(h.open(shared, "two"), nil))(h)
		ended := make(chan error)
		go func() { _, err := one.Run(h.Context(), "t", state{}); ended <- err }()
		<-started
		_, busy := two.Resume(h.Context(), "t")
		h.now = h.now.Add(2 * leaseTTL)
		out, err := two.Resume(h.Context(), "t")
		close(release)
		late := <-ended
		wantIs(h, busy, posthouse.ErrBusy)
		want(h, "log", must(out, err)(h).State.Log, "[a b]")
		wantIs(h, late, posthouse.ErrFenced)
		want(h, "history", h.kinds(posthouse.Query{Thread: "t"}), "input, node a, node b")
		want(h, "branches", len(must(two.Branches(h.Context(), "t"))(h)), "1")
	})
}

// A frozen is the store of a process that is frozen: it does not say that it lives.
type frozen struct{ posthouse.Store }

func (f frozen) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if op.Verb == posthouse.SlotPut && key.Thread == posthouse.ProcessThread {
		return posthouse.Slot{}, nil
	}
	return f.Store.Slot(ctx, key, op)
}

// nested is a graph in a graph in a graph: plan, ask, write at the bottom.
func nested(did map[string]int, life graph.Lifetime) *graph.Graph[state] {
	g := line("bottom",
		node{name: "plan", run: func(_ context.Context, s *state) error { did["plan"]++; s.Log = append(s.Log, "plan"); return nil }},
		node{name: "ask", run: func(ctx context.Context, s *state) error {
			if err := count(ctx, "pay", did); err != nil {
				return err
			}
			a, err := gate.Ask[any](ctx, gate.Question{Name: "ok"})
			if err != nil {
				return err
			}
			s.Log = append(s.Log, string(a.Verdict))
			return nil
		}},
		node{name: "write", run: say("write")})
	for _, name := range []string{"low", "high"} {
		outer := graph.New[state]("over-" + name)
		graph.Subgraph(outer, name, g, &graph.SubOptions[state, state]{
			Out:      func(s, result *state) error { s.Log = append(s.Log, result.Log...); return nil },
			Lifetime: life,
		})
		outer.Node("first", say("first "+name))
		outer.Edge(graph.Start, "first")
		outer.Edge("first", name)
		outer.Edge(name, graph.End)
		g = outer
	}
	return g
}

// A checkpoint two graphs deep can be forked like any other: the fork goes on
// inside with the steps that were done, and the original still waits.
func TestPain09ForkInsideASubgraph(t *testing.T) {
	onStores(t, func(h *house) {
		did := map[string]int{}
		out := must(h.app(nested(did, graph.PerCall)).Run(h.Context(), "t", state{}))(h)
		want(h, "history", h.kinds(posthouse.Query{Thread: "t"}), "input, node first, inner high, inner high/first, inner high/low, inner high/low/plan, wait high")
		waits := out.Checkpoint
		h.restart()
		for i, c := range []struct {
			from posthouse.ID
			o    graph.ForkOptions
			did  string
		}{
			{waits, graph.ForkOptions{}, "map[pay:1 plan:1]"},
			{waits, graph.ForkOptions{Thread: "other"}, "map[pay:1 plan:1]"},
			{h.inner("high/low/plan"), graph.ForkOptions{}, "map[pay:2 plan:1]"}, // pay was done after it
			{h.inner("high/first"), graph.ForkOptions{Thread: "third"}, "map[pay:3 plan:2]"},
		} {
			app := h.app(nested(did, graph.PerCall))
			f := must(app.Fork(h.Context(), c.from, nil, c.o))(h)
			on := graph.RunOptions{Branch: f.Branch}
			again := must(app.Resume(h.Context(), f.Thread, on))(h)
			if len(again.Waiting) != 1 || again.Waiting[0].ID == out.Waiting[0].ID {
				h.Fatalf("fork %d: %+v", i, again)
			}
			h.decide(again.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Reject})
			h.restart()
			end := must(h.app(nested(did, graph.PerCall)).Resume(h.Context(), f.Thread, on))(h)
			want(h, fmt.Sprint("log of fork ", i), end.State.Log, "[first high first low plan reject write]")
			want(h, fmt.Sprint("done by fork ", i), did, c.did)
		}
		h.decide(out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve})
		end := must(h.app(nested(did, graph.PerCall)).Resume(h.Context(), "t"))(h)
		want(h, "log", end.State.Log, "[first high first low plan approve write]")
		want(h, "done", did, "map[pay:3 plan:2]")
	})
}

// inner is the checkpoint of thread t that a node of a subgraph made.
func (h *house) inner(node string) (id posthouse.ID) {
	h.Helper()
	for c, err := range h.ledger.List(h.Context(), posthouse.Query{Thread: "t", Node: node}) {
		id = must(c, err)(h).ID
	}
	return id
}

// A subgraph's state lives as long as was asked for, and can be seen: by its path
// while it waits, and after its call if it lives with the thread.
func TestPain14SubgraphLifetimes(t *testing.T) {
	onStores(t, func(h *house) {
		for _, c := range []struct {
			life           graph.Lifetime
			waiting, after string // the log of the state at high/low
			did            string // in two calls: what an interrupted call does again, it says
			log            string // of the second call alone
		}{
			{graph.PerCall, "[plan]", "", "map[pay:2 plan:2]", "[first high first low plan approve write]"},
			{graph.PerThread, "[plan]", "[plan approve write]", "map[pay:2 plan:2]", "[first high first low plan approve write first low plan approve write plan approve write]"},
			{graph.Unkept, "", "", "map[pay:2 plan:4]", "[first high first low plan approve write]"},
		} {
			thread, did, calls := fmt.Sprint("t", c.life), map[string]int{}, 0
			seen := func(at posthouse.ID) string {
				s, err := graph.Within[state](h.Context(), h.ledger, at, "high/low")
				if s == nil {
					wantIs(h, err, posthouse.ErrNotFound)
					return ""
				}
				return fmt.Sprint(must(s, err)(h).Log)
			}
			for range 2 {
				before := 0
				if calls++; calls == 2 {
					before = len(must(h.app(nested(did, c.life)).State(h.Context(), thread))(h).State.Log)
				}
				out := must(h.app(nested(did, c.life)).Run(h.Context(), thread, state{}))(h)
				if len(out.Waiting) != 1 {
					h.Fatalf("output %+v", out)
				}
				if calls == 1 {
					want(h, thread+" waiting", seen(out.Checkpoint), c.waiting)
				}
				h.restart()
				h.decide(out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve})
				out = must(h.app(nested(did, c.life)).Resume(h.Context(), thread))(h)
				if calls == 1 {
					want(h, thread+" after", seen(out.Checkpoint), c.after)
				} else {
					want(h, thread+" log", out.State.Log[before:], c.log)
				}
			}
			want(h, thread+" done", did, c.did)
		}
	})
}
