package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/step"
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
			if n.Sub = drawGraph(t, n.Name+".", depth+1); n.Lifetime == graph.Unkept {
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
		if n.Before, n.After = false, false; n.Sub != nil {
			n.Sub.neverStops()
		}
	}
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

// A witness watches what really runs.
type witness struct {
	mu       sync.Mutex
	life     int             // of the process
	acked    map[string]bool // steps that are on record, by key
	ran      map[string]int  // in which life a step's function ran last
	done     map[string]int  // in which life an execution returned without an error
	attempts map[string]int
	events   int
	event    func(n int) // told of each node that begins
	wrong    []string
}

func newWitness() *witness {
	return &witness{acked: map[string]bool{}, ran: map[string]int{}, done: map[string]int{}, attempts: map[string]int{}, life: 1}
}

func (w *witness) blame(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// step is a recorded step that notices if it is done again.
func (w *witness) step(ctx context.Context, name string) error {
	var key string
	_, err := step.Do(ctx, name, func(ctx context.Context) (string, error) {
		key = step.Key(ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.acked[key]:
			w.blame("step %s is on record and was done again", key)
		case w.ran[key] == w.life:
			w.blame("step %s was done twice without a crash", key)
		}
		w.ran[key] = w.life
		return name, nil
	})
	if err == nil && key != "" {
		w.mu.Lock()
		w.acked[key] = true
		w.mu.Unlock()
	}
	return err
}

// begin counts an attempt of the execution whose context it is.
func (w *witness) begin(ctx context.Context) (key string, attempt int) {
	t, _ := engine.From(ctx)
	key = t.Session().Thread() + "~" + t.Session().Branch() + "/" + t.Key()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done[key] == w.life {
		w.blame("execution %s had completed and ran again", key)
	}
	w.attempts[key]++
	w.events++
	if w.event != nil {
		w.event(w.events)
	}
	return key, w.attempts[key]
}

func (w *witness) completed(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[key] = w.life
}

var errPlanned = errors.New("planned")

// body is what a node runs. An attempt that does not complete leaves a state
// that nobody must see. In an unkept subgraph it may run again.
func (n *nodePlan) body(w *witness, unkept bool) func(context.Context, *mixed, int) error {
	return func(ctx context.Context, s *mixed, input int) (err error) {
		key, attempt := w.begin(ctx)
		spoil := func() { n.work(s, 40, "spoilt") }
		defer func() {
			if err != nil {
				spoil()
			}
		}()
		fail := func() error {
			if n.Panics {
				spoil()
				panic(errPlanned)
			}
			return errPlanned
		}
		if attempt <= n.Fails && attempt%2 == 1 {
			return fail()
		}
		notes := ""
		for i := range max(n.Steps, 1) {
			if i < n.Steps {
				if err := w.step(ctx, fmt.Sprint("s", i)); err != nil {
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
		n.work(s, input, notes)
		if !unkept {
			w.completed(key)
		}
		return nil
	}
}

func (g *graphPlan) names(is []int) (names []string) {
	for _, i := range is {
		names = append(names, g.Nodes[i].Name)
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

func (g *graphPlan) sends(n *nodePlan) (all []graph.Send) {
	for _, i := range slices.Sorted(maps.Keys(n.Sends)) {
		for k := range n.Sends[i] {
			all = append(all, graph.Send{Node: g.Nodes[i].Name, Input: k + 1})
		}
	}
	return all
}

// build makes the graph of a plan, each node as its kind says.
func (g *graphPlan) build(name string, w *witness, unkept bool) *graph.Graph[mixed] {
	b := graph.New[mixed](name)
	graph.Merge(b, "Custom", custom)
	for _, n := range g.Nodes {
		g.add(b, n, w, unkept)
		if n.Handled {
			b.OnError(n.Name, func(ctx context.Context, s *mixed, _ error) (graph.Command, error) {
				if err := w.step(ctx, "h"); err != nil {
					return graph.Command{}, err
				}
				n.work(s, 0, n.notes())
				if n.Kind == nodeCommand {
					return graph.Command{Goto: g.leads(n, s), Send: g.sends(n)}, nil
				}
				return graph.Command{}, nil
			})
		}
		if n.Join != nil {
			b.Join(n.Name, g.names(n.Join)...)
		}
	}
	for _, i := range g.Start {
		b.Edge(graph.Start, g.Nodes[i].Name)
	}
	return b
}

func (g *graphPlan) add(b *graph.Graph[mixed], n *nodePlan, w *witness, unkept bool) {
	retry := graph.Retry{Max: n.Retry, Delay: -1}
	if n.Delay {
		retry.Delay = 1
	}
	o := graph.NodeOptions{Retry: retry, Defer: n.Defer, InterruptBefore: n.Before, InterruptAfter: n.After, Snapshots: n.Snap}
	body := n.body(w, unkept)
	switch n.Kind {
	case nodeCommand:
		b.Command(n.Name, func(ctx context.Context, s *mixed) (graph.Command, error) {
			if err := body(ctx, s, 0); err != nil {
				return graph.Command{}, err
			}
			return graph.Command{Goto: g.leads(n, s), Send: g.sends(n)}, nil
		}, o)
		return
	case nodeTask:
		graph.Task(b, n.Name, func(ctx context.Context, in int, out *mixed) error { return body(ctx, out, in) }, o)
	case nodeSub:
		o.Retry = graph.Retry{}
		graph.Subgraph(b, n.Name, n.Sub.build(n.Name+".sub", w, unkept || n.Lifetime == graph.Unkept), &graph.SubOptions[mixed, mixed]{
			In:  func(s *mixed) mixed { return subInput(s) },
			Out: func(s *mixed, in *mixed) error { subOutput(n.Name, s, in); return nil }, Lifetime: n.Lifetime, Node: o,
		})
	default:
		b.Node(n.Name, func(ctx context.Context, s *mixed) error { return body(ctx, s, 0) }, o)
	}
	if n.Loops == 0 {
		for _, name := range g.leads(n, &mixed{}) {
			b.Edge(n.Name, name)
		}
	} else {
		b.Routes(n.Name, func(s *mixed) []string { return g.leads(n, s) })
	}
	if n.Sends != nil {
		b.Map(n.Name, func(*mixed) []graph.Send { return g.sends(n) })
	}
}
