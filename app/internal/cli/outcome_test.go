package cli

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

type payment struct {
	To     string
	Amount int
	Grant  gate.Grant
	Done   string
}

// A desk is a server with a graph that pays under a grant. An account called closed fails.
type desk struct {
	*encrypted
	url    string
	ledger *ledger.Ledger
	app    *graph.App[payment]
}

func openDesk(t *testing.T, store posthouse.Store) *desk {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
	ok(err)
	g := graph.New[payment]("pay")
	g.Node("propose", func(ctx context.Context, s *payment) (err error) {
		s.Grant, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay this order?"}, map[string]any{"to": s.To, "amount": s.Amount})
		return err
	})
	g.Node("transfer", func(ctx context.Context, s *payment) (err error) {
		s.Done, err = gate.Act(ctx, "transfer", s.Grant, func(_ context.Context, o map[string]any) (string, error) {
			if o["to"] == "closed" {
				return "", errors.New("bank: account 4711 is closed")
			}
			return "paid", nil
		})
		return err
	})
	g.Node("receipt", func(context.Context, *payment) error { return nil })
	g.Remote("abroad", graph.Remote[payment, map[string]any, string]{
		Task: "transfer",
		Act: func(ctx context.Context, s *payment, open func(context.Context, map[string]any) (string, error)) (string, error) {
			return gate.Act(ctx, "transfer", s.Grant, open)
		},
		Out: func(s *payment, done string) error { s.Done = done; return nil },
	})
	g.Edge(graph.Start, "propose")
	g.Route("propose", func(s *payment) string {
		if s.To == "abroad" {
			return "abroad"
		}
		return "transfer"
	}, "transfer", "abroad")
	g.Edge("transfer", "receipt")
	g.Edge("abroad", "receipt")
	g.Edge("receipt", graph.End)
	app, err := g.Compile(l, nil)
	ok(err)
	e := &encrypted{t: t, dir: t.TempDir()}
	ts, err := tokens.Open(e.dir, nil)
	ok(err)
	_, _, err = ts.First()
	ok(err)
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{app}})
	ok(err)
	s, err := server.New(server.Options{Ledger: l, Tokens: ts, Runner: r})
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
	return &desk{e, web.URL, l, app}
}

// ask begins a payment and returns its gate.
func (d *desk) ask(thread, to string) posthouse.ID {
	d.t.Helper()
	out, err := d.app.Run(d.t.Context(), thread, payment{To: to, Amount: 10})
	if err != nil {
		d.t.Fatal(err)
	}
	return out.Waiting[0].ID
}

func (d *desk) run(code int, args ...string) string {
	d.t.Helper()
	return d.cli(code, append(args, "--server", d.url)...)
}

func wants(t *testing.T, what, out string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			t.Errorf("%s lacks %q:\n%s", what, w, out)
		}
	}
}

// TestApprovalReportsTheHead: an approval, a resume, a replay and a fork that runs print
// the head of the branch with its failure and its effects, and end with exit code 1 if it
// failed.
func TestApprovalReportsTheHead(t *testing.T) {
	for name, open := range map[string]func() (posthouse.Store, error){
		"memory": func() (posthouse.Store, error) { return memstore.New(), nil },
		"sqlite": func() (posthouse.Store, error) { return sqlitestore.Open(t.Context(), t.TempDir()+"/a.db", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			store, err := open()
			if err != nil {
				t.Fatal(err)
			}
			const why = "bank: account 4711 is closed"
			d := openDesk(t, store)
			out := d.run(0, "approve", string(d.ask("good", "acme")))
			wants(t, "an approval", out, "status        done", "effects", "transfer  executed")
			g := d.ask("bad", "closed")
			out = d.run(1, "approve", string(g))
			wants(t, "an approval whose payment fails", out, "status        failed", why, "transfer  not done")
			wants(t, "the log", d.run(0, "log", "bad"), why)
			info, err := d.ledger.Thread(t.Context(), "bad")
			if err != nil {
				t.Fatal(err)
			}
			head := string(info.Branches[0].Head)
			wants(t, "checkpoint show", d.run(0, "checkpoint", "show", head), why)
			wants(t, "checkpoint show --json", d.run(0, "checkpoint", "show", head, "--json"), why)
			wants(t, "checkpoint list", d.run(0, "checkpoint", "list", "--thread", "bad"), why)
			wants(t, "thread show", d.run(0, "thread", "show", "bad"), why)
			wants(t, "a resume", d.run(1, "resume", "bad"), "failed", why)
			wants(t, "a resume as JSON", d.run(1, "resume", "bad", "--json"), `"error": "`, why)
			cp, err := d.ledger.Gate(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			out = d.run(0, "replay", string(cp.Checkpoint))
			wants(t, "a replay that asks", out, "waiting")
			out = d.run(0, "checkpoint", "fork", head, "--run")
			wants(t, "a fork that runs, and asks", out, "waiting")
			g = d.ask("edited", "closed")
			out = d.run(1, "edit", string(g), "--value", `{"to":"closed","amount":5}`)
			wants(t, "an edit whose payment fails", out, "failed", why)
		})
	}
}

// TestForkTakesKnownPartsOnly: a misspelt part, or a value that does not fit, is refused
// with the names there are, before there is a branch.
func TestForkTakesKnownPartsOnly(t *testing.T) {
	d := openDesk(t, memstore.New())
	g, err := d.ledger.Gate(t.Context(), d.ask("t", "acme"))
	if err != nil {
		t.Fatal(err)
	}
	cp := string(g.Checkpoint)
	out := d.run(2, "checkpoint", "fork", cp, "--patch", `{"Amuont":99}`, "--run")
	wants(t, "a misspelt part", out, "Amuont", "To, Amount, Grant, Done")
	out = d.run(2, "checkpoint", "fork", cp, "--patch", `{"Amount":"x"}`)
	wants(t, "a wrong type", out, "Amount must be a whole number, not text")
	if strings.Contains(out, "Go ") || strings.Contains(out, "json:") {
		t.Errorf("text of Go's: %s", out)
	}
	info, err := d.ledger.Thread(t.Context(), "t")
	if err != nil || len(info.Branches) != 1 {
		t.Errorf("branches %+v, %v", info.Branches, err)
	}
	d.run(0, "checkpoint", "fork", cp, "--patch", `{"Amount":99,"Done":""}`)
}
