package content_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// payingOnce is a flow that proposes 10 for bob and pays.
func payingOnce(h *house, b *bank, o gate.ActOptions[bankTransfer, string]) *flow.App[int, string] {
	return flowOf(h, func(ctx context.Context) (string, error) {
		grant, err := propose(ctx, "pay", bankTransfer{"bob", 10})
		if err != nil {
			return "", err
		}
		return gate.Act(ctx, "pay", grant, b.pay, o)
	})
}

// approvedIn begins a thread of payingOnce, and has its proposal approved: nothing has run under it.
func approvedIn(h *house, app *flow.App[int, string], thread string) {
	h.Helper()
	must(app.Run(h.Context(), thread, 0))(h)
	h.decide(h.only(thread).ID, posthouse.Approve, "alice")
}

// elsewhere opens another house over an empty store.
func (h *house) elsewhere() *house {
	h.Helper()
	other := &house{T: h.T, store: memstore.New(), now: h.now}
	other.restart()
	return other
}

// An approval pays in one store, however often its thread is exported and imported.
func TestImportEndsApprovals(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		approvedIn(h, payingOnce(h, b, gate.ActOptions[bankTransfer, string]{}), "order")
		var file bytes.Buffer
		must(transfer.Export(h.Context(), h.ledger, "order", &file, nil))(h)
		other := h.elsewhere()
		done := must(transfer.Import(h.Context(), other.ledger, bytes.NewReader(file.Bytes()), &transfer.ImportOptions{By: "ops"}))(h)
		if len(done.Ended) != 1 {
			h.Errorf("the import lists %v", done.Ended)
		}
		app, there := payingOnce(h, b, gate.ActOptions[bankTransfer, string]{}), payingOnce(other, b, gate.ActOptions[bankTransfer, string]{})
		must(app.Resume(h.Context(), "order"))(h)
		_, err := there.Resume(h.Context(), "order")
		if len(b.paid) != 1 {
			h.Fatalf("one approval paid %v: %v", b.paid, err)
		}
		again := other.only("order")
		if !strings.Contains(again.Note, "imported") {
			h.Errorf("it is asked again with %q", again.Note)
		}
		if g := must(ledger.ReadGrant(h.Context(), other.ledger, done.Ended[0]))(h); g.Approval == "usable" {
			h.Errorf("the ended approval is %s", g.Approval)
		}
		other.decide(again.ID, posthouse.Approve, "alice")
		must(there.Resume(h.Context(), "order"))(h)
		if len(b.paid) != 2 { // somebody said so, here
			h.Errorf("paid %v", b.paid)
		}
	})
}

// What was approved before a store was put back is asked about before it runs.
func TestPutBackAsks(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := payingOnce(h, b, gate.ActOptions[bankTransfer, string]{})
		approvedIn(h, app, "order")
		must(app.Run(h.Context(), "open", 0))(h)
		h.now = h.now.Add(time.Minute)
		done := must(transfer.PutBack(h.Context(), h.ledger, &transfer.PutBackOptions{By: "ops"}))(h)
		if done.Threads != 2 || done.Approvals != 1 {
			h.Errorf("it marks %+v", done)
		}
		h.restart()
		must(transfer.LastPutBack(h.Context(), h.ledger))(h)
		if terms := gate.Terms(h.only("open")); !strings.Contains(fmt.Sprint(terms), "Store put back") {
			h.Errorf("the open question shows %v", terms)
		}
		app = payingOnce(h, b, gate.ActOptions[bankTransfer, string]{})
		must(app.Resume(h.Context(), "order"))(h)
		g := h.only("order")
		if len(b.paid) != 0 || !g.AsksOutcome() || !strings.Contains(g.Note, "put back to") {
			h.Fatalf("paid %v, asked %q %q", b.paid, g.Text, g.Note)
		}
		must(app.Resume(h.Context(), "order"))(h) // it waits
		h.decide(g.ID, posthouse.Redo, "alice")
		must(app.Resume(h.Context(), "order"))(h)
		if len(b.paid) != 1 || len(h.inbox("order")) != 0 {
			h.Errorf("paid %v, asked %d", b.paid, len(h.inbox("order")))
		}
	})
}

