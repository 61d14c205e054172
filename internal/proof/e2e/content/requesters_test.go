package content_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// A bill is the state of a graph that pays.
type bill struct {
	To     string
	Amount int
	Note   string
	Paid   []string
}

// payGraph proposes the bill and pays it; with signal it takes the payee from one, in a node
// of its own.
func (h *house) payGraph(q gate.Question, signal bool) *graph.App[bill] {
	g := graph.New[bill]("pay")
	first := "pay"
	if signal {
		first = "whom"
		g.Node("whom", func(ctx context.Context, b *bill) error {
			to, err := step.Signal[string](ctx, "payee", step.SignalOptions{})
			b.To = to
			return err
		})
		g.Edge("whom", "pay")
	}
	g.Node("pay", func(ctx context.Context, b *bill) error {
		q.Name = "pay"
		if q.Text == "" {
			q.Text = "Pay?"
		}
		grant, err := gate.Propose(ctx, q, bankTransfer{b.To, b.Amount})
		if err != nil {
			return err
		}
		to, err := gate.Act(ctx, "transfer", grant, func(_ context.Context, b bankTransfer) (string, error) { return b.To, nil })
		if err == nil {
			b.Paid = append(b.Paid, to)
		}
		return err
	})
	g.Edge(graph.Start, first)
	g.Edge("pay", graph.End)
	return must(g.Compile(h.ledger, nil))(h)
}

// refuse has a person fail to approve a gate.
func (h *house) refuse(g *posthouse.Gate, by ...string) {
	h.Helper()
	for _, name := range by {
		for _, d := range []posthouse.Decision{{By: name}, {By: "somebody", Actor: name}} {
			d.Verdict = yesTo(g)
			want := error(posthouse.ErrForbidden)
			if strings.HasPrefix(d.By, posthouse.WorkerPrefix) {
				want = posthouse.ErrInvalid // such a name cannot decide
			}
			if _, err := h.ledger.Decide(h.Context(), g.ID, d); !errors.Is(err, want) {
				h.Fatalf("%s by %s, sent by %q: %v", g.ID, d.By, d.Actor, err)
			}
		}
	}
}

// on returns the only open question of a branch.
func (h *house) on(thread, branch string) *posthouse.Gate {
	h.Helper()
	all := slices.DeleteFunc(h.inbox(thread), func(g *posthouse.Gate) bool { return g.Branch != branch })
	if len(all) != 1 {
		h.Fatalf("%d questions on %s", len(all), branch)
	}
	return all[0]
}

// Whoever changes a request becomes a requester, by whatever way the change is made, and
// no requester ceases to be one.
func TestWhoChangesARequestCannotApproveIt(t *testing.T) {
	change := func(b *bill) { b.To, b.Amount = "mallory", 99999 }
	by := func(h *house, app *graph.App[bill], branch string) { // resumes, and asks
		must(app.Resume(h.Context(), "t", graph.RunOptions{Branch: branch, By: "otto"}))(h)
	}
	for name, tc := range map[string]func(h *house, app *graph.App[bill], g *posthouse.Gate) *posthouse.Gate{
		"fork": func(h *house, app *graph.App[bill], g *posthouse.Gate) *posthouse.Gate {
			must(app.Fork(h.Context(), g.Checkpoint, change, graph.ForkOptions{Branch: "f", By: "mallory"}))(h)
			by(h, app, "f")
			return h.on("t", "f")
		},
		"fork of a fork": func(h *house, app *graph.App[bill], g *posthouse.Gate) *posthouse.Gate {
			f := must(app.Fork(h.Context(), g.Checkpoint, change, graph.ForkOptions{Branch: "f", By: "mallory"}))(h)
			must(app.Fork(h.Context(), f.ID, nil, graph.ForkOptions{Branch: "g", By: "otto"}))(h)
			by(h, app, "g")
			return h.on("t", "g")
		},
		"fork to a thread": func(h *house, app *graph.App[bill], g *posthouse.Gate) *posthouse.Gate {
			must(app.Fork(h.Context(), g.Checkpoint, change, graph.ForkOptions{Thread: "away", By: "mallory"}))(h)
			must(app.Resume(h.Context(), "away"))(h)
			return h.only("away")
		},
		"patch": func(h *house, app *graph.App[bill], g *posthouse.Gate) *posthouse.Gate {
			must(h.ledger.Fork(h.Context(), g.Checkpoint, &ledger.ForkOptions{Branch: "f", By: "mallory", Patch: posthouse.State{"Amount": {Codec: "json", Data: []byte("99999")}}}))(h)
			by(h, app, "f")
			return h.on("t", "f")
		},
		"update": func(h *house, app *graph.App[bill], _ *posthouse.Gate) *posthouse.Gate {
			must(app.Update(h.Context(), "t", change, graph.UpdateOptions{By: "mallory"}))(h)
			by(h, app, "")
			return h.only("t")
		},
		"bulk update": func(h *house, app *graph.App[bill], _ *posthouse.Gate) *posthouse.Gate {
			must(app.BulkUpdate(h.Context(), "t", [][]graph.NodeUpdate[bill]{{{Node: graph.Start, Change: change}}}, graph.UpdateOptions{By: "mallory"}))(h)
			by(h, app, "")
			return h.only("t")
		},
		"next input": func(h *house, app *graph.App[bill], g *posthouse.Gate) *posthouse.Gate {
			h.decide(g.ID, posthouse.Approve, "alice")
			by(h, app, "")
			must(app.Run(h.Context(), "t", bill{To: "mallory", Amount: 99999}, graph.RunOptions{By: "mallory"}))(h)
			return h.only("t")
		},
		"copy": func(h *house, app *graph.App[bill], _ *posthouse.Gate) *posthouse.Gate {
			must(app.Update(h.Context(), "t", change, graph.UpdateOptions{By: "mallory"}))(h)
			must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
			must(app.Resume(h.Context(), "copy"))(h)
			return h.only("copy")
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				app := h.payGraph(gate.Question{}, false)
				must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
				g := tc(h, app, h.only("t"))
				h.refuse(g, "mallory", "bob")
				if got := g.RequesterNames(); !slices.Contains(got, "mallory") || !slices.Contains(got, "bob") || slices.Contains(got, "otto") {
					h.Fatal(got)
				}
				h.decide(g.ID, posthouse.Approve, "alice")
			})
		})
	}
}

