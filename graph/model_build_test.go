package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
)

// GoString makes a failure readable.
func (g *graphPlan) GoString() string {
	b, _ := json.Marshal(g)
	return string(b)
}

func genGraph(name string, depth int) *rapid.Generator[*graphPlan] {
	return rapid.Custom(func(t *rapid.T) *graphPlan { return drawGraph(t, name, depth) })
}

func drawGraph(t *rapid.T, name string, depth int) *graphPlan {
	g := &graphPlan{}
	size := rapid.IntRange(1, 6-2*depth).Draw(t, name+"size")
	chance := func(label string, of int) bool { return rapid.IntRange(1, of).Draw(t, name+label) == of }
	for i := range size {
		n := &nodePlan{
			Name: fmt.Sprintf("%c%d", 'a'+depth, i), Writes: uint(rapid.IntRange(0, 1<<13-1).Draw(t, name+"writes")),
			N: rapid.IntRange(0, 49).Draw(t, name+"n"), Steps: rapid.IntRange(0, 2).Draw(t, name+"steps"), Ask: chance("asks", 4),
			Before: chance("before", 12), After: chance("after", 12), Snap: graph.Snapshots(rapid.IntRange(0, 4).Draw(t, name+"snap")),
		}
		switch k := rapid.IntRange(0, 9).Draw(t, name+"kind"); {
		case k == 9 && depth < 2:
			n.Kind, n.Lifetime = nodeSub, graph.Lifetime(rapid.IntRange(0, 2).Draw(t, name+"lifetime"))
			n.Own = n.Lifetime != graph.Unkept && chance("own", 2)
			n.Sub = drawGraph(t, n.Name+".", depth+1)
			if n.Lifetime == graph.Unkept {
				n.Sub.neverStops()
			}
		case k >= 7 && i > 0:
			n.Kind = nodeTask
		case k >= 5:
			n.Kind = nodeCommand
		}
		if n.Kind != nodeSub {
			if chance("fails", 3) {
				n.Fails, n.Panics, n.Retry = rapid.IntRange(1, 3).Draw(t, name+"times"), chance("panics", 4), rapid.IntRange(0, 3).Draw(t, name+"retry")
				n.Delay = chance("delay", 3)
				if n.Delay {
					n.Jitter = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, name+"jitter")
					n.Backoff = posthouse.Backoff(rapid.IntRange(0, 2).Draw(t, name+"backoff"))
				}
			}
			if chance("handled", 8) {
				n.Handled, n.Ask, n.Fails = true, false, 1<<20
			}
		}
		if n.Kind != nodeTask && i > 0 {
			n.Defer = chance("defer", 8)
			if !n.Defer && i > 1 && chance("join", 5) {
				n.Join = distinct(t, name+"sources", i, 2)
			}
		}
		if (n.Kind == nodePlain || n.Kind == nodeCommand) && chance("loops", 4) {
			back := slices.DeleteFunc(seq(i+1), func(b int) bool { return b < i && g.Nodes[b].Kind == nodeTask })
			n.Loops, n.Back = rapid.IntRange(1, 2).Draw(t, name+"loop"), rapid.SampledFrom(back).Draw(t, name+"back")
		}
		g.Nodes = append(g.Nodes, n)
		lead := func(from int) {
			switch p := g.Nodes[from]; {
			case n.Kind != nodeTask:
				if !slices.Contains(p.To, i) {
					p.To = append(p.To, i)
				}
			default:
				if p.Sends == nil {
					p.Sends = map[int]int{}
				}
				p.Sends[i] = rapid.IntRange(1, 4).Draw(t, name+"sends")
			}
		}
		switch {
		case n.Join != nil:
		case i == 0:
			g.Start = append(g.Start, i)
		default:
			for _, from := range distinct(t, name+"from", i, rapid.IntRange(1, min(2, i)).Draw(t, name+"ways")) {
				lead(from)
			}
		}
	}
	return g
}

// neverStops takes the static interrupts out.
func (g *graphPlan) neverStops() {
	for _, n := range g.Nodes {
		n.Before, n.After = false, false
		if n.Sub != nil {
			n.Sub.neverStops()
		}
	}
}