// An effect that happens once for its key continues with the same key, and a program's own look comes
// before people.
func TestPutBackIdempotentAndReconcile(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := payingOnce(h, b, gate.ActOptions[bankTransfer, string]{Idempotent: true})
		approvedIn(h, app, "idempotent")
		found, looks := false, 0
		look := gate.ActOptions[bankTransfer, string]{Reconcile: func(context.Context, bankTransfer) (string, bool, error) {
			looks++
			return "found", found, nil
		}}
		for _, thread := range []string{"found", "missing"} {
			approvedIn(h, payingOnce(h, b, look), thread)
		}
		must(transfer.PutBack(h.Context(), h.ledger, &transfer.PutBackOptions{By: "ops"}))(h)
		must(app.Resume(h.Context(), "idempotent"))(h)
		if len(b.paid) != 1 {
			h.Errorf("paid %v", b.paid)
		}
		app, found = payingOnce(h, b, look), true
		r := must(app.Resume(h.Context(), "found"))(h)
		if r.Output != "found" || looks != 1 || len(b.paid) != 1 {
			h.Errorf("%q after %d looks, paid %v", r.Output, looks, b.paid)
		}
		found = false
		must(app.Resume(h.Context(), "missing"))(h)
		if g := h.only("missing"); len(b.paid) != 1 || !strings.Contains(g.Note, "put back") || !strings.Contains(g.Note, "looked") {
			h.Errorf("paid %v, asked %q", b.paid, g.Note)
		}
		_, err := h.ledger.Decide(h.Context(), h.only("missing").ID, posthouse.Decision{Verdict: posthouse.GiveUp, By: "alice"})
		if _, e := app.Resume(h.Context(), "missing"); err != nil || !errors.Is(e, posthouse.ErrForbidden) || len(b.paid) != 1 {
			h.Errorf("given up: %v, %v, paid %v", err, e, b.paid)
		}
	})
}

// A task from before is given to no worker after its thread was imported, or the store put back: people
// are asked whether it was done.
func TestCopiedTaskIsNotHandedOut(t *testing.T) {
	onStores(t, func(h *house) {
		app := paysAtWorker(h)
		approvedAtWorker(h, app)
		var file bytes.Buffer
		must(transfer.Export(h.Context(), h.ledger, "t", &file, nil))(h)
		other := h.elsewhere()
		must(transfer.Import(h.Context(), other.ledger, bytes.NewReader(file.Bytes()), nil))(h)
		must(transfer.PutBack(h.Context(), h.ledger, nil))(h)
		for _, at := range []*house{h, other} {
			k := at.desk()
			if c := k.claim(); c != nil {
				h.Errorf("a worker gets %+v", c)
			}
			must(paysAtWorker(at).Resume(h.Context(), "t"))(h)
			if c := k.claim(); c != nil {
				h.Errorf("after a resume a worker gets %+v", c)
			}
			k.stop()
			if g := at.only("t"); !g.AsksPeople() {
				h.Errorf("it asks %+v", g)
			}
		}
	})
}

// The handler of a worker is not let run an effect under an approval from before, either.
func TestHandlerAfterPutBack(t *testing.T) {
	onStores(t, func(h *house) {
		app, bank := handsOut(h), newBank()
		k := h.desk()
		p := &handlerPay{question: payQuestion(), pay: bank.pay}
		stop := k.serve("w2", k.d, p.handle)
		must(app.Run(h.Context(), "t", 10))(h)
		h.handled("t")
		h.resumeHandled(app, "t", "")
		stop()
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(transfer.PutBack(h.Context(), h.ledger, nil))(h)
		stop = k.serve("w2", k.d, p.handle)
		defer func() { stop(); k.stop() }()
		h.resumeHandled(app, "t", "")
		h.resumeHandled(app, "t", "")
		if g := h.only("t"); bank.paid.Load() != 0 || !strings.Contains(g.Note, "put back to") {
			h.Fatalf("paid %d, asked %q", bank.paid.Load(), g.Note)
		}
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		h.resumeHandled(app, "t", "")
		h.resumeHandled(app, "t", "")
		if bank.paid.Load() != 1 {
			h.Errorf("paid %d", bank.paid.Load())
		}
	})
}
