package content_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/transfer"
)

// requested checks that no one of want may approve a gate, and that others are no
// requesters.
func (h *house) requested(g *posthouse.Gate, want ...string) {
	h.Helper()
	got := slices.Sorted(slices.Values(g.RequesterNames()))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		h.Errorf("gate %s is requested by %v, not %v: %+v", g.ID, got, want, g.Requesters)
		return
	}
	h.refuse(g, want...)
}

// A program that changes another thread does so for all its requesters.
func TestAProgramChangesForItsRequesters(t *testing.T) {
	change := func(b *bill) { b.To, b.Amount = "mallory", 99999 }
	for name, door := range map[string]func(ctx context.Context, h *house, app *graph.App[bill], g *posthouse.Gate) error{
		"update": func(ctx context.Context, h *house, app *graph.App[bill], g *posthouse.Gate) error {
			_, err := app.Update(ctx, "t", change)
			return err
		},
		"bulk update": func(ctx context.Context, h *house, app *graph.App[bill], g *posthouse.Gate) error {
			_, err := app.BulkUpdate(ctx, "t", [][]graph.NodeUpdate[bill]{{{Node: graph.Start, Change: change}}})
			return err
		},
		"fork": func(ctx context.Context, h *house, app *graph.App[bill], g *posthouse.Gate) error {
			_, err := app.Fork(ctx, g.Checkpoint, change, graph.ForkOptions{Thread: "to"})
			return err
		},
		"input": func(ctx context.Context, h *house, app *graph.App[bill], g *posthouse.Gate) error {
			_, err := app.Run(ctx, "to", bill{To: "mallory", Amount: 99999})
			return err
		},
		"signal": func(ctx context.Context, h *house, app *graph.App[bill], g *posthouse.Gate) error {
			_, err := h.ledger.Signal(ctx, "to", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"mallory"`), Early: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				app := h.payGraph(gate.Question{}, name == "signal")
				thread, want := "to", []string{"mallory", "eve"}
				if name != "signal" {
					must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
				}
				var g *posthouse.Gate
				switch name {
				case "signal":
					want = append(want, "bob")
				case "update", "bulk update":
					g, thread, want = h.only("t"), "t", append(want, "bob")
				case "fork":
					g, want = h.only("t"), append(want, "bob")
				}
				robot := graph.New[bill]("robot")
				robot.Node("wait", func(ctx context.Context, b *bill) error {
					_, err := step.Signal[string](ctx, "payee", step.SignalOptions{})
					return err
				})
				robot.Node("meddle", func(ctx context.Context, b *bill) error { return door(ctx, h, app, g) })
				robot.Edge(graph.Start, "wait")
				robot.Edge("wait", "meddle")
				robot.Edge("meddle", graph.End)
				r := must(robot.Compile(h.ledger, nil))(h)
				must(h.ledger.Signal(h.Context(), "robot", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"x"`), By: "eve", Early: true}))(h)
				must(r.Run(h.Context(), "robot", bill{}, graph.RunOptions{By: "mallory"}))(h)
				if name == "signal" {
					must(app.Run(h.Context(), "to", bill{Amount: 10}, graph.RunOptions{By: "bob"}))(h)
				} else {
					must(app.Resume(h.Context(), thread, graph.RunOptions{By: "otto"}))(h)
				}
				h.requested(h.only(thread), want...)
			})
		})
	}
}

