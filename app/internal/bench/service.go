package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/local"
)

// serviceWorkloads are those of Options.Serve: the product as it is served, with its clients in this
// process.
func serviceWorkloads() []workload {
	return []workload{
		{"request", "100 requests that each open a question, over HTTP, against the same run by the library and an empty request", requests},
		{"events", "an event until each of 1,000 clients of 5 tokens has it, against a bare server of streams", events},
		{"channel", "a question until a webhook's receiver has it", channel},
		{"steady", "requests, decisions, clients of events and a webhook at once, for a while: memory and the rate stay", steady},
	}
}

// A payment is the state of the graph that is served, which asks once and ends.
type payment struct {
	To     string
	Amount int
	Paid   bool
}

const program = "pay"

// A service is the product over a store of its own, and a client of it.
type service struct {
	*host.Host
	app    *graph.App[payment]
	tokens *tokens.List
	token  string // of an operator
	client *http.Client
	stop   context.CancelFunc
	ended  chan error
}

// serve starts the product over SQLite, in a directory of its own. It must be closed.
func (s *session) serve(endpoints ...notify.Endpoint) (*service, error) {
	v := &service{ended: make(chan error, 1), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	dir := datadir.Dir(s.path("served"))
	o := &host.Options{
		Dir: dir, Addr: "127.0.0.1:0", Endpoints: endpoints, Logger: slog.New(slog.DiscardHandler), Name: "posthouse",
		OpenStore: func(ctx context.Context, url string, o *local.Options) (posthouse.Store, error) {
			return local.Open(ctx, url, o)
		},
		Programs: func(_ context.Context, e *host.Env) (*host.Set, error) {
			var err error
			v.app, err = payments().Compile(e.Ledger, nil)
			if err != nil {
				return nil, err
			}
			return &host.Set{Programs: v.app.Programs(), Agents: map[string]server.Agent{program: agent{v.app}}}, nil
		},
	}
	if len(endpoints) > 0 {
		o.PagesURL = "https://posthouse.example.com"
	}
	var err error
	v.Host, err = host.Open(s.ctx, o)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(s.ctx)
	v.stop = stop
	go func() { v.ended <- v.Run(ctx) }()
	v.tokens, err = tokens.Open(string(dir), nil)
	if err == nil {
		v.token, err = datadir.ReadToken(v.TokenFile)
	}
	if err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

func (v *service) close() error {
	v.client.CloseIdleConnections()
	v.stop()
	return <-v.ended
}

// payments is the graph: it asks, and is done.
func payments() *graph.Graph[payment] {
	g := graph.New[payment](program)
	g.Node("ask", func(ctx context.Context, p *payment) error {
		a, err := gate.Ask[any](ctx, gate.Question{
			Name: "pay", Text: "Pay " + p.To + "?", Show: map[string]any{"to": p.To, "amount": p.Amount}, AllowRequester: true,
		})
		p.Paid = err == nil && a.Verdict == posthouse.Approve
		return err
	})
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	return g
}

// agent runs the graph for requests, as the agents of package app do.
type agent struct{ app *graph.App[payment] }

func (a agent) Handle(ctx context.Context, message string, o *server.HandleOptions) (*server.Reply, error) {
	r := graph.RunOptions{By: o.By, Modes: []runs.StreamMode{runs.StreamMessages, runs.StreamCustom, runs.StreamCheckpoints}}
	for e, err := range a.app.Stream(ctx, o.Thread, payment{To: message, Amount: 100}, r) {
		if err != nil {
			return nil, err
		}
		if r := e.Result; r != nil {
			reply := &server.Reply{Thread: o.Thread, Status: r.Status}
			if len(r.Waiting) > 0 {
				reply.Gate = r.Waiting[0].ID
			}
			return reply, nil
		}
	}
	return nil, ctx.Err()
}

// call sends a request and reads its answer into v, unless that is nil.
func (v *service) call(ctx context.Context, method, path string, body, answer any) error {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, v.URL+path, in)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+v.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := v.client.Do(req)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	switch {
	case err != nil:
		return err
	case res.StatusCode >= 300:
		return fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, strings.TrimSpace(string(data)))
	case answer == nil:
		return nil
	}
	return json.Unmarshal(data, answer)
}

// ask sends a request to the agent, which opens a question on a thread.
func (v *service) ask(ctx context.Context, thread string) (posthouse.ID, error) {
	var r server.Reply
	err := v.call(ctx, http.MethodPost, "/api/agents/"+program, map[string]string{"message": "ACME", "thread": thread}, &r)
	if err == nil && r.Gate == "" {
		err = fmt.Errorf("the request to %s came to %+v, without a question", thread, r)
	}
	return r.Gate, err
}
