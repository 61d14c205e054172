package pains_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
)

// count is a recorded step that counts how often it is done.
func count(ctx context.Context, name string, did map[string]int) error {
	_, err := step.Do(ctx, name, func(context.Context) (int, error) { did[name]++; return did[name], nil })
	return err
}

// A node that asks is executed again for each answer; its steps are not, on
// whichever side of the questions they stand.
func TestPain04StepsBeforeAnInterruptRunOnce(t *testing.T) {
	onStores(t, func(h *house) {
		did, bodies := map[string]int{}, 0
		g := line("refund", node{name: "n", run: func(ctx context.Context, s *state) error {
			bodies++
			for _, name := range []string{"one", "two"} {
				if err := count(ctx, "pay "+name, did); err != nil {
					return err
				}
				a, err := gate.Ask[any](ctx, gate.Question{Name: name})
				if err != nil {
					return err
				}
				s.Log = append(s.Log, string(a.Verdict))
			}
			return count(ctx, "close", did)
		}})
		out := must(h.app(g).Run(h.Context(), "t", state{}))(h)
		for _, v := range []posthouse.Verdict{posthouse.Approve, posthouse.Reject} {
			h.restart()
			h.decide(out.Waiting[0].ID, posthouse.Decision{Verdict: v})
			out = must(h.app(g).Resume(h.Context(), "t"))(h)
		}
		want(h, "log", out.State.Log, "[approve reject]")
		want(h, "done", did, "map[close:1 pay one:1 pay two:1]")
		want(h, "executions of the body", bodies, "3")
	})
}

// Two questions of one name in one node are two gates. They are answered in any
// order, by id; null is an answer, and the second answer to a gate is refused.
func TestPain05EachInterruptHasItsOwnID(t *testing.T) {
	onStores(t, func(h *house) {
		g := line("form", node{name: "n", run: func(ctx context.Context, s *state) error {
			a, errA := gate.Ask[*string](ctx, gate.Question{Name: "q", Schema: []byte(`{"type":["string","null"]}`)})
			b, errB := gate.Ask[*string](ctx, gate.Question{Name: "q", Schema: []byte(`{"type":["string","null"]}`)})
			if err := errors.Join(errA, errB); err != nil {
				return err
			}
			s.Log = append(s.Log, fmt.Sprintf("%s %v", a.Raw, a.Value == nil), *b.Value)
			return nil
		}})
		out := must(h.app(g).Run(h.Context(), "t", state{}))(h)
		if len(out.Waiting) != 2 || out.Waiting[0].ID == out.Waiting[1].ID || out.Waiting[0].Occurrence == out.Waiting[1].Occurrence {
			h.Fatalf("out.Waiting %+v", out.Waiting)
		}
		first, second := out.Waiting[0].ID, out.Waiting[1].ID
		h.restart()
		h.decide(second, posthouse.Decision{Verdict: posthouse.Respond, Value: []byte(`"two"`)})
		out = must(h.app(g).Resume(h.Context(), "t"))(h)
		if len(out.Waiting) != 1 || out.Waiting[0].ID != first {
			h.Fatalf("out.Waiting %+v", out.Waiting)
		}
		h.decide(first, posthouse.Decision{Verdict: posthouse.Respond, Value: []byte(`null`)})
		_, err := h.ledger.Decide(h.Context(), first, posthouse.Decision{Verdict: posthouse.Respond, Value: []byte(`"late"`), By: "bob"})
		wantIs(h, err, posthouse.ErrDecided)
		h.restart()
		out = must(h.app(g).Resume(h.Context(), "t"))(h)
		want(h, "log", fmt.Sprintf("%q", out.State.Log), `["null true" "two"]`)
	})
}

// A thread with a slow node holds up no other.
func TestPain06OneThreadDoesNotHoldUpAnother(t *testing.T) {
	onStores(t, func(h *house) {
		started, release := make(chan struct{}), make(chan struct{})
		slow := h.app(line("slow", node{name: "n", run: say("n")}, node{name: "m", run: func(ctx context.Context, s *state) error {
			_, err := step.Do(ctx, "call", func(context.Context) (int, error) { close(started); <-release; return 1, nil })
			return err
		}}))
		ended := make(chan error)
		go func() { _, err := slow.Run(h.Context(), "slow", state{}); ended <- err }()
		<-started
		out, err := h.app(line("fast", node{name: "n", run: say("n")})).Run(h.Context(), "fast", state{})
		close(release)
		want(h, "log", must(out, err)(h).State.Log, "[n]")
		must(0, <-ended)(h)
	})
}

// A dying store dies at an append, before it or after it.
type dying struct {
	posthouse.Store
	at     int
	behind bool
}

func (d *dying) Append(ctx context.Context, b *posthouse.Batch) error {
	dead := &posthouse.Error{Code: posthouse.CodeFull, Message: "dead"}
	switch d.at--; {
	case d.at < 0, d.at == 0 && !d.behind:
		return dead
	case d.at == 0:
		if err := d.Store.Append(ctx, b); err != nil {
			return err
		}
		return dead
	}
	return d.Store.Append(ctx, b)
}

