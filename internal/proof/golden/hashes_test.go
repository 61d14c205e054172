package golden_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

var updateHashes = flag.Bool("golden.hashes", false, "write testdata/hashes.json anew")

const hashesFile = "testdata/hashes.json"

// TestHashesStay does what a program can do to a store, with a fixed clock, fixed
// random numbers and a fixed key: the hash of each thread's last entry, which chains
// all before it, is what it was. Whoever moves code finds out here that a byte of
// the log moved, too.
func TestHashesStay(t *testing.T) {
	got := map[string]map[string]string{}
	for posture, o := range map[string]ledger.Options{
		"plain": {}, "signed": {Signer: testKey(t)}, "sealed": {Cipher: hashesRing(t)},
	} {
		t.Run(posture, func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, 1)
			got[posture] = hashes(t, o)
		})
	}
	if *updateHashes {
		data, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(hashesFile, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(hashesFile)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for posture, threads := range want {
		for thread, hash := range threads {
			if got[posture][thread] != hash {
				t.Errorf("%s, thread %s ends with %s, was %s", posture, thread, got[posture][thread], hash)
			}
		}
		if len(got[posture]) != len(threads) {
			t.Errorf("%s has %d threads, had %d", posture, len(got[posture]), len(threads))
		}
	}
}

func hashesRing(t *testing.T) *crypt.Keyring {
	t.Helper()
	ring, err := crypt.NewKeyring(map[string][]byte{"test": []byte("TEST KEY ONLY, golden, the first")}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// An era is a process with a clock that stands still until it is told to go on.
type era struct {
	t     *testing.T
	at    time.Time
	l     *ledger.Ledger
	calls *Calls
}

// hashes does everything, and returns how each thread ends: its number of entries
// and the last one's link.
func hashes(t *testing.T, o ledger.Options) map[string]string {
	w := &era{t: t, at: time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC), calls: &Calls{}}
	o.Now, o.Validate, o.Owner = func() time.Time { return w.at }, gate.Validator(), "golden"
	l, err := ledger.Open(memstore.New(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w.l = l
	w.byHand()
	w.asked()
	w.programs()
	all := map[string]string{}
	for info, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		all[info.Thread] = fmt.Sprintf("%d %s", info.Tail.Seq, info.Link)
	}
	return all
}

// ok fails the test on an error, and lets a second pass.
func ok[T any](w *era, v T, err error) T {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	w.at = w.at.Add(time.Second)
	return v
}

func (w *era) line(thread string, n int) (all []*posthouse.Checkpoint) {
	state := func(i int) posthouse.State {
		return posthouse.State{"n": {Codec: "json", Data: fmt.Appendf(nil, "%d", i)}, "fixed": {Codec: "json", Data: []byte(`"the same"`)}}
	}
	c := posthouse.Root(thread, state(0))
	if head, err := w.l.Latest(w.t.Context(), ledger.LatestQuery{Thread: thread}); err == nil {
		c = head.Derive(state(0))
	}
	for i := range n {
		saved, err := w.l.Save(w.t.Context(), c, nil)
		all = append(all, ok(w, saved, err))
		c = saved.Derive(state(i + 1))
	}
	return all
}

// byHand saves, splices, forks, copies, signals, holds, releases, deletes and
// retains.
func (w *era) byHand() {
	ctx, l := w.t.Context(), w.l
	chat := posthouse.Root("chat", posthouse.State{"messages": {Codec: "json", Data: []byte(`[]`)}})
	saved, err := l.Save(ctx, chat, nil)
	size, parent := 2, ok(w, saved, err).ID
	for i := range 20 {
		message := fmt.Sprintf(`{"n":%d}`, i)
		if i > 0 {
			message = "," + message
		}
		done, err := l.Commit(ctx, &ledger.Draft{Thread: "chat", Head: &parent, Checkpoint: &posthouse.Change{
			Parts: []posthouse.Part{{Name: "messages", Splice: true, Prefix: size - 1, Suffix: 1, Data: []byte(message)}}, Run: "run-1", By: "zoe",
		}})
		size, parent = size+len(message), ok(w, done, err).Checkpoint.ID
	}
	trunk := w.line("trunk", 6)
	fork, err := l.Fork(ctx, trunk[2].ID, nil)
	ok(w, fork, err)
	fork, err = l.Fork(ctx, trunk[3].ID, &ledger.ForkOptions{Thread: "away", Patch: posthouse.State{"n": {Codec: "json", Data: []byte("9")}}, By: "mia"})
	ok(w, fork, err)
	info, err := transfer.CopyThread(ctx, l, "trunk", "copied", nil)
	ok(w, info, err)
	for _, s := range []posthouse.Signal{{Name: "ping", Value: []byte("1"), By: "bank"}, {Name: "price", Value: []byte("2"), Latch: true}} {
		sent, err := l.Signal(ctx, "trunk", s)
		ok(w, sent, err)
	}
	hold, err := retain.Hold(ctx, l, "trunk", retain.HoldOptions{By: "law", Reason: "case 7"})
	ok(w, hold, err)
	w.line("report", 4)
	released, err := l.Release(ctx, "report", &ledger.ReleaseOptions{Tags: []string{"may"}, By: "alice"})
	ok(w, released, err)
	w.line("report", 2)
	for _, mode := range []retain.DeleteMode{retain.DeleteOrphan, retain.DeleteSubtree} {
		gone, err := retain.Delete(ctx, l, w.line(string(mode), 5)[2].ID, &retain.DeleteOptions{Mode: mode, By: "law", Reason: "asked to forget"})
		ok(w, gone, err)
	}
	w.line("retained", 10)
	kept, err := retain.Run(ctx, l, retain.Policy{MaxPerThread: 3, Prefix: "retained"}, nil)
	ok(w, kept, err)
	w.line("again", 2)
	gone, err := retain.DeleteThread(ctx, l, "again", &retain.DeleteOptions{By: "law"})
	ok(w, gone, err)
	w.line("again", 2)
}

// asked opens gates by hand, and has them decided, voted, delegated, escalated,
// expired, cancelled and asked again.
func (w *era) asked() {
	ctx, l := w.t.Context(), w.l
	open := func(thread string, g posthouse.Gate) posthouse.ID {
		g.Name, g.Task, g.Text, g.Payload = "ok?", "1/n", "Pay?", []byte(`{"amount":500}`)
		done, err := l.Commit(ctx, &ledger.Draft{
			Thread: thread, Gates: []posthouse.Gate{g}, Steps: []posthouse.Step{{Task: "1/n", Name: "think", Value: posthouse.Value{Data: []byte("1")}}},
			Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "g", Next: []string{"n"}, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}},
		})
		return ok(w, done, err).Gates[0].ID
	}
	decide := func(id posthouse.ID, v posthouse.Verdict, by string) {
		g, err := l.Decide(ctx, id, posthouse.Decision{Verdict: v, By: by, Reason: "golden"})
		ok(w, g, err)
	}
	decide(open("decided", posthouse.Gate{}), posthouse.Approve, "alice")
	votes := open("voted", posthouse.Gate{Quorum: &posthouse.Quorum{Need: 2}, RequestedBy: "zoe"})
	decide(votes, posthouse.Approve, "alice")
	decide(votes, posthouse.Approve, "bob")
	g, err := l.Delegate(ctx, open("delegated", posthouse.Gate{Assignees: []string{"alice"}}), posthouse.Delegation{By: "alice", To: "dora"})
	ok(w, g, err)
	late := open("late", posthouse.Gate{Assignees: []string{"alice"}, ExpiresAt: w.at.Add(time.Hour), Escalation: &posthouse.Escalation{At: w.at.Add(time.Minute), To: []string{"eve"}}})
	w.at = w.at.Add(30 * time.Minute)
	g, err = commit.Escalate(ctx, l.Core(), late)
	ok(w, g, err)
	w.at = w.at.Add(time.Hour)
	g, err = commit.Expire(ctx, l.Core(), late)
	ok(w, g, err)
	g, err = l.AskAgain(ctx, late, nil)
	ok(w, g, err)
	open("cancelled", posthouse.Gate{})
	h, err := l.Cancel(ctx, "cancelled", &ledger.CancelOptions{By: "zoe"})
	ok(w, h, err)
	open("anew", posthouse.Gate{})
	head, err := l.Latest(ctx, ledger.LatestQuery{Thread: "anew"})
	a, err := l.RestartStep(ctx, ok(w, head, err).ID, nil)
	ok(w, a, err)
}

// programs runs a graph, a flow and a coordinator to their questions and beyond.
func (w *era) programs() {
	ctx, l := w.t.Context(), w.l
	answer := func(thread string, v posthouse.Verdict, value string) {
		info, err := l.Thread(ctx, thread)
		d := posthouse.Decision{Verdict: v, By: "alice"}
		if value != "" {
			d.Value = json.RawMessage(value)
		}
		g, err := l.Decide(ctx, ok(w, info, err).Waiting[0].ID, d)
		ok(w, g, err)
	}
	app, err := refundGraph(w.calls).Compile(l, nil)
	ok(w, app, err)
	for _, kind := range []string{"plain", "judged", "quorum", "expiring"} {
		r, err := app.Run(ctx, "graph-"+kind, Refund{Request: kind + " order 1", Amount: 500}, graph.RunOptions{By: "zoe", Run: "run-1"})
		ok(w, r, err)
	}
	answer("graph-plain", posthouse.Edit, `{"amount":250}`)
	r, err := app.Resume(ctx, "graph-plain")
	ok(w, r, err)
	order, err := flow.New("golden-order", orderFlow(w.calls)).Open(l, nil)
	ok(w, order, err)
	for _, kind := range []string{"ask", "loop"} {
		out, err := order.Run(ctx, "flow-"+kind, Order{kind, "lamp"}, flow.RunOptions{By: "zoe", Run: "run-2"})
		ok(w, out, err)
	}
	answer("flow-ask", posthouse.Approve, "")
	out, err := order.Resume(ctx, "flow-ask")
	ok(w, out, err)
	dispatch, err := newCoordinator(l, w.calls)
	ok(w, dispatch, err)
	reply, err := dispatch.Handle(ctx, "refund order 500", &coord.HandleOptions{Thread: "request", By: "zoe"})
	ok(w, reply, err)
	answer("request", posthouse.Approve, "")
	reply, err = dispatch.Resume(ctx, "request", nil)
	ok(w, reply, err)
}
