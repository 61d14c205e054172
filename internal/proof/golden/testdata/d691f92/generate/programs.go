package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
)

// A Refund is the state of the graphs. Request's first word says what is asked.
type Refund struct {
	Request string
	Amount  int
	Paid    string
	Log     []string `posthouse:"append"`
}

// A Change is what an edit of the graphs' question holds.
type Change struct {
	Amount int `json:"amount"`
}

// An Order is the input of the flow. Kind says what it waits for.
type Order struct {
	Kind string
	Item string
}

// Calls counts what really ran, by name; what is answered from the record does
// not.
type Calls struct {
	mu sync.Mutex
	n  map[string]int

	Down  bool // what acts on the world fails
	Flaky bool // what is tried again fails
}

func (c *Calls) ran(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
}

func (c *Calls) run(ctx context.Context, name, result string) (string, error) {
	return step.DoWith(ctx, name, step.Options{Effect: posthouse.EffectExternal}, func(context.Context) (string, error) {
		c.ran(name)
		if c.Down {
			return "", errors.New("the service is down")
		}
		return result, nil
	})
}

func (c *Calls) judge(confidence float64) *gate.Auto {
	return &gate.Auto{Judge: func(context.Context, *posthouse.Gate) (gate.Judgement, error) {
		c.ran("judge")
		return gate.Judgement{Verdict: posthouse.Approve, Confidence: confidence, Reason: "small"}, nil
	}}
}

// question is what the graphs ask for a request.
func (c *Calls) question(r *Refund) gate.Question {
	q := gate.Question{Name: "refund", Text: "Pay " + r.Request + "?", Show: map[string]any{"request": r.Request, "amount": r.Amount, "account": 9007199254740993}}
	kind, _, _ := strings.Cut(r.Request, " ")
	switch kind {
	case "expiring":
		q.Expires = 48 * time.Hour
	case "quorum":
		q.Verdicts, q.Assignees = []posthouse.Verdict{posthouse.Approve, posthouse.Reject}, []string{"alice", "bob", "carol"}
		q.Quorum = &posthouse.Quorum{Need: 2}
	case "four":
		q.Verdicts, q.FourEyes = []posthouse.Verdict{posthouse.Approve, posthouse.Reject}, true
	case "assigned":
		q.Assignees, q.Labels = []string{"alice", "bob"}, map[string]string{"team": "blue"}
	case "escalating":
		q.Assignees, q.Expires = []string{"alice"}, 900*time.Hour
		q.Escalate = &gate.Escalation{After: 24 * time.Hour, To: []string{"boss"}}
	case "accepted":
		q.Auto = &gate.Auto{Accept: true}
	case "judged":
		q.Auto = c.judge(0.9)
	case "unsure":
		q.Auto = c.judge(0.4)
	case "lapsing":
		q.Expires, q.Auto = 48*time.Hour, &gate.Auto{OnTimeout: gate.TimeoutAccept}
	}
	return q
}

// refundGraph charges, asks and pays; judged requests are asked a second time,
// of people.
func refundGraph(c *Calls) *graph.Graph[Refund] {
	g := graph.New[Refund]("golden-refund")
	g.Node("prepare", func(ctx context.Context, r *Refund) error {
		id, err := c.run(ctx, "look up", "customer 7")
		r.Log = append(r.Log, "prepared for "+id)
		return err
	})
	g.Node("approve", func(ctx context.Context, r *Refund) error {
		fee, err := c.run(ctx, "fee", "fee 3")
		if err != nil {
			return err
		}
		a, err := gate.Ask[Change](ctx, c.question(r))
		if err != nil {
			return err
		}
		if strings.HasPrefix(r.Request, "judged") || strings.HasPrefix(r.Request, "twice") {
			b, err := gate.Ask[any](ctx, gate.Question{Name: "when", Text: "When?"})
			if err != nil {
				return err
			}
			r.Log = append(r.Log, "when: "+string(b.Verdict)+" "+string(b.Raw))
		}
		if a.Verdict == posthouse.Edit {
			r.Amount = a.Value.Amount
		}
		r.Log = append(r.Log, fee+", "+string(a.Verdict)+" by "+a.By)
		if !a.Approved() {
			r.Amount = 0
		}
		return nil
	})
	g.Node("pay", func(ctx context.Context, r *Refund) (err error) {
		if r.Amount > 0 {
			r.Paid, err = c.run(ctx, "pay", "receipt 1")
		}
		return err
	})
	g.Edge(graph.Start, "prepare")
	g.Edge("prepare", "approve")
	g.Edge("approve", "pay")
	g.Edge("pay", graph.End)
	return g
}

