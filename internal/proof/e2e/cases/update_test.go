package cases_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/step"
)

// payments counts what was paid, by name, and the keys it was paid under.
type payments struct {
	sync.Mutex
	n    map[string]int
	keys map[string]bool
}

func (p *payments) pay(ctx context.Context, name string) error {
	_, err := step.DoWith(ctx, "pay", step.Options{Effect: posthouse.EffectExternal}, func(ctx context.Context) (string, error) {
		p.Lock()
		defer p.Unlock()
		if p.n == nil {
			p.n, p.keys = map[string]int{}, map[string]bool{}
		}
		p.n[name]++
		p.keys[step.Key(ctx)] = true
		return "", nil
	})
	return err
}

// TestUpdateWhileTasksAsk: a field is corrected while tasks that have paid ask, alone and
// beside one that completed. Nothing is paid again, and an answer that was given counts.
func TestUpdateWhileTasksAsk(t *testing.T) {
	for _, done := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "beside one that completed"}[done], func(t *testing.T) {
			onStores(t, func(h *house) {
				var p payments
				g := graph.New[order]("g")
				for _, n := range []string{"a", "b"} {
					g.Node(n, func(ctx context.Context, s *order) error {
						if err := p.pay(ctx, n); err != nil {
							return err
						}
						_, err := gate.Ask[any](ctx, gate.Question{Name: "ship " + n})
						return err
					})
					g.Edge(graph.Start, n)
					g.Edge(n, graph.End)
				}
				if done {
					g.Node("c", func(context.Context, *order) error { return nil })
					g.Edge(graph.Start, "c")
					g.Edge("c", graph.End)
				}
				ctx := h.Context()
				must.Get(must.Get(g.Compile(h.led, nil))(h).Run(ctx, "t", order{}))(h)
				h.approve(h.people()[0].ID) // "ship a"
				must.Get(must.Get(g.Compile(h.led, nil))(h).Update(ctx, "t", func(s *order) { s.Memo = "a typo, corrected" }))(h)
				h.restart()
				o := must.Get(must.Get(g.Compile(h.led, nil))(h).Resume(ctx, "t"))(h)
				h.want("payments", p.n, "map[a:1 b:1]")
				h.want("keys", len(p.keys), 2)
				h.want("still asked", len(o.Waiting), 1)
			})
		})
	}
}

// TestUpdateAfterATaskFailed: one of several tasks paid and failed; the state is put right.
func TestUpdateAfterATaskFailed(t *testing.T) {
	for _, n := range []int{1, 5} {
		t.Run(fmt.Sprint(n, " tasks"), func(t *testing.T) {
			onStores(t, func(h *house) {
				var p payments
				bad := true
				g := graph.New[order]("g")
				g.Node("plan", func(context.Context, *order) error { return nil })
				graph.Task(g, "transfer", func(ctx context.Context, i int, out *order) error {
					if err := p.pay(ctx, fmt.Sprint(i)); err != nil {
						return err
					}
					if bad && i == 0 {
						return errors.New("cannot book it")
					}
					out.Log = []string{fmt.Sprint(i)}
					return nil
				})
				g.Map("plan", func(*order) (sends []graph.Send) {
					for i := range n {
						sends = append(sends, graph.Send{Node: "transfer", Input: i})
					}
					return sends
				}, "transfer")
				g.Edge(graph.Start, "plan")
				g.Edge("transfer", graph.End)
				ctx := h.Context()
				if _, err := must.Get(g.Compile(h.led, nil))(h).Run(ctx, "t", order{}); err == nil {
					h.Fatal("it must fail")
				}
				must.Get(must.Get(g.Compile(h.led, nil))(h).Update(ctx, "t", func(s *order) { s.Memo = "the account was missing" }))(h)
				bad = false
				h.restart()
				o := must.Get(must.Get(g.Compile(h.led, nil))(h).Resume(ctx, "t"))(h)
				h.want("status", o.Status, posthouse.StatusDone)
				h.want("payments of 0", p.n["0"], 1)
			})
		})
	}
}

// TestUpdateBesideACalledThread: the subgraph's thread goes on, beside a node that completed.
func TestUpdateBesideACalledThread(t *testing.T) {
	onStores(t, func(h *house) {
		var p payments
		in := graph.New[order]("order")
		in.Node("pay", func(ctx context.Context, _ *order) error { return p.pay(ctx, "order") })
		in.Node("ask", func(ctx context.Context, _ *order) error {
			_, err := gate.Ask[any](ctx, gate.Question{Name: "ship"})
			return err
		})
		in.Edge(graph.Start, "pay")
		in.Edge("pay", "ask")
		in.Edge("ask", graph.End)
		g := graph.New[order]("g")
		graph.Subgraph(g, "order", in, &graph.SubOptions[order, order]{
			In: func(*order) order { return order{} }, Out: func(*order, *order) error { return nil }, OwnThread: true,
		})
		g.Node("note", func(context.Context, *order) error { return nil })
		for _, n := range []string{"order", "note"} {
			g.Edge(graph.Start, n)
			g.Edge(n, graph.End)
		}
		ctx := h.Context()
		must.Get(must.Get(g.Compile(h.led, nil))(h).Run(ctx, "t", order{}))(h)
		must.Get(must.Get(g.Compile(h.led, nil))(h).Update(ctx, "t", func(s *order) { s.Memo = "a typo, corrected" }))(h)
		h.restart()
		must.Get(must.Get(g.Compile(h.led, nil))(h).Resume(ctx, "t"))(h)
		h.want("payments", p.n, "map[order:1]")
	})
}