// Whoever saves a state by hand becomes a requester, as a child or as another revision.
func TestWhoSavesAStateCannotApprove(t *testing.T) {
	onStores(t, func(h *house) {
		app := h.payGraph(gate.Question{}, false)
		for thread, how := range map[string]func(c *posthouse.Checkpoint, s *posthouse.Checkpoint) *posthouse.Checkpoint{
			"child": func(c, s *posthouse.Checkpoint) *posthouse.Checkpoint { return c.Derive(s.State) },
			"revision": func(c, s *posthouse.Checkpoint) *posthouse.Checkpoint {
				d := c.Derive(c.State)
				d.Status, d.Next, d.By = posthouse.StatusInterrupted, c.Next, "carl"
				d.State = c.State.Clone()
				d.State["Note"] = posthouse.Value{Codec: "json", Data: []byte(`"x"`)}
				saved := must(h.ledger.Save(h.Context(), d, nil))(h)
				saved.State = s.State
				return saved
			},
		} {
			must(app.Run(h.Context(), thread, bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
			c := must(h.ledger.Get(h.Context(), h.only(thread).Checkpoint))(h)
			other := c.Clone()
			other.State["Amount"] = posthouse.Value{Codec: "json", Data: []byte("99999")}
			d := how(c, other)
			d.Status, d.Next, d.By = posthouse.StatusInterrupted, c.Next, "mallory"
			must(h.ledger.Save(h.Context(), d, &ledger.SaveOptions{Replace: true}))(h)
			must(app.Resume(h.Context(), thread))(h)
			want := []string{"bob", "mallory"}
			if thread == "revision" {
				want = append(want, "carl")
			}
			h.requested(h.only(thread), want...)
		}
	})
}

// A result of a subgraph in a thread of its own counts as the request of whoever changed
// that thread, alone and beside other nodes, also after a crash.
func TestWhoChangesASubgraphCannotApproveWhatItsCallerAsks(t *testing.T) {
	for name, beside := range map[string]bool{"alone": false, "beside another": true} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				build := func() *graph.App[bill] {
					sub := graph.New[bill]("sub")
					sub.Node("look", func(ctx context.Context, b *bill) error {
						_, err := gate.Ask[string](ctx, gate.Question{Name: "look", Text: "Whom?"})
						return err
					})
					sub.Edge(graph.Start, "look")
					sub.Edge("look", graph.End)
					g := graph.New[bill]("outer")
					graph.Subgraph(g, "sub", sub, &graph.SubOptions[bill, bill]{OwnThread: true,
						In:  func(b *bill) bill { return *b },
						Out: func(b, in *bill) error { b.To, b.Amount = in.To, in.Amount; return nil },
					})
					if beside {
						g.Node("wait", func(ctx context.Context, b *bill) error {
							_, err := step.Signal[string](ctx, "go", step.SignalOptions{})
							return err
						})
					}
					g.Node("pay", func(ctx context.Context, b *bill) error {
						_, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{b.To, b.Amount})
						return err
					})
					g.Edge(graph.Start, "sub")
					g.Edge("sub", "pay")
					if beside {
						g.Edge(graph.Start, "wait")
						g.Edge("wait", "pay")
					}
					g.Edge("pay", graph.End)
					return must(g.Compile(h.ledger, nil))(h)
				}
				app := build()
				res := must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
				child := ""
				for _, w := range res.Waiting {
					if w.Kind == posthouse.GateThread {
						child = w.Text
					}
				}
				q := h.only(child)
				h.requested(q, "bob")
				c := must(h.ledger.Get(h.Context(), q.Checkpoint))(h).Clone()
				d := c.Derive(c.State)
				d.State["To"], d.State["Amount"] = posthouse.Value{Codec: "json", Data: []byte(`"mallory"`)}, posthouse.Value{Codec: "json", Data: []byte("99999")}
				d.Status, d.Next, d.By = posthouse.StatusInterrupted, c.Next, "mallory"
				must(h.ledger.Save(h.Context(), d, nil))(h)
				move := func() {
					for _, p := range app.Programs()[1:] {
						if err := p.Advance(h.Context(), child, posthouse.MainBranch); err != nil {
							h.Fatal(err)
						}
					}
				}
				for _, p := range app.Programs()[1:] {
					if r, ok := p.(interface {
						Resume(context.Context, string, string) error
					}); ok {
						_ = r.Resume(h.Context(), child, "")
					}
				}
				move()
				must(app.Resume(h.Context(), "t"))(h)
				q = h.only(child)
				h.requested(q, "bob", "mallory")
				h.decide(q.ID, posthouse.Approve, "alice")
				move()
				must(app.Resume(h.Context(), "t"))(h)
				if beside {
					h.restart()
					app = build()
					must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "go"}))(h)
					must(app.Resume(h.Context(), "t"))(h)
				}
				h.requested(h.only("t"), "bob", "mallory")
			})
		})
	}
}

// Who sends a signal that latches is a requester, sent before the execution waits or while it
// does, and only if it is the one that was read.
func TestWhoSendsALatchedSignalCannotApprove(t *testing.T) {
	for _, early := range []bool{true, false} {
		onStores(t, func(h *house) {
			build := func() *flow.App[int, string] {
				return must(flow.New("f", func(ctx context.Context, n int) (string, error) {
					to, err := step.Signal[string](ctx, "payee", step.SignalOptions{Latch: true})
					if err == nil {
						_, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay?"}, bankTransfer{to, n})
					}
					return to, err
				}).Open(h.ledger, nil))(h)
			}
			send := func(by string) {
				must(h.ledger.Signal(h.Context(), "t", posthouse.Signal{Name: "payee", Value: json.RawMessage(`"` + by + `"`), By: by, Early: true}))(h)
			}
			if early {
				send("carl")
				send("mallory")
			}
			must(build().Run(h.Context(), "t", 10, flow.RunOptions{By: "bob"}))(h)
			if !early {
				send("mallory")
				h.restart()
				must(build().Resume(h.Context(), "t"))(h)
			}
			h.requested(h.only("t"), "bob", "mallory")
		})
	}
}