// A signal's value is its sender's request, in the step that took it and in those that
// follow, taken at once, awaited, or read by another process.
func TestWhoSendsASignalCannotApproveWhatItAsksFor(t *testing.T) {
	for _, early := range []bool{true, false} {
		onStores(t, func(h *house) {
			send := func() {
				must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"mallory"`), By: "mallory", Early: true}))(h)
			}
			if early {
				send()
			}
			must(h.payGraph(gate.Question{}, true).Run(h.Context(), "t", bill{Amount: 10}, graph.RunOptions{By: "bob"}))(h)
			if !early {
				send()
				h.restart()
				must(h.payGraph(gate.Question{}, true).Resume(h.Context(), "t"))(h)
			}
			h.refuse(h.only("t"), "mallory", "bob")

			must(h.ledger.Signal(h.Context(), "u", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"mallory"`), By: "mallory", Early: true}))(h)
			f := must(flow.New("f", func(ctx context.Context, n int) (string, error) {
				to, err := step.Signal[string](ctx, "payee", step.SignalOptions{})
				if err == nil {
					_, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{to, n})
				}
				return to, err
			}).Open(h.ledger, nil))(h)
			must(f.Run(h.Context(), "u", 10, flow.RunOptions{By: "bob"}))(h)
			g := h.only("u")
			h.refuse(g, "mallory", "bob")
			if !slices.ContainsFunc(g.Requesters, func(r posthouse.Requester) bool {
				return r.Name == "mallory" && r.How == posthouse.RequestedBySignal && slices.Equal(r.What, []string{"payee"})
			}) {
				h.Fatal(g.Requesters)
			}
		})
	}
}

// Asking the same again adds no requester, and a decision made before its author became
// a requester stands.
func TestWhoAsksTheSameAgainMayApprove(t *testing.T) {
	onStores(t, func(h *house) {
		app := h.payGraph(gate.Question{}, false)
		must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
		g := h.only("t")
		must(app.Fork(h.Context(), g.Checkpoint, nil, graph.ForkOptions{Branch: "f", By: "mallory"}))(h)
		must(app.Resume(h.Context(), "t", graph.RunOptions{Branch: "f", By: "mallory"}))(h)
		same := h.on("t", "f")
		h.refuse(same, "bob")
		h.decide(same.ID, posthouse.Approve, "mallory")
		h.decide(g.ID, posthouse.Approve, "mallory")
		must(app.Update(h.Context(), "t", func(b *bill) { b.Note = "urgent" }, graph.UpdateOptions{By: "mallory"}))(h)
		res := must(app.Resume(h.Context(), "t", graph.RunOptions{By: "mallory"}))(h)
		if res.Status != posthouse.StatusDone || !slices.Equal(res.State.Paid, []string{"shop"}) {
			h.Fatalf("result %+v", res)
		}
	})
}

// A question may let all its requesters approve.
func TestAllRequestersMayBeAllowed(t *testing.T) {
	onStores(t, func(h *house) {
		app := h.payGraph(gate.Question{AllowRequester: true}, false)
		must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
		must(app.Update(h.Context(), "t", func(b *bill) { b.Amount = 20 }, graph.UpdateOptions{By: "mallory"}))(h)
		must(app.Resume(h.Context(), "t"))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "mallory")
	})
}

// Whoever imports an unverified thread cannot approve what it asks.
func TestWhoImportsUnverifiedCannotApprove(t *testing.T) {
	onStores(t, func(h *house) {
		must(h.payGraph(gate.Question{}, false).Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
		var file bytes.Buffer
		must(transfer.Export(h.Context(), h.ledger, "t", &file, nil))(h)
		other := &house{T: h.T, ledger: must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))(h)}
		defer other.ledger.Close()
		must(transfer.Import(h.Context(), other.ledger, bytes.NewReader(file.Bytes()), &transfer.ImportOptions{Unverified: true, By: "mallory"}))(h)
		if n := len(other.inbox("t")); n != 0 {
			h.Fatal(n)
		}
		must(other.payGraph(gate.Question{}, false).Resume(h.Context(), "t"))(h)
		other.refuse(other.only("t"), "mallory", "bob")
		other.decide(other.only("t").ID, posthouse.Approve, "alice")
	})
}
