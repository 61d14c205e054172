package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/graph/draw"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
)

// A Payment is the state of the desk's graph.
type Payment struct {
	To     string
	Amount int
	Grant  gate.Grant
	Done   string
}

// An Order is what the desk's people are asked about.
type Order struct {
	To     string `json:"to" doc:"the account"`
	Amount int    `json:"amount"`
}

// A Desk is a server with a graph that pays under a grant. An account called closed fails.
type Desk struct {
	*Dir
	URL    string
	Ledger *ledger.Ledger
	App    *graph.App[Payment]
}

// PayGraph returns the desk's graph. transfer acts on the world: it moves the money of an order that
// somebody approved.
func PayGraph(transfer func(order map[string]any) (string, error)) *graph.Graph[Payment] {
	g := graph.New[Payment]("pay")
	g.Node("propose", func(ctx context.Context, s *Payment) (err error) {
		s.Grant, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay this order?"}, map[string]any{"to": s.To, "amount": s.Amount})
		return err
	})
	g.Node("transfer", func(ctx context.Context, s *Payment) (err error) {
		s.Done, err = gate.Act(ctx, "transfer", s.Grant, func(_ context.Context, o map[string]any) (string, error) { return transfer(o) })
		return err
	})
	g.Node("receipt", func(context.Context, *Payment) error { return nil })
	g.Remote("abroad", graph.Remote[Payment, map[string]any, string]{
		Task: "transfer",
		Act: func(ctx context.Context, s *Payment, open func(context.Context, map[string]any) (string, error)) (string, error) {
			return gate.Act(ctx, "transfer", s.Grant, open)
		},
		Out: func(s *Payment, done string) error { s.Done = done; return nil },
	})
	g.Edge(graph.Start, "propose")
	g.Route("propose", func(s *Payment) string {
		if s.To == "abroad" {
			return "abroad"
		}
		return "transfer"
	}, "transfer", "abroad")
	g.Edge("transfer", "receipt")
	g.Edge("abroad", "receipt")
	g.Edge("receipt", graph.End)
	return g
}

// OpenDesk opens a desk over a store. Its Path holds the token that command lines use.
func OpenDesk(t TB, store posthouse.Store) *Desk {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	ok(err)
	g := PayGraph(func(o map[string]any) (string, error) {
		if o["to"] == "closed" {
			return "", gate.NotDone(errors.New("bank: account 4711 is closed"))
		}
		return "paid", nil
	})
	app, err := g.Compile(l, &graph.CompileOptions{Description: "Pays what somebody approved", Questions: []runs.Question{{Name: "pay", Text: "Pay this order?", Payload: Order{}}}})
	ok(err)
	d := New(t)
	ts, err := tokens.Open(d.Path, nil)
	ok(err)
	_, _, err = ts.First()
	ok(err)
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{app}})
	ok(err)
	info := *app.Describe()
	info.Picture = draw.Mermaid(app.Shape(), nil, nil)
	info.Graph, err = json.Marshal(draw.Outline(app.Shape()))
	ok(err)
	s, err := server.New(server.Options{Ledger: l, Tokens: ts, Runner: r, Programs: []server.Program{{Info: info, Starter: app}}})
	ok(err)
	web := httptest.NewServer(s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		ok(<-ended)
		ok(s.Close(context.Background()))
		web.Close()
		ok(l.Close())
		ok(store.Close())
	})
	return &Desk{d, web.URL, l, app}
}

// Ask begins a payment and returns its gate.
func (d *Desk) Ask(thread, to string) posthouse.ID {
	d.T.Helper()
	out, err := d.App.Run(d.T.Context(), thread, Payment{To: to, Amount: 10})
	if err != nil {
		d.T.Fatal(err)
	}
	return out.Waiting[0].ID
}

// Run is [Dir.Run] against the desk's server.
func (d *Desk) Run(code int, args ...string) string {
	d.T.Helper()
	return d.Dir.Run(code, append(args, "--server", d.URL)...)
}

// Complete returns what a shell is offered for the last of some words, at the desk's server.
func (d *Desk) Complete(words ...string) string {
	d.T.Helper()
	vars := map[string]string{"POSTHOUSE_SERVER": d.URL, "POSTHOUSE_DATA_DIR": d.Path}
	var out bytes.Buffer
	at := term.Term{In: strings.NewReader(""), Out: &out, Err: &out}
	code := cli.Run(d.T.Context(), append([]string{"__complete"}, words...), &d.Config, func(name string) string { return vars[name] }, func() []string { return nil }, at)
	if code != 0 {
		d.T.Errorf("%v: exit code %d\n%s", words, code, &out)
	}
	return out.String()
}
