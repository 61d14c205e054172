package grants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
)

// A way is how the function of an effect does it.
type way int

const (
	inPlace way = iota
	byWorker
	thenSleep
	thenSignal
	thenAsk
	afterAsk
	afterSleep
	byWorkerThenSleep
	inHandler // a worker's handler proposes it, and makes it
	ways
	afterPart // in place, after a step of it that is on record
)

// A deal of a random program: how one payment is proposed and made.
type deal struct {
	name       string
	way        way
	asks       bool // its approval is an answer of gate.Ask, which licenses nothing
	signalled  bool // a signal says whom to pay
	idempotent bool
	again      bool // in a loop: the same content twice
	beside     bool // in a goroutine, or a parallel branch
	split      bool // of a graph: proposed in one node, made in the next
	asNode     bool // and made by a node that a worker handles
	within     int  // of a graph: 0 in a node, 1 in a subgraph, 2 in one with a thread of its own
	spare      bool // it is made where another one fails
	rescue     bool // of a graph: where it fails, another payment is made in its place
	retries    int  // of its node
	attempts   int  // of its task
	validFor   time.Duration
	open       bool // anybody may decide
	quorum     bool // two people from 200 on
	uses       int
	escalates  bool // the substitute comes in
	mapped     bool // it is made for each of two items
	selected   bool // the approval is one of two cases, the other is a deadline
	sibling    bool // something else fails beside it, now and then
	slow       bool // it takes a second
	timeout    bool // of a graph: its node has half a second
}

// varies draws what later versions of this test have added.
func (d *deal) varies(rnd *rand.Rand, s *spec) {
	if s.bad >= tooEarly {
		return
	}
	d.mapped = rnd.IntN(5) == 0 && !d.split && !d.signalled && d.within == 0 && s.arm != confirmed
	d.selected = rnd.IntN(5) == 0 && !d.mapped && !d.split && !d.asks
	d.sibling = rnd.IntN(5) == 0 && s.arm != confirmed
	d.slow = rnd.IntN(4) == 0
	d.timeout = d.slow && rnd.IntN(2) == 0
	if d.way == inPlace && rnd.IntN(2) == 0 {
		d.way = afterPart
	}
}

// An order is the input of a program, what it pays for, and a graph's state.
type order struct {
	To     string                `json:"to"`
	Amount int                   `json:"amount"`
	By     []string              `json:"by"` // everybody who had a hand in it
	Grants map[string]gate.Grant `json:"grants,omitempty"`
	Round  int                   `json:"round"`
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return canonical(data)
}

// assigned are those who decide about a payment; nil is anybody.
func (d *deal) people(c *payment) []string {
	switch {
	case d.open:
		return nil
	case c.Amount <= 100:
		return []string{"ann", "bob", "cid", "dan", "eve"}
	}
	return []string{"dan", "eve", "fay", "gil", "hal"}
}

// need is how many have to approve a payment.
func (d *deal) need(c *payment) int {
	if d.quorum && c.Amount > 200 {
		return 2
	}
	return 1
}

func (w *world) question(d *deal, c payment) gate.Question {
	q := gate.Question{
		Name: "ask-" + d.name, Text: fmt.Sprintf("Pay %d to %s?", c.Amount, c.To), Assignees: d.people(&c), ValidFor: d.validFor, Uses: d.uses,
		AllowRequester: w.witness.arm == requesters && d.way != inHandler,
	}
	if d.escalates && !d.open {
		q.Escalate = &gate.Escalation{After: patience, To: []string{substitute}}
	}
	if d.need(&c) > 1 {
		q.Quorum = &posthouse.Quorum{Need: 2}
	}
	return q
}

// note is a plain step: its result is on record before the program goes on.
func (p *process) note(ctx context.Context, name string) error {
	key := ""
	got, err := step.DoWith(ctx, name, step.Options{Effect: posthouse.EffectRead}, func(ctx context.Context) (string, error) {
		key = step.Key(ctx)
		p.w.witness.note(key, p.name, p.number)
		return key, nil
	})
	if err == nil && key == got { // it is this branch's own
		p.w.witness.given(got)
	}
	return err
}