// Whatever append a process dies at: what was on record is not done again, be it
// a step, a completed node, the failure that an error handler was called for,
// or the handler's own step; and the thread comes to the same end.
func TestPain07RecordedWorkIsNotDoneAgain(t *testing.T) {
	const appends = 6 // the input, pay, a, the failure of b, refund, b
	onStores(t, func(h *house) {
		for at := 1; at <= 2*appends; at++ {
			did, thread, behind := map[string]int{}, fmt.Sprint("t", at), at > appends
			g := line("crash",
				node{name: "a", run: func(ctx context.Context, s *state) error { did["a"]++; return count(ctx, "pay", did) }},
				node{name: "b", run: func(context.Context, *state) error { did["b"]++; return errBoom }})
			g.OnError("b", func(ctx context.Context, s *state, err error) (graph.Command, error) {
				s.Log = append(s.Log, "handled")
				return graph.Command{}, count(ctx, "refund", did)
			})
			l := h.open(&dying{Store: h.store, at: (at-1)%appends + 1, behind: behind}, "me")
			if _, err := must(g.Compile(l, nil))(h).Run(h.Context(), thread, state{}); err == nil {
				h.Fatalf("append %d did not fail", at)
			}
			l.Close()
			h.restart()
			out, err := h.app(g).Resume(h.Context(), thread)
			if at == 1 {
				wantIs(h, err, posthouse.ErrNotFound)
				continue
			}
			want(h, "log", must(out, err)(h).State.Log, "[handled]")
			// Only what the lost append was to record is done again.
			again := map[int]string{2: "a:2 b:1 pay:2 refund:1", 3: "a:2 b:1 pay:1 refund:1", 4: "a:1 b:2 pay:1 refund:1", 5: "a:1 b:1 pay:1 refund:2"}
			wanted := "a:1 b:1 pay:1 refund:1"
			if s, ok := again[at]; ok {
				wanted = s
			}
			if at == appends+2 {
				wanted = "a:2 b:1 pay:1 refund:1" // the step is on record, its node is not
			}
			want(h, fmt.Sprintf("dying at append %d, behind %v", at, behind), did, "map["+wanted+"]")
		}
	})
}

// Cancelling is on record whatever the run's durability, and so is what had
// completed before.
func TestPain07CancelIsOnRecordInEveryMode(t *testing.T) {
	onStores(t, func(h *house) {
		for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
			for _, p := range []graph.Snapshots{graph.SnapshotAfter, graph.SnapshotNone} {
				for _, inside := range []bool{false, true} {
					thread := fmt.Sprintf("t%d.%d.%v", d, p, inside)
					g := line("cancel", node{name: "a", run: say("a")}, node{name: "b", run: say("b")}, node{name: "c", run: func(ctx context.Context, s *state) error {
						s.Log = append(s.Log, "half done")
						if _, err := h.ledger.Cancel(ctx, thread, nil); err != nil {
							return err
						}
						<-ctx.Done()
						return ctx.Err()
					}}, node{name: "d", run: say("d")})
					if inside {
						g = around("around", g)
					}
					app := h.app(g, graph.CompileOptions{Snapshots: p})
					out := must(app.Run(h.Context(), thread, state{}, graph.RunOptions{Durability: d}))(h)
					h.restart()
					s := must(h.app(g).State(h.Context(), thread))(h)
					want(h, thread, []any{out.Status, s.Status}, "[cancelled cancelled]")
					log := s.State.Log
					if inside {
						want(h, thread, log, "[before]")
						log = must(graph.Within[state](h.Context(), h.ledger, s.ID, "sub"))(h).Log
					}
					want(h, thread, log, "[a b]")
				}
			}
		}
	})
}

// around is a graph that calls another after a node of its own.
func around(name string, sub *graph.Graph[state]) *graph.Graph[state] {
	g := graph.New[state](name)
	g.Node("before", say("before"))
	graph.Subgraph(g, "sub", sub, &graph.SubOptions[state, state]{})
	g.Edge(graph.Start, "before")
	g.Edge("before", "sub")
	g.Edge("sub", graph.End)
	return g
}

// A request of another process is noticed with what is written next: the run
// stops there, and what completed until then is on record.
func TestPain07CancelFromElsewhereLosesNothing(t *testing.T) {
	h := newHouse(t, "") // a file has one process
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		for _, p := range []graph.Snapshots{graph.SnapshotAfter, graph.SnapshotNone} {
			thread := fmt.Sprintf("t%d.%d", d, p)
			other := h.open(h.store, "another")
			g := line("cancel", node{name: "a", run: say("a")}, node{name: "b", run: func(ctx context.Context, s *state) error {
				_, err := other.Cancel(ctx, thread, nil)
				s.Log = append(s.Log, "b")
				return err
			}}, node{name: "c", run: say("c")})
			app := h.app(g, graph.CompileOptions{Snapshots: p})
			out := must(app.Run(h.Context(), thread, state{}, graph.RunOptions{Durability: d}))(h)
			want(h, thread, out.Status, "cancelled")
			log := must(app.State(h.Context(), thread))(h).State.Log
			if d == graph.Async && p == graph.SnapshotAfter && len(log) == 1 {
				want(h, thread, log, "[a]") // a was written before it, b after it: as in Sync
				other.Close()
				continue
			}
			wanted := "[a b]" // c would have been the end, which came second
			if d == graph.Sync && p == graph.SnapshotAfter {
				wanted = "[a]" // b was to be on record then, and came second
			}
			want(h, thread, log, wanted)
			other.Close()
		}
	}
}
