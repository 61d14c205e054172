package client_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// A refund is the state of the graph that the server of the tests runs.
type refund struct {
	Account int64  `json:"account"`
	Paid    string `json:"paid,omitempty"`
}

// serve runs a server in this process with a graph that asks before it pays, and returns clients of
// who begins runs and of who decides. stop ends all.
func serve() (alice, bob *client.Client, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		return nil, nil, nil, err
	}
	key, err := sign.Generate()
	if err != nil {
		return nil, nil, nil, err
	}
	l, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator(), Signer: key})
	if err != nil {
		return nil, nil, nil, err
	}
	g := graph.New[refund]("refund")
	g.Node("ask", func(ctx context.Context, s *refund) error {
		step.Token(ctx, "thinking")
		_, err := gate.Ask[bool](ctx, gate.Question{Name: "pay", Text: "Pay it back?", Show: map[string]any{"account": s.Account}})
		return err
	})
	g.Node("pay", func(_ context.Context, s *refund) error { s.Paid = "yes"; return nil })
	g.Edge(graph.Start, "ask")
	g.Edge("ask", "pay")
	g.Edge("pay", graph.End)
	app, err := g.Compile(l, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	resize, err := flow.New("resize", func(ctx context.Context, width int) (string, error) {
		return step.Remote[string](ctx, "resize", "resize", width)
	}).Open(l, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	ts, err := tokens.Open(dir, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	secret, err := ts.Create("alice", tokens.Operator, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	other, err := ts.Create("bob", tokens.Approver, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	var s *server.Server
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{app, resize}, Emitted: func(e *runner.Emission) {
		s.Chunk(task.Chunk{Thread: e.Thread, Step: e.Step, Text: e.Text})
	}})
	if err != nil {
		return nil, nil, nil, err
	}
	tasks, err := dispatch.New(l, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	s, err = server.New(server.Options{
		Ledger: l, Tokens: ts, Runner: r, Programs: []server.Program{{Info: *app.Describe(), Starter: app}, {Info: *resize.Describe(), Starter: resize}},
		Tasks: tasks, Notifier: &endpoints{},
		PublicKeys: func() (*sign.Ring, error) { return sign.NewRing(key.Public()) },
	})
	if err != nil {
		return nil, nil, nil, err
	}
	web := httptest.NewServer(s)
	alice, err = client.New(web.URL, &client.Options{Token: secret})
	if err != nil {
		return nil, nil, nil, err
	}
	bob, err = client.New(web.URL, &client.Options{Token: other})
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	return alice, bob, func() error {
		alice.Close()
		bob.Close()
		cancel()
		err := errors.Join(<-ended, s.Close(context.Background()))
		web.Close()
		return errors.Join(err, l.Close(), os.RemoveAll(dir))
	}, nil
}

// endpoints are one webhook that fails its tests, and remembers what it is asked for.
type endpoints struct {
	server.Notifier
	since time.Time
}

// List implements [server.Notifier].
func (e *endpoints) List(context.Context) ([]notify.Status, error) {
	s := notify.Status{
		Name: "ops", Kind: "webhook", Address: "https://ops.example/", Events: []notify.Type{notify.GateOpened}, State: notify.StateRetrying,
		Pending: 2, Error: &notify.ErrorStatus{Message: "500", Failures: 3},
	}
	if !e.since.IsZero() {
		s.Replay = &notify.ReplayStatus{From: e.since, By: "alice"}
	}
	return []notify.Status{s}, nil
}

// Test implements [server.Notifier].
func (e *endpoints) Test(_ context.Context, name string) (*notify.Tested, error) {
	return &notify.Tested{Message: "msg-1", Status: 500, Error: "it answers 500", Millis: 7}, e.known(name)
}

// Replay implements [server.Notifier].
func (e *endpoints) Replay(_ context.Context, name string, since time.Time, _ string) error {
	e.since = since
	return e.known(name)
}

// Resume implements [server.Notifier].
func (e *endpoints) Resume(_ context.Context, name string) error { return e.known(name) }

func (e *endpoints) Deliveries(_ context.Context, name string) ([]notify.Delivery, error) {
	return []notify.Delivery{{ID: "msg-1", Type: notify.GateOpened, Thread: "t", Attempt: 2, Status: 500, Error: "it answers 500"}}, e.known(name)
}

func (e *endpoints) Told(_ context.Context, id posthouse.ID) (*notify.GateTold, error) {
	if id != "gate-1" {
		return nil, posthouse.NotFound("gate", string(id))
	}
	return &notify.GateTold{Endpoints: 1, Items: []notify.Told{{Endpoint: "ops", Kind: "webhook", Event: notify.GateOpened, State: notify.ToldRetrying, Attempts: 2, Status: 500, Error: "it answers 500"}}}, nil
}

func (e *endpoints) known(name string) error {
	if name != "ops" {
		return posthouse.NotFound("webhook", name)
	}
	return nil
}

// Metrics implements [server.Notifier].
func (e *endpoints) Metrics() []byte { return nil }
