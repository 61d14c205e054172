package app_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOptionsAreChecked names the option at fault before anything is made.
func TestOptionsAreChecked(t *testing.T) {
	dir := t.TempDir() + "/data"
	for field, o := range map[string]app.Options{
		"CertFile":     {CertFile: "cert.pem"},
		"RetainEvery":  {RetainEvery: -1},
		"DrainTimeout": {DrainTimeout: -1},
		"MaxState":     {MaxState: 1 << 32},
		"Addr":         {Addr: "localhost"},
	} {
		o.Dir = dir
		var e *posthouse.Error
		if err := app.Serve(t.Context(), &o); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field || e.Hint == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory was made for options at fault: %v", err)
	}
}

// TestServe serves nothing but the API, over a store that an opener makes, until
// its context ends.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked string
	o := &app.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Store: "tape:7"}
	o.Programs.OpenStore = func(_ context.Context, url string, _ *local.Options) (posthouse.Store, error) {
		asked = url
		return memstore.New(), nil
	}
	status := 0
	o.Ready = func(i *app.Info) {
		secret, err := os.ReadFile(i.TokenFile)
		if err != nil {
			t.Error(err)
		}
		go func() {
			defer cancel()
			r, _ := http.NewRequestWithContext(t.Context(), "GET", i.URL+"/api/threads", nil)
			r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			status = resp.StatusCode
		}()
	}
	if err := app.Serve(ctx, o); err != nil {
		t.Error("asked to end, it says: ", err)
	}
	if status != http.StatusOK || asked != "tape:7" {
		t.Errorf("it answered %d, over %q", status, asked)
	}
}

// TestOpenStoreIsAll holds the option to the signature of store/all.
func TestOpenStoreIsAll(t *testing.T) {
	p := app.Programs{OpenStore: all.Open}
	s, err := p.OpenStore(t.Context(), "memory:", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestErrorsOfOpen are those of the start, and what was opened is closed.
func TestErrorsOfOpen(t *testing.T) {
	broken := errors.New("no database")
	o := &app.Options{Dir: t.TempDir(), Addr: "127.0.0.1:0", Ready: func(*app.Info) { t.Error("it is ready") }}
	o.Programs.Open = func(context.Context, *app.Env) (*app.Set, error) { return nil, broken }
	if err := app.Serve(t.Context(), o); !errors.Is(err, broken) {
		t.Errorf("it says %v", err)
	}
	o.Programs.Open = func(_ context.Context, env *app.Env) (*app.Set, error) {
		fleet, err := coord.NewFleet()
		if err != nil {
			return nil, err
		}
		c, err := coord.New(env.Ledger, "desk", fleet, func(context.Context, string, *coord.Fleet, *coord.Session) error { return nil }, nil)
		return &app.Set{Programs: []posthouse.Program{c}, Agents: map[string]server.Agent{"desk": nil}}, err
	}
	if err := app.Serve(t.Context(), o); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "desk") {
		t.Errorf("two of one name: %v", err)
	}
}

// heard is what a client is told.
type heard struct{ text, events string }

func (h *heard) options(thread string) *server.HandleOptions {
	return &server.HandleOptions{
		Thread: thread, By: "alice",
		Text:  func(text string) { h.text += text },
		Event: func(e server.AgentEvent) { h.events += e.Kind },
	}
}

// An order is the state of a graph, and the input of a flow.
type order struct {
	Item string
	Sum  int
}

func env(t *testing.T) *app.Env {
	l, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &app.Env{Ledger: l}
}

// sell is what node and function do: the item decides how it ends.
func sell(ctx context.Context, o *order) error {
	step.Token(ctx, "selling "+o.Item)
	step.Emit(ctx, o.Item)
	switch o.Item {
	case "asked":
		if _, err := gate.Ask[any](ctx, gate.Question{Name: "sell", Text: "Sell it?"}); err != nil {
			return err
		}
	case "failing":
		return errors.New("out of stock")
	}
	o.Sum = 40
	return nil
}

// TestAgents sends requests to a graph and to a flow.
func TestAgents(t *testing.T) {
	e := env(t)
	g := graph.New[order]("order")
	g.Node("sell", func(ctx context.Context, o *order) error { return sell(ctx, o) })
	g.Edge(graph.Start, "sell")
	g.Edge("sell", graph.End)
	orders, err := g.Compile(e.Ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	flows, err := flow.New("orders", func(ctx context.Context, o order) (order, error) { return o, sell(ctx, &o) }).Open(e.Ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]server.Agent{"graph": app.GraphAgent(e, orders, nil), "flow": app.FlowAgent(e, flows, nil)} {
		ask := func(item, thread string) (*server.Reply, *heard) {
			t.Helper()
			var h heard
			r, err := a.Handle(t.Context(), `{"Item":"`+item+`"}`, h.options(thread))
			if err != nil || h.text != "selling "+item || h.events != "custom" {
				t.Fatalf("%s, %s: %v, %+v", name, item, err, h)
			}
			return r, &h
		}
		r, _ := ask("lamp", "")
		if r.Status != posthouse.StatusDone || r.Thread == "" || r.Thread == posthouse.DefaultThread || r.Checkpoint == "" || r.Text != "selling lamp" {
			t.Errorf("%s: %+v", name, r)
		}
		if r, _ := ask("asked", name); r.Status != posthouse.StatusWaiting || r.Thread != name || r.Gate == "" {
			t.Errorf("%s waits: %+v", name, r)
		}
		if r, _ := ask("failing", name+"-fails"); r.Status != posthouse.StatusFailed || r.Thread != name+"-fails" || r.Checkpoint == "" {
			t.Errorf("%s fails: %+v", name, r)
		}
		var h heard
		if r, err := a.Handle(t.Context(), "a lamp", h.options("")); !errors.Is(err, posthouse.ErrInvalid) || r != nil {
			t.Errorf("%s takes what is no JSON: %+v, %v", name, r, err)
		}
	}
}

// TestAgentsDecode gives an agent a decoder of its own, and text as it is.
func TestAgentsDecode(t *testing.T) {
	e := env(t)
	echo, err := flow.New("echo", func(_ context.Context, in string) (string, error) { return in, nil }).Open(e.Ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	counted, err := flow.New("count", func(_ context.Context, n int) (order, error) { return order{"lamp", n}, nil }).Open(e.Ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	var h heard
	for want, a := range map[string]server.Agent{
		`"as it is"`:               app.FlowAgent(e, echo, nil),
		`{"Item":"lamp","Sum":10}`: app.FlowAgent(e, counted, func(m string) (int, error) { return len(m), nil }),
	} {
		if r, err := a.Handle(t.Context(), `"as it is"`, h.options("")); err != nil || r.Text != want {
			t.Errorf("%s: %+v, %v", want, r, err)
		}
	}
}
