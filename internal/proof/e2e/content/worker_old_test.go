package content_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/transfer"
)

// onEarlierStore runs a test over a store in which an earlier version handed out a task under a
// grant, without the grant's name in the call: over its file, and over a copy in memory. The
// payment of thread t is approved.
func onEarlierStore(t *testing.T, name string, test func(h *house, grant posthouse.ID)) {
	for _, kind := range []string{"sqlite", "memory"} {
		t.Run(kind, func(t *testing.T) {
			var store posthouse.Store = must2(sqlitestore.Open(t.Context(), unpacked(t, name), nil))(t)
			file := store
			t.Cleanup(func() {
				if err := file.Close(); err != nil {
					t.Error(err)
				}
			})
			if kind == "memory" {
				store = memstore.New()
				must2(transfer.CopyStore(t.Context(), file, store, nil))(t)
			}
			h := &house{T: t, store: store, now: time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)}
			h.restart()
			g := h.approved("t")
			h.now = g.Decision.At.Add(time.Minute) // the approval is good for an hour
			test(h, g.ID)
		})
	}
}

func must2[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// unpacked returns a copy of the store.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	f := must2(os.Open("testdata/" + name + "-39d2def.db.gz"))(t)
	defer f.Close()
	data := must2(io.ReadAll(must2(gzip.NewReader(f))(t)))(t)
	path := filepath.Join(t.TempDir(), "posthouse.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// approved returns the gate under which the effect of a thread was let go.
func (h *house) approved(thread string) *posthouse.Gate {
	h.Helper()
	uses := must(ledger.Effects(h.Context(), h.ledger, thread))(h)
	if len(uses) != 1 {
		h.Fatalf("uses %+v", uses)
	}
	return must(h.ledger.Gate(h.Context(), uses[0].Grant))(h)
}

// paid has the worker make the payment.
func (k *desk) paid(c *task.Claim) {
	k.Helper()
	if err := k.d.Resolve(k.Context(), c.ID, task.Verdict{Action: task.Complete, Output: []byte(`"paid"`)}); err != nil {
		k.Fatal(err)
	}
}

// The task is handed out again, with the grant that it is under, and is the effect of that.
func TestTasksOfAnEarlierVersionNameTheirGrant(t *testing.T) {
	onEarlierStore(t, "open", func(h *house, grant posthouse.ID) {
		app := paysAtWorker(h)
		k := h.desk()
		defer k.stop()
		c := k.wants(app)
		if c == nil || c.Grant != grant || c.Key == "" {
			h.Fatalf("%+v", c)
		}
		k.paid(c)
		if res := must(app.Resume(h.Context(), "t"))(h); res.Output != "paid" {
			h.Errorf("result %+v", res)
		}
		if g := h.grantIs(grant, grants.Executed); len(g.Uses) != 1 || len(g.Uses[0].Attempts) != 1 {
			h.Errorf("g.Uses %+v", g.Uses)
		}
	})
}

// A copy or a fork of the thread asks, whether the original has been paid or not.
func TestCopiesOfAnEarlierTaskAsk(t *testing.T) {
	onEarlierStore(t, "open", func(h *house, grant posthouse.ID) {
		app := paysAtWorker(h)
		must(transfer.CopyThread(h.Context(), h.ledger, "t", "copy", nil))(h)
		branch := must(h.ledger.Fork(h.Context(), h.head("t"), nil))(h)
		k := h.desk()
		defer k.stop()
		c := k.wants(app)
		if c == nil || c.Thread != "t" || c.Grant != grant {
			h.Fatalf("%+v", c)
		}
		k.paid(c)
		must(app.Resume(h.Context(), "t"))(h)
		must(app.Resume(h.Context(), "copy"))(h)
		must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: branch.Branch}))(h)
		if c := k.claim(); c != nil {
			h.Errorf("a copy pays: %+v", c)
		}
		must(app.Resume(h.Context(), "copy"))(h)
		must(app.Resume(h.Context(), "t", flow.RunOptions{Branch: branch.Branch}))(h)
		for _, thread := range []string{"copy", "t"} {
			if q := h.only(thread); q.Name != "pay" && gate.KindOutcome != q.Kind {
				h.Errorf("%+v", q)
			}
		}
	})
}

// A worker has the task when the engine is replaced: it may end it, and its silence leaves the
// outcome unknown.
func TestClaimsOfAnEarlierVersion(t *testing.T) {
	for name, end := range map[string]func(k *desk, app *flow.App[int, string], c task.ClaimID){
		"silence": func(k *desk, _ *flow.App[int, string], _ task.ClaimID) {
			if c := k.claim(); c != nil {
				k.Fatal(c)
			}
			k.now = k.now.Add(2 * time.Minute)
			k.connect()
			k.claim()
		},
		"unknown": func(k *desk, _ *flow.App[int, string], c task.ClaimID) {
			if err := k.d.Resolve(k.Context(), c, task.Verdict{Action: task.Unknown, Reason: "the line went dead"}); err != nil {
				k.Fatal(err)
			}
		},
		"cancel": func(k *desk, _ *flow.App[int, string], c task.ClaimID) {
			if c := k.claim(); c != nil { // it looks at what the other worker has
				k.Fatal(c)
			}
			k.decide(c.Gate, posthouse.Cancel, "ann")
		},
		"fork": func(k *desk, app *flow.App[int, string], _ task.ClaimID) {
			must(k.ledger.Fork(k.Context(), k.head("t"), &ledger.ForkOptions{Branch: "other"}))(k.house)
			must(app.Resume(k.Context(), "t", flow.RunOptions{Branch: "other"}))(k.house)
			if c := k.claim(); c != nil {
				k.Fatalf("the fork pays: %+v", c)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEarlierStore(t, "claimed", func(h *house, grant posthouse.ID) {
				if _, file := h.store.(*sqlitestore.Store); !file && name != "silence" {
					return // a copied store has no workers that live
				}
				app := paysAtWorker(h)
				k := h.desk()
				defer k.stop()
				end(k, app, h.claimed())
				must(app.Resume(h.Context(), "t"))(h)
				if c := k.claim(); c != nil {
					h.Fatalf("it is paid again: %+v", c)
				}
				if name == "fork" {
					return
				}
				q := h.only("t")
				if q.Kind != gate.KindOutcome {
					h.Fatalf("%+v", q)
				}
				h.grantIs(grant, grants.Unknown)
				h.decide(q.ID, posthouse.Redo, "alice") // it was not done
				again := k.wants(app)
				if again == nil || again.Grant != grant {
					h.Fatalf("again %+v", again)
				}
				k.paid(again)
				must(app.Resume(h.Context(), "t"))(h)
				h.grantIs(grant, grants.Executed)
			})
		})
	}
}

// claimed returns the claim that the store has from its engine.
func (h *house) claimed() task.ClaimID {
	h.Helper()
	var g *posthouse.Gate
	for open, err := range h.ledger.Gates(h.Context(), ledger.GateQuery{Thread: "t", Kind: posthouse.GateTask}) {
		g = open
		if err != nil {
			h.Fatal(err)
		}
	}
	slot := must(h.store.Slot(h.Context(), posthouse.SlotKey{Thread: "t", Step: g.Task + "/" + g.Name}, posthouse.SlotOp{Verb: posthouse.SlotGet}))(h)
	return task.ClaimID{Gate: g.ID, Fence: slot.Fence}
}

// head returns the newest checkpoint of a thread's first branch.
func (h *house) head(thread string) posthouse.ID {
	h.Helper()
	b, _ := must(h.ledger.Thread(h.Context(), thread))(h).Branch(posthouse.MainBranch)
	return b.Head
}