// A Trip is the state of the graph with parallel nodes and a subgraph.
type Trip struct {
	Name   string
	Hotel  string
	Flight string
	Within string
	Log    []string `posthouse:"append"`
}

// tripGraph books a flight while a person chooses the hotel, then asks in
// subgraphs, within its thread and in a thread of its own.
func tripGraph(c *Calls) *graph.Graph[Trip] {
	inner := func(name string) *graph.Graph[Trip] {
		sub := graph.New[Trip](name)
		sub.Node("draft", func(ctx context.Context, t *Trip) (err error) {
			t.Within, err = c.run(ctx, name+" draft", "draft")
			return err
		})
		sub.Node("sign", func(ctx context.Context, t *Trip) error {
			a, err := gate.Ask[any](ctx, gate.Question{Name: name, Text: "Sign " + t.Name + "?"})
			t.Within += " " + string(a.Verdict)
			return err
		})
		sub.Edge(graph.Start, "draft")
		sub.Edge("draft", "sign")
		sub.Edge("sign", graph.End)
		return sub
	}
	o := func(own bool) *graph.SubOptions[Trip, Trip] {
		return &graph.SubOptions[Trip, Trip]{
			In:        func(t *Trip) Trip { return Trip{Name: t.Name} },
			Out:       func(t *Trip, r *Trip) error { t.Log = append(t.Log, r.Within); return nil },
			OwnThread: own,
		}
	}
	g := graph.New[Trip]("golden-trip")
	g.Node("flight", func(ctx context.Context, t *Trip) (err error) {
		t.Flight, err = c.run(ctx, "flight", "LH 1")
		return err
	})
	g.Node("hotel", func(ctx context.Context, t *Trip) error {
		a, err := gate.Ask[any](ctx, gate.Question{Name: "hotel", Text: "Which hotel for " + t.Name + "?"})
		t.Hotel = string(a.Raw)
		return err
	})
	graph.Subgraph(g, "contract", inner("contract"), o(false))
	graph.Subgraph(g, "insurance", inner("insurance"), o(true))
	g.Edge(graph.Start, "flight")
	g.Edge(graph.Start, "hotel")
	g.Join("contract", "flight", "hotel")
	g.Edge("contract", "insurance")
	g.Edge("insurance", graph.End)
	return g
}

// faultyGraph stops before its second node, which fails while the service is
// down, and is tried again after an hour; a third fails for good.
func faultyGraph(c *Calls) *graph.Graph[Refund] {
	g := graph.New[Refund]("golden-faulty")
	g.Node("begin", func(_ context.Context, r *Refund) error { r.Log = append(r.Log, "begun"); return nil })
	g.Node("flaky", func(ctx context.Context, r *Refund) error {
		done, err := c.run(ctx, "flaky", "mended")
		r.Log = append(r.Log, done)
		return err
	}, graph.NodeOptions{InterruptBefore: true, Retry: graph.Retry{Max: 2, Delay: time.Hour, Backoff: step.Fixed}})
	g.Node("broken", func(ctx context.Context, r *Refund) error {
		done, err := c.run(ctx, "broken", "whole again")
		r.Log = append(r.Log, done)
		return err
	})
	g.Route(graph.Start, func(r *Refund) string { return r.Request }, "begin", "broken")
	g.Edge("begin", "flaky")
	g.Edge("flaky", graph.End)
	g.Edge("broken", graph.End)
	return g
}