// make makes a deal's payments. Part 1 proposes, part 2 makes, 0 is both.
func (p *process) make(ctx context.Context, d *deal, o *order, part int) error {
	if d.mapped && d.way != inHandler {
		_, err := step.Map(ctx, "items", []int{0, 1}, func(ctx context.Context, i int) (string, error) {
			p.w.witness.tally("items of maps")
			of := *o
			of.Amount += i
			return "", p.once(ctx, d, &of, part)
		})
		return err
	}
	times := 1
	if d.again && !d.split {
		times = 2
	}
	for range times {
		if err := p.once(ctx, d, o, part); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) once(ctx context.Context, d *deal, o *order, part int) error {
	c := payment{To: o.To, Amount: o.Amount, Deal: d.name, By: slices.Clone(o.By)}
	grant := o.Grants[d.name]
	if part != 2 {
		if err := p.note(ctx, "before-"+d.name); err != nil {
			return err
		}
		if d.signalled {
			said, err := step.Signal[order](ctx, "payee", step.SignalOptions{Timeout: 10 * time.Minute})
			switch {
			case err == nil:
				c.To, c.By = said.To, append(c.By, said.By...)
			case !errors.Is(err, posthouse.ErrExpired):
				return err
			}
		}
		if d.way == inHandler {
			return p.handOut(ctx, d, c)
		}
		var err error
		grant, err = p.approval(ctx, d, c)
		if err != nil || part == 1 {
			if errors.Is(err, posthouse.ErrForbidden) {
				grant, err = "", nil // it was refused
			}
			if part == 1 && err == nil {
				o.Grants = map[string]gate.Grant{d.name: grant}
			}
			return err
		}
	}
	if grant == "" {
		return nil
	}
	_, err := p.act(ctx, d, grant)
	if d.asks && (errors.Is(err, posthouse.ErrForbidden) || errors.Is(err, posthouse.ErrNotFound)) {
		return nil
	}
	if p.look(d, err); err != nil {
		return err
	}
	return p.note(ctx, "after-"+d.name)
}

// handOut has a worker's handler propose the payment and make it.
func (p *process) handOut(ctx context.Context, d *deal, c payment) error {
	_, err := step.RemoteWith[string](ctx, "deal-"+d.name, "deal", c, runs.RemoteOptions{
		Effect: posthouse.EffectWrite, Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: d.attempts, InitialDelay: 200 * time.Millisecond}},
	})
	if err != nil {
		return err
	}
	return p.note(ctx, "after-"+d.name)
}

// look notes an effect that cannot be made because its approval is gone.
func (p *process) look(d *deal, err error) {
	if errors.Is(err, posthouse.ErrNotFound) {
		p.w.witness.mu.Lock()
		p.w.witness.fault(kept, "the effect %s: %v", d.name, err)
		p.w.witness.mu.Unlock()
	}
}

// approval asks people, perhaps until a deadline.
func (p *process) approval(ctx context.Context, d *deal, c payment) (gate.Grant, error) {
	if !d.selected {
		return p.w.approval(ctx, d, c)
	}
	won, err := step.Select(ctx, "select-"+d.name,
		step.When("approval", func(ctx context.Context) (gate.Grant, error) { return p.w.approval(ctx, d, c) }),
		step.When("deadline", func(ctx context.Context) (gate.Grant, error) { return "", step.Sleep(ctx, "deadline", 2*time.Hour) }),
	)
	if err == nil {
		p.w.witness.tally("winners of selects")
	}
	return won.Value, err
}

func (w *world) hasSibling() bool {
	return slices.ContainsFunc(w.deals, func(d deal) bool { return d.sibling })
}