// has reports whether any node, at any depth, is so.
func (g *graphPlan) has(so func(*nodePlan) bool) bool {
	return slices.ContainsFunc(g.Nodes, func(n *nodePlan) bool { return so(n) || n.Sub != nil && n.Sub.has(so) })
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// distinct draws k of the first n numbers.
func distinct(t *rapid.T, label string, n, k int) []int {
	return rapid.Permutation(seq(n)).Draw(t, label)[:k]
}

var errPlanned = errors.New("planned")

// planned is a failure that names its node: a handler is told nothing else.
func planned(name string) error { return fmt.Errorf("%w for [%s]", errPlanned, name) }

// failedAs returns the node that failed, also from a recorded failure.
func failedAs(err error) string {
	_, name, _ := strings.Cut(err.Error(), "[")
	name, _, _ = strings.Cut(name, "]")
	return name
}

// body is the function of a node. An attempt that does not complete leaves a
// state that must stay invisible. In an unkept subgraph it may run again.
func (n *nodePlan) body(w *witness, unkept bool) func(context.Context, *mixed, sent) error {
	return func(ctx context.Context, s *mixed, in sent) (err error) {
		name := n.name(s)
		if in.N > 0 {
			name = in.name(n)
		}
		attempt := w.begin(ctx, name)
		spoil := func() { n.work(s, 40, "spoilt", "spoilt") }
		defer func() {
			if err != nil {
				spoil()
			}
		}()
		fail := func() error {
			if n.Panics {
				spoil()
				panic(planned(name))
			}
			return planned(name)
		}
		if attempt <= n.Fails && attempt%2 == 1 {
			return fail()
		}
		notes := ""
		for i := range max(n.Steps, 1) {
			if i < n.Steps {
				if err := w.step(ctx, name, fmt.Sprint("s", i)); err != nil {
					return err
				}
				notes += fmt.Sprint("s", i)
			}
			if i == 0 && n.Ask {
				a, err := gate.Ask[any](ctx, gate.Question{Name: "ok"})
				if err != nil {
					return err
				}
				if !a.Approved() {
					return fmt.Errorf("the answer was %s", a.Verdict)
				}
				notes += "?"
			}
		}
		if attempt <= n.Fails {
			return fail()
		}
		n.work(s, in.N, notes, name)
		if !unkept && !n.nameless() {
			w.completed(ctx, name)
		}
		return nil
	}
}

func (g *graphPlan) names(is []int) (names []string) {
	for _, i := range is {
		names = append(names, g.Nodes[i].called())
	}
	return names
}

// leads returns where a node leads by name.
func (g *graphPlan) leads(n *nodePlan, s *mixed) []string {
	if n.loops(s) {
		return g.names([]int{n.Back})
	}
	if len(n.To) == 0 {
		return []string{graph.End}
	}
	return g.names(n.To)
}

// sends returns what a node sends, having left a state.
func (g *graphPlan) sends(n *nodePlan, s *mixed) (all []graph.Send) {
	for _, i := range slices.Sorted(maps.Keys(n.Sends)) {
		for k := range n.Sends[i] {
			all = append(all, graph.Send{Node: g.Nodes[i].called(), Input: sent{k + 1, n.sender(s)}})
		}
	}
	return all
}

// called is the name of the node in this version of the graph.
func (n *nodePlan) called() string {
	if n.Renamed {
		return n.Name + "r"
	}
	return n.Name
}

// build makes the graph of a plan, each node as its kind says.
func (g *graphPlan) build(name string, w *witness, unkept bool) *graph.Graph[mixed] {
	b := graph.New[mixed](name)
	graph.Merge(b, "Custom", custom)
	for _, n := range g.Nodes {
		g.add(b, n, w, unkept)
		if n.Handled {
			b.OnError(n.called(), func(ctx context.Context, s *mixed, cause error) (graph.Command, error) {
				name := failedAs(cause)
				if err := w.step(ctx, name, "h"); err != nil {
					return graph.Command{}, err
				}
				n.work(s, 0, n.notes(), name)
				if n.Kind == nodeCommand {
					return graph.Command{Goto: g.leads(n, s), Send: g.sends(n, s)}, nil
				}
				return graph.Command{}, nil
			})
		}
		if n.Join != nil {
			b.Join(n.called(), g.names(n.Join)...)
		}
	}
	for _, i := range g.Start {
		b.Edge(graph.Start, g.Nodes[i].called())
	}
	return b
}

func (g *graphPlan) add(b *graph.Graph[mixed], n *nodePlan, w *witness, unkept bool) {
	retry := posthouse.RetryPolicy{MaxAttempts: n.Retry + 1, InitialDelay: -1, Jitter: n.Jitter, Backoff: n.Backoff}
	if n.Delay {
		retry.InitialDelay = 1
		if n.Jitter > 0 {
			retry.InitialDelay = 5 * time.Millisecond
		}
	}
	o := graph.NodeOptions{Retry: retry, Defer: n.Defer, InterruptBefore: n.Before, InterruptAfter: n.After, Snapshots: n.Snap}
	body := n.body(w, unkept)
	switch n.Kind {
	case nodeCommand:
		b.Command(n.called(), func(ctx context.Context, s *mixed) (graph.Command, error) {
			if err := body(ctx, s, sent{}); err != nil {
				return graph.Command{}, err
			}
			return graph.Command{Goto: g.leads(n, s), Send: g.sends(n, s)}, nil
		}, o)
		return
	case nodeTask:
		graph.Task(b, n.called(), func(ctx context.Context, in sent, out *mixed) error { return body(ctx, out, in) }, o)
	case nodeSub:
		o.Retry = posthouse.RetryPolicy{}
		graph.Subgraph(b, n.called(), n.Sub.build(n.Name+".sub", w, unkept || n.Lifetime == graph.Unkept), &graph.SubOptions[mixed, mixed]{
			In:  func(s *mixed) mixed { return n.subInput(s) },
			Out: func(s *mixed, in *mixed) error { n.subOutput(s, in); return nil }, Lifetime: n.Lifetime, OwnThread: n.Own, Node: o,
		})
	default:
		b.Node(n.called(), func(ctx context.Context, s *mixed) error { return body(ctx, s, sent{}) }, o)
	}
	if n.Loops == 0 {
		for _, name := range g.leads(n, &mixed{}) {
			b.Edge(n.called(), name)
		}
	} else {
		b.Routes(n.called(), func(s *mixed) []string { return g.leads(n, s) })
	}
	if n.Sends != nil {
		b.Map(n.called(), func(s *mixed) []graph.Send { return g.sends(n, s) })
	}
}