// orderFlow charges, waits for what the order's kind says, and ships.
func orderFlow(c *Calls) func(context.Context, Order) (string, error) {
	return func(ctx context.Context, o Order) (string, error) {
		charge, err := c.run(ctx, "charge", "charge 77")
		if err != nil {
			return "", err
		}
		got, err := c.wait(ctx, o)
		if err != nil {
			return "", err
		}
		shipped, err := c.run(ctx, "ship", "shipped")
		return charge + ", " + got + ", " + shipped, err
	}
}

func (c *Calls) wait(ctx context.Context, o Order) (string, error) {
	ask := func(ctx context.Context, name string) (string, error) {
		a, err := gate.Ask[any](ctx, gate.Question{Name: name, Text: "Ship the " + o.Item + "?", Show: o})
		return name + " " + string(a.Verdict) + " by " + a.By + string(a.Raw), err
	}
	switch o.Kind {
	case "sleep":
		return "slept", step.Sleep(ctx, "cool off", 24*time.Hour)
	case "retry":
		return step.DoWith(ctx, "flaky", step.Options{Retry: step.Retry{Max: 3, Delay: time.Hour, Backoff: step.Fixed}}, func(context.Context) (string, error) {
			c.ran("flaky")
			if c.Flaky {
				return "", errors.New("the service is down")
			}
			return "mended", nil
		})
	case "signal":
		return step.Signal[string](ctx, "paid", step.SignalOptions{})
	case "latch":
		return step.Signal[string](ctx, "price", step.SignalOptions{Latch: true, Timeout: 9000 * time.Hour})
	case "many":
		all, err := step.Map(ctx, "item", []string{"a", "b", "c"}, func(ctx context.Context, item string) (string, error) {
			return ask(ctx, "item "+item)
		})
		return strings.Join(all, "; "), err
	case "loop":
		var all []string
		for range 3 {
			one, err := ask(ctx, "round")
			if err != nil {
				return "", err
			}
			all = append(all, one)
		}
		return strings.Join(all, "; "), nil
	case "tool":
		tool := gate.Require(func(_ context.Context, n int) (string, error) { c.ran("tool"); return "tool ran", nil },
			gate.Approval{Tool: "transfer", Message: "Send this money?"})
		done, err := tool(ctx, 5)
		if err != nil {
			return "", err
		}
		asked, err := ask(ctx, "ship")
		return done + ", " + asked, err
	default:
		return ask(ctx, "ship")
	}
}

// newCoordinator analyzes, asks and executes.
func newCoordinator(l *posthouse.Ledger, c *Calls) (*coord.Coordinator, error) {
	fleet, err := coord.NewFleet(
		coord.Agent{Name: "analyzer", Skills: map[string]coord.Skill{"analyze": func(_ context.Context, call coord.Call) (coord.Result, error) {
			c.ran("analyze")
			var r Refund
			err := call.Bind(&r)
			return coord.Result{Text: "looks fine: " + r.Request}, err
		}}},
		coord.Agent{Name: "approver", Skills: map[string]coord.Skill{"execute": func(ctx context.Context, call coord.Call) (coord.Result, error) {
			done, err := c.run(ctx, "execute", "receipt 2")
			return coord.Result{Text: done}, err
		}}},
	)
	if err != nil {
		return nil, err
	}
	journal, err := coord.Checkpointing(coord.Discard{}, l, coord.OnAgentBoundaries, coord.ResultText)
	if err != nil {
		return nil, err
	}
	handler := func(ctx context.Context, message string, fleet *coord.Fleet, session *coord.Session) error {
		analysis, err := fleet.Agent("analyzer").Call(ctx, "analyze", Refund{Request: message})
		if err != nil {
			return err
		}
		a, err := gate.Ask[Change](ctx, gate.Question{Name: "refund", Text: analysis.Text, Show: Refund{Request: message}})
		if err != nil {
			return err
		}
		if !a.Approved() {
			return coord.Conclude(ctx, coord.Result{Text: "refused by " + a.By})
		}
		done, err := fleet.Agent("approver").Call(ctx, "execute", Refund{Request: message})
		if err != nil {
			return err
		}
		return coord.Conclude(ctx, coord.Result{Text: done.Text + " for " + message + ", approved by " + a.By})
	}
	return coord.New(l, "golden-dispatch", fleet, handler, &coord.Options{Journal: journal})
}