// siblings are steps that fail beside the payments, now and then.
func (p *process) siblings(ctx context.Context) error {
	_, err := step.DoWith(ctx, "sibling", step.Options{Effect: posthouse.EffectRead}, func(ctx context.Context) (string, error) {
		key := step.Key(ctx)
		if n := p.w.witness.note(key, p.name, p.number); p.w.witness.draw(3, key, n) == 0 {
			p.w.witness.tally("siblings failed")
			return "", errors.New("the sibling fails")
		}
		return "", nil
	})
	return err
}

// approval asks people.
func (w *world) approval(ctx context.Context, d *deal, c payment) (gate.Grant, error) {
	if d.asks {
		q := w.question(d, c)
		q.ValidFor, q.Uses, q.Show = 0, 0, c
		a, err := gate.Ask[payment](ctx, q)
		if err != nil || !a.Approved() {
			return "", err
		}
		return gate.Grant(a.Gate), nil
	}
	if w.witness.bad != samePeople {
		return gate.ProposeFor(ctx, c, func(edited payment) gate.Question {
			q := w.question(d, edited)
			switch {
			case q.Assignees == nil || edited.Amount == c.Amount:
			case w.witness.bad == delegates:
				q.Assignees = append(slices.Clone(q.Assignees), delegatesToCome...)
			case w.witness.bad == tooEarly:
				q.Escalate.After = time.Second
			case w.witness.bad == tooLate:
				q.Escalate.After = 3 * patience
			}
			return q
		})
	}
	if w.witness.arm == assigned {
		return gate.Propose(ctx, w.question(d, c), c) // the same people whatever it becomes
	}
	return gate.ProposeFor(ctx, c, func(c payment) gate.Question { return w.question(d, c) })
}

// act makes the payment under a grant.
func (p *process) act(ctx context.Context, d *deal, grant gate.Grant) (string, error) {
	name := "pay-" + d.name
	if arm := p.w.witness.arm; arm == ownGrant || arm == noAnswer { // a program that takes any decision for a licence
		return step.Do(ctx, name, func(ctx context.Context) (string, error) {
			g, err := p.ledger.Gate(ctx, posthouse.ID(grant))
			if err != nil {
				return "", err
			}
			var c payment
			if err := json.Unmarshal(g.Licensed(), &c); err != nil {
				return "", err
			}
			return p.payUnder(ctx, d, c, g)
		})
	}
	return p.actBy(ctx, d, grant, func(ctx context.Context, c payment) (string, error) { return p.perform(ctx, d, c) })
}

// actBy makes the payment under a grant by a function.
func (p *process) actBy(ctx context.Context, d *deal, grant gate.Grant, do func(context.Context, payment) (string, error)) (string, error) {
	under := posthouse.ID(grant)
	out, err := gate.Act(ctx, "pay-"+d.name, grant, func(ctx context.Context, c payment) (string, error) {
		under = gate.Granted(ctx).ID
		return do(ctx, c)
	}, gate.ActOptions[payment, string]{Idempotent: d.idempotent})
	if err == nil {
		p.w.witness.mu.Lock()
		p.w.witness.paid[under] = true
		p.w.witness.mu.Unlock()
	}
	return out, err
}

