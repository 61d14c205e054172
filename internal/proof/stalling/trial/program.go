package trial

import (
	"context"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
)

// parts are what a program does, in order. The effect needs an approval.
var parts = []string{"first", effect, "second", "third"}

const effect = "pay"

// A witness notes what a case executed, outside of the store.
type witness struct {
	mu    sync.Mutex
	did   []deed
	cutAt string
	cut   func()                // stalls the connection of the process that is cut off; called once
	note  func(part, by string) // if set, called in place of all that
}

// A deed is one execution of a part.
type deed struct{ part, by string }

// do notes an execution. In the process that is to be cut off it stalls the connection.
func (w *witness) do(part, by string) {
	if w.note != nil {
		w.note(part, by)
		return
	}
	w.mu.Lock()
	w.did = append(w.did, deed{part, by})
	cut := w.cut
	if by != cutOff || part != w.cutAt {
		cut = nil
	} else {
		w.cut = nil
	}
	w.mu.Unlock()
	if cut != nil {
		cut()
	}
}

// count returns how often a part was executed by a process, "" for any.
func (w *witness) count(part, by string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.did {
		if (part == "" || d.part == part) && (by == "" || d.by == by) {
			n++
		}
	}
	return n
}

// A program is one that a process has open.
type program struct {
	begin, resume func(ctx context.Context, thread string) (posthouse.Status, error)
}

// of returns the witness of a thread.
type of func(thread string) *witness

// models open a program over a process' ledger.
var models = map[string]func(l *ledger.Ledger, by string, w of) (*program, error){
	"flow": flowProgram, "graph": graphProgram, "coordinator": coordProgram,
}

func modelNames() []string { return []string{"flow", "graph", "coordinator"} }

// act runs a part: the effect under its approval, the others as steps.
func act(ctx context.Context, part, thread, by string, w of) error {
	if part != effect {
		_, err := step.Do(ctx, part, func(context.Context) (string, error) { w(thread).do(part, by); return "done", nil })
		return err
	}
	grant, err := gate.Propose(ctx, gate.Question{Name: effect, Text: "Pay?"}, thread)
	if err != nil {
		return err
	}
	_, err = gate.Act(ctx, effect, grant, func(_ context.Context, to string) (string, error) { w(to).do(effect, by); return "paid", nil })
	return err
}

func flowProgram(l *ledger.Ledger, by string, w of) (*program, error) {
	a, err := flow.New("stalled", func(ctx context.Context, thread string) (string, error) {
		for _, part := range parts {
			if err := act(ctx, part, thread, by, w); err != nil {
				return "", err
			}
		}
		return "done", nil
	}).Open(l, nil)
	if err != nil {
		return nil, err
	}
	status := func(r *flow.Result[string], err error) (posthouse.Status, error) {
		if err != nil {
			return "", err
		}
		return r.Status, nil
	}
	return &program{
		begin:  func(ctx context.Context, t string) (posthouse.Status, error) { return status(a.Run(ctx, t, t)) },
		resume: func(ctx context.Context, t string) (posthouse.Status, error) { return status(a.Resume(ctx, t)) },
	}, nil
}

// An order is the state of the graph.
type order struct{ Thread string }

func graphProgram(l *ledger.Ledger, by string, w of) (*program, error) {
	g := graph.New[order]("stalled-graph")
	before := graph.Start
	for _, part := range parts {
		g.Node(part, func(ctx context.Context, s *order) error { return act(ctx, part, s.Thread, by, w) })
		g.Edge(before, part)
		before = part
	}
	g.Edge(before, graph.End)
	a, err := g.Compile(l, nil)
	if err != nil {
		return nil, err
	}
	status := func(r *graph.Result[order], err error) (posthouse.Status, error) {
		if err != nil {
			return "", err
		}
		return r.Status, nil
	}
	return &program{
		begin:  func(ctx context.Context, t string) (posthouse.Status, error) { return status(a.Run(ctx, t, order{t})) },
		resume: func(ctx context.Context, t string) (posthouse.Status, error) { return status(a.Resume(ctx, t)) },
	}, nil
}

func coordProgram(l *ledger.Ledger, by string, w of) (*program, error) {
	var agents []coord.Agent
	for _, part := range parts {
		agents = append(agents, coord.Agent{Name: part, Skills: map[string]coord.Skill{"do": func(ctx context.Context, c coord.Call) (coord.Result, error) {
			var thread string
			if err := c.Bind(&thread); err != nil {
				return coord.Result{}, err
			}
			return coord.Result{Text: part}, act(ctx, part, thread, by, w)
		}}})
	}
	fleet, err := coord.NewFleet(agents...)
	if err != nil {
		return nil, err
	}
	c, err := coord.New(l, "stalled-coordinator", fleet, func(ctx context.Context, thread string, f *coord.Fleet, _ *coord.Session) error {
		for _, part := range slices.Clone(parts) {
			if _, err := f.Agent(part).Call(ctx, "do", thread); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	status := func(r *coord.Reply, err error) (posthouse.Status, error) {
		if err != nil {
			return "", err
		}
		return r.Status, nil
	}
	return &program{
		begin: func(ctx context.Context, t string) (posthouse.Status, error) {
			return status(c.Handle(ctx, t, &coord.HandleOptions{Thread: t}))
		},
		resume: func(ctx context.Context, t string) (posthouse.Status, error) { return status(c.Resume(ctx, t, nil)) },
	}, nil
}