// A requester has no vote, gets no right handed on, does not come in by escalation, and does
// not count among those who may still approve.
func TestARequesterHasNoVoteAndNoDelegation(t *testing.T) {
	onStores(t, func(h *house) {
		q := gate.Question{Assignees: []string{"alice", "mallory", "carl", "dora"}, Quorum: &posthouse.Quorum{Need: 2, Outvote: true},
			Escalate: &gate.Escalation{After: time.Hour, To: []string{"mallory", "emma"}}}
		app := h.payGraph(q, false)
		must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
		must(app.Update(h.Context(), "t", func(b *bill) { b.To = "mallory" }, graph.UpdateOptions{By: "mallory"}))(h)
		must(app.Resume(h.Context(), "t"))(h)
		g := h.only("t")
		h.requested(g, "bob", "mallory")
		if _, err := h.ledger.Delegate(h.Context(), g.ID, posthouse.Delegation{By: "alice", To: "mallory"}); err == nil {
			h.Error("alice handed her right on to who changed it")
		}
		if _, err := h.ledger.Delegate(h.Context(), g.ID, posthouse.Delegation{By: "mallory", To: "friend"}); err == nil {
			h.Error("who changed it handed a right on")
		}
		h.decide(g.ID, posthouse.Approve, "alice")
		h.now = h.now.Add(2 * time.Hour)
		h.refuse(g, "mallory")
		if got := h.decide(g.ID, posthouse.Reject, "carl"); got.Decision != nil {
			h.Error("one of three rejects, and two may still approve")
		}
		h.decide(g.ID, posthouse.Approve, "emma")
		if res := must(app.Resume(h.Context(), "t"))(h); res.Status != posthouse.StatusDone {
			h.Error(res.Status)
		}
	})
}

// Whoever imports an unverified thread is a requester of the questions of its next input, and
// of the questions of a fork of its history.
func TestWhoImportsUnverifiedCannotApproveWhatFollows(t *testing.T) {
	onStores(t, func(h *house) {
		app := h.payGraph(gate.Question{}, false)
		must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
		asked := h.only("t").Checkpoint
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		var file bytes.Buffer
		must(transfer.Export(h.Context(), h.ledger, "t", &file, nil))(h)
		other := &house{T: h.T, ledger: must(ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()}))(h)}
		defer other.ledger.Close()
		must(transfer.Import(h.Context(), other.ledger, bytes.NewReader(file.Bytes()), &transfer.ImportOptions{Unverified: true, By: "mallory"}))(h)
		app = other.payGraph(gate.Question{}, false)
		must(app.Run(h.Context(), "t", bill{Amount: 20}, graph.RunOptions{By: "otto"}))(h)
		other.requested(other.only("t"), "bob", "otto", "mallory")
		must(app.Fork(h.Context(), asked, nil, graph.ForkOptions{Branch: "f", By: "carl"}))(h)
		must(app.Resume(h.Context(), "t", graph.RunOptions{Branch: "f"}))(h)
		other.requested(other.on("t", "f"), "bob", "mallory")
		must(app.Fork(h.Context(), asked, nil, graph.ForkOptions{Thread: "away", By: "carl"}))(h)
		must(app.Resume(h.Context(), "away"))(h)
		other.requested(other.only("away"), "bob", "mallory")
	})
}

// A handler's question is the request of all who made or changed its input.
func TestAHandlersQuestionIsOfWhoChangedTheRequest(t *testing.T) {
	onStores(t, func(h *house) {
		g := graph.New[bill]("ship")
		g.Remote("pay", graph.Remote[bill, bill, string]{
			Task: "pay", In: func(b *bill) (bill, error) { return *b, nil }, Out: func(b *bill, s string) error { b.Note = s; return nil },
		})
		g.Edge(graph.Start, "pay")
		g.Edge("pay", graph.End)
		app := must(g.Compile(h.ledger, nil))(h)
		k := h.desk()
		defer k.stop()
		must(app.Run(h.Context(), "t", bill{To: "shop", Amount: 10}, graph.RunOptions{By: "bob"}))(h)
		asks := func(c *task.Claim) {
			h.Helper()
			q := posthouse.Gate{Name: "ship", Kind: posthouse.GateApproval, Text: "Ship it?"}
			if err := k.d.Resolve(h.Context(), c.ID, task.Verdict{Action: task.Await, Waits: []task.Wait{{Question: &q}}}); err != nil {
				h.Fatal(err)
			}
		}
		asks(k.claim())
		must(app.Resume(h.Context(), "t", graph.RunOptions{By: "otto"}))(h)
		h.requested(h.only("t"), "bob")
		must(app.Update(h.Context(), "t", func(b *bill) { b.To, b.Amount = "mallory", 99999 }, graph.UpdateOptions{By: "mallory"}))(h)
		must(app.Resume(h.Context(), "t", graph.RunOptions{By: "otto"}))(h)
		h.requested(h.only("t"), "bob", "mallory")
	})
}