// perform is the function of the effect.
func (p *process) perform(ctx context.Context, d *deal, c payment) (out string, err error) {
	pay := func(ctx context.Context) (string, error) { return p.pay(ctx, d, c) }
	remote := func() (string, error) {
		return step.RemoteWith[string](ctx, "task", "pay", c, runs.RemoteOptions{Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: d.attempts, InitialDelay: 200 * time.Millisecond}}})
	}
	switch d.way {
	case byWorker, byWorkerThenSleep:
		out, err = remote()
		if err == nil && d.way == byWorkerThenSleep {
			err = step.Sleep(ctx, "clear", 20*time.Second)
		}
		return out, err
	case afterSleep:
		if err := step.Sleep(ctx, "wait", 20*time.Second); err != nil {
			return "", err
		}
		return step.Do(ctx, "do", pay)
	case afterAsk:
		if _, err := gate.Ask[struct{}](ctx, gate.Question{Name: "now", Text: "Now?"}); err != nil {
			return "", err
		}
		return step.Do(ctx, "do", pay)
	case inPlace:
		return pay(ctx)
	case afterPart:
		_, err := step.DoWith(ctx, "part", step.Options{Effect: posthouse.EffectWrite}, func(context.Context) (string, error) {
			p.w.witness.tally("parts before effects")
			return "reserved", nil
		})
		if err != nil {
			return "", err
		}
		return pay(ctx)
	}
	out, err = step.Do(ctx, "do", pay)
	if err != nil {
		return out, err
	}
	switch d.way {
	case thenSleep:
		err = step.Sleep(ctx, "clear", 20*time.Second)
	case thenSignal:
		_, err = step.Signal[any](ctx, "cleared", step.SignalOptions{Timeout: time.Minute})
		if errors.Is(err, posthouse.ErrExpired) {
			err = nil
		}
	case thenAsk:
		_, err = gate.Ask[struct{}](ctx, gate.Question{Name: "seen", Text: "Seen?"})
	}
	return out, err
}

// A program is a flow or a graph of deals.
type program interface {
	run(ctx context.Context, thread string, o order, by string) error
	resume(ctx context.Context, thread, branch, by string) error
	replay(ctx context.Context, id posthouse.ID, by string) error
	fork(ctx context.Context, id posthouse.ID, change func(*order), thread, by string) error
	update(ctx context.Context, thread, branch string, change func(*order), by string) error
}

func (p *process) program() program {
	if p.w.graph {
		return p.asGraph()
	}
	return p.asFlow()
}

type asFlow struct{ *flow.App[order, string] }

func (p *process) asFlow() asFlow {
	a, err := flow.New("random", func(ctx context.Context, o order) (string, error) {
		var all sync.WaitGroup
		errs := make([]error, len(p.w.deals)+1)
		if p.w.hasSibling() {
			all.Go(func() { errs[len(p.w.deals)] = p.siblings(step.Unordered(ctx)) })
		}
		for i := range p.w.deals {
			d := &p.w.deals[i]
			if d.spare {
				continue
			}
			if d.beside {
				all.Go(func() { errs[i] = p.make(step.Unordered(ctx), d, &o, 0) })
				continue
			}
			errs[i] = p.make(step.Unordered(ctx), d, &o, 0)
			if errs[i] != nil {
				break
			}
		}
		all.Wait()
		return "done", errors.Join(errs...)
	}).Open(p.ledger, nil)
	p.w.must(err)
	return asFlow{a}
}

func (a asFlow) run(ctx context.Context, thread string, o order, by string) error {
	_, err := a.Run(ctx, thread, o, flow.RunOptions{By: by})
	return err
}

func (a asFlow) resume(ctx context.Context, thread, branch, by string) error {
	_, err := a.Resume(ctx, thread, flow.RunOptions{Branch: branch, By: by})
	return err
}

func (a asFlow) replay(ctx context.Context, id posthouse.ID, by string) error {
	_, err := a.Replay(ctx, id, flow.RunOptions{By: by})
	return err
}

func (a asFlow) fork(ctx context.Context, id posthouse.ID, change func(*order), thread, by string) error {
	_, err := a.Fork(ctx, id, change, flow.ForkOptions{Thread: thread, By: by})
	return err
}

// update does nothing: the input of a flow changes in a fork.
func (a asFlow) update(context.Context, string, string, func(*order), string) error { return nil }

type asGraph struct{ *graph.App[order] }

// asGraph has one or two nodes for each deal: after the other ones, or beside them.
func (p *process) asGraph() asGraph {
	g := graph.New[order]("random")
	before, stage := []string{graph.Start}, []string(nil)
	for i := range p.w.deals {
		d := &p.w.deals[i]
		if d.spare {
			continue
		}
		opt := graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: d.retries + 1, InitialDelay: -1}}
		if d.timeout {
			opt.Timeout = 500 * time.Millisecond
		}
		if !d.beside && stage != nil {
			before, stage = stage, nil
		}
		last := d.name
		run := func(part int) func(context.Context, *order) error {
			return func(ctx context.Context, o *order) error { return p.make(step.Unordered(ctx), d, o, part) }
		}
		switch {
		case d.split && !d.beside:
			last = d.name + "-make"
			g.Node(d.name, run(1), opt)
			if d.asNode {
				p.remoteNode(g, d, last)
			} else {
				g.Node(last, run(2), opt)
			}
			g.Edge(d.name, last)
		case d.within > 0:
			inner := graph.New[order]("within-" + d.name)
			inner.Node("make", run(0), opt)
			inner.Edge(graph.Start, "make")
			inner.Edge("make", graph.End)
			graph.Subgraph(g, d.name, inner, &graph.SubOptions[order, order]{In: func(o *order) order { return *o }, OwnThread: d.within == 2})
		default:
			g.Node(d.name, run(0), opt)
		}
		if d.rescue {
			other := p.w.dealOf(d.name + "-rescue")
			g.OnError(last, func(ctx context.Context, o *order, _ error) (graph.Command, error) {
				return graph.Command{}, p.make(step.Unordered(ctx), other, o, 0)
			})
		}
		for _, b := range before {
			g.Edge(b, d.name)
		}
		stage = append(stage, last)
	}
	if p.w.hasSibling() {
		g.Node("sibling", func(ctx context.Context, _ *order) error { return p.siblings(ctx) })
		g.Edge(graph.Start, "sibling")
		g.Edge("sibling", graph.End)
	}
	g.Node("count", func(_ context.Context, o *order) error { o.Round++; return nil })
	for _, name := range stage {
		g.Edge(name, "count")
	}
	first := p.w.deals[0].name
	g.Route("count", func(o *order) string {
		if p.w.rounds > o.Round {
			return first
		}
		return graph.End
	}, first, graph.End)
	a, err := g.Compile(p.ledger, nil)
	p.w.must(err)
	return asGraph{a}
}

// remoteNode adds a node that a worker handles under the grant.
func (p *process) remoteNode(g *graph.Graph[order], d *deal, name string) {
	g.Remote(name, graph.Remote[order, payment, string]{
		Task: "pay", Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: d.attempts, InitialDelay: 200 * time.Millisecond}},
		Act: func(ctx context.Context, o *order, open func(context.Context, payment) (string, error)) (string, error) {
			grant := o.Grants[d.name]
			if grant == "" {
				return "", nil
			}
			out, err := p.actBy(ctx, d, grant, open)
			if d.asks && (errors.Is(err, posthouse.ErrForbidden) || errors.Is(err, posthouse.ErrNotFound)) {
				err = nil
			}
			p.look(d, err)
			return out, err
		},
		Out: func(*order, string) error { return nil },
	})
}

func (a asGraph) run(ctx context.Context, thread string, o order, by string) error {
	_, err := a.Run(ctx, thread, o, graph.RunOptions{By: by})
	return err
}

func (a asGraph) resume(ctx context.Context, thread, branch, by string) error {
	_, err := a.Resume(ctx, thread, graph.RunOptions{Branch: branch, By: by})
	return err
}

func (a asGraph) replay(ctx context.Context, id posthouse.ID, by string) error {
	_, err := a.Replay(ctx, id, graph.RunOptions{By: by})
	return err
}

func (a asGraph) fork(ctx context.Context, id posthouse.ID, change func(*order), thread, by string) error {
	_, err := a.Fork(ctx, id, change, graph.ForkOptions{Thread: thread, By: by})
	return err
}

func (a asGraph) update(ctx context.Context, thread, branch string, change func(*order), by string) error {
	_, err := a.Update(ctx, thread, change, graph.UpdateOptions{Branch: branch, By: by})
	return err
}
