package golden_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
)

// A world is a golden store with the programs of its threads.
type world struct {
	t     *testing.T
	l     *ledger.Ledger
	calls *Calls

	refund, faulty *graph.App[Refund]
	trip           *graph.App[Trip]
	order          *flow.App[Order, string]
	dispatch       *coord.Coordinator
}

func (g goldenStore) world(t *testing.T, store posthouse.Store) *world {
	t.Helper()
	l, _ := g.ledger(t, store)
	w := &world{t: t, l: l, calls: &Calls{}}
	var errs [5]error
	w.refund, errs[0] = refundGraph(w.calls).Compile(l, nil)
	w.faulty, errs[1] = faultyGraph(w.calls).Compile(l, nil)
	w.trip, errs[2] = tripGraph(w.calls).Compile(l, nil)
	w.order, errs[3] = flow.New("golden-order", orderFlow(w.calls)).Open(l, nil)
	w.dispatch, errs[4] = newCoordinator(l, w.calls)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return w
}

// resume goes on with a thread and says how it stands: the status, what the
// program says, and what ran for it, by name and number.
func (w *world) resume(thread, branch string) string {
	w.t.Helper()
	w.calls.n = nil
	status, says, err := w.advance(thread, branch)
	if err != nil {
		return "error: " + err.Error()
	}
	ran := []string{}
	for _, name := range slices.Sorted(maps.Keys(w.calls.n)) {
		ran = append(ran, fmt.Sprintf("%s x%d", name, w.calls.n[name]))
	}
	return fmt.Sprintf("%s | %s | ran %s", status, says, strings.Join(ran, ", "))
}

func (w *world) advance(thread, branch string) (status posthouse.Status, says string, err error) {
	ctx := w.t.Context()
	o := graph.RunOptions{Branch: branch}
	switch kind, _, _ := strings.Cut(thread, "-"); {
	case strings.Contains(thread, ".insurance."):
		for _, p := range w.trip.Programs() {
			if strings.Contains(p.Name(), "insurance") {
				err = p.Advance(ctx, thread, "")
			}
		}
		info, failed := w.l.Thread(ctx, thread)
		if failed != nil {
			return "", "", failed
		}
		return info.Status, "", err
	case kind == "trip":
		out, err := w.trip.Resume(ctx, thread, o)
		if err != nil {
			return "", "", err
		}
		return out.Status, fmt.Sprint(out.State.Hotel, " ", out.State.Flight, " ", out.State.Log), nil
	case kind == "coord":
		out, err := w.dispatch.Resume(ctx, thread, nil)
		if err != nil {
			return "", "", err
		}
		c, err := w.l.Get(ctx, out.Checkpoint)
		if err != nil {
			return "", "", err
		}
		return out.Status, fmt.Sprintf("%s", c.State), nil
	case kind == "flow":
		nobody := gate.NewSession(&gate.SessionOptions{By: "alice", Announce: func(g *posthouse.Gate) error {
			w.calls.ran("approval of " + g.Name)
			return errors.New("nobody is asked again")
		}})
		defer nobody.Close()
		out, err := w.order.Resume(nobody.With(ctx), thread)
		if err != nil {
			return "", "", err
		}
		return out.Status, withoutOrder(out.Output), nil
	default:
		app := w.refund
		if slices.Contains([]string{"graph-interrupted", "graph-retry", "graph-failed"}, thread) {
			app = w.faulty
		}
		out, err := app.Resume(ctx, thread, o)
		if err != nil {
			return "", "", err
		}
		return out.Status, fmt.Sprintf("%s, %d %q", strings.Join(out.State.Log, "; "), out.State.Amount, out.State.Paid), nil
	}
}

// withoutOrder tells answers of questions that were asked at once, since which
// of them was the first to be decided is another in each store.
func withoutOrder(output string) string {
	charge, rest, _ := strings.Cut(output, ", item ")
	answers, shipped, many := strings.Cut(rest, ", ")
	if !many {
		return output
	}
	each := strings.Split(answers, "; ")
	for i := range each {
		each[i] = strings.TrimPrefix(each[i], "item ")[len("a "):]
	}
	slices.Sort(each)
	return charge + ", " + strings.Join(each, "; ") + ", " + shipped
}

// decide answers the oldest gate that the branch waits for.
func (w *world) decide(thread, branch string, v posthouse.Verdict, by, value string) {
	w.t.Helper()
	d := posthouse.Decision{Verdict: v, By: by}
	if value != "" {
		d.Value = json.RawMessage(value)
	}
	if _, err := w.l.Decide(w.t.Context(), w.gate(thread, branch), d); err != nil {
		w.t.Errorf("deciding %s: %v", thread, err)
	}
}

func (w *world) expire(thread string) {
	w.t.Helper()
	if _, err := commit.Expire(w.t.Context(), w.l.Core(), w.gate(thread, "main")); err != nil {
		w.t.Errorf("expiring %s: %v", thread, err)
	}
}

func (w *world) gate(thread, branch string) posthouse.ID {
	w.t.Helper()
	info, err := w.l.Thread(w.t.Context(), thread)
	if err != nil {
		w.t.Fatal(err)
	}
	i := slices.IndexFunc(info.Waiting, func(g posthouse.WaitingGate) bool { return g.Branch == branch })
	if i < 0 {
		w.t.Fatalf("branch %s of %s waits for nothing", branch, thread)
	}
	return info.Waiting[i].ID
}

// A continuation is a thread that goes on today. Answers on record count, what
// they are for is not asked again, and nothing that is on record runs again.
type continuation struct {
	thread string
	first  func(w *world, thread string) // what comes before the thread is resumed; nil: nothing
	want   string
}

func answered(v posthouse.Verdict, by, value string) func(*world, string) {
	return func(w *world, thread string) { w.t.Helper(); w.decide(thread, "main", v, by, value) }
}

func signalled(name, value string) func(*world, string) {
	return func(w *world, thread string) {
		w.t.Helper()
		if _, err := w.l.Signal(w.t.Context(), thread, posthouse.Signal{Name: name, Value: json.RawMessage(value), Latch: name == "price"}); err != nil {
			w.t.Errorf("signalling %s: %v", thread, err)
		}
	}
}

// inOrder does one after the other.
func inOrder(all ...func(*world, string)) func(*world, string) {
	return func(w *world, thread string) {
		w.t.Helper()
		for _, do := range all {
			do(w, thread)
		}
	}
}

func resumed(w *world, thread string) { w.t.Helper(); w.resume(thread, "main") }

// within does it in the thread that the trip's insurance has.
func within(do func(*world, string)) func(*world, string) {
	return func(w *world, thread string) {
		w.t.Helper()
		for t, err := range w.l.Threads(w.t.Context(), posthouse.ThreadQuery{Prefix: thread + ".insurance."}) {
			if err != nil {
				w.t.Fatal(err)
			}
			do(w, t.Thread)
		}
	}
}

func expired(w *world, thread string) { w.t.Helper(); w.expire(thread) }

var continuations = []continuation{
	{"graph-open", answered("approve", "bob", ""), `done | prepared for customer 7; fee 3, approve by bob, 500 "receipt 1" | ran pay x1`},
	{"graph-decided", nil, `done | prepared for customer 7; fee 3, approve by alice, 500 "receipt 1" | ran pay x1`},
	{"graph-edited", nil, `done | prepared for customer 7; fee 3, edit by bob, 250 "receipt 1" | ran pay x1`},
	{"graph-rejected", nil, `done | prepared for customer 7; fee 3, reject by bob, 0 "" | ran `},
	{"graph-responded", nil, `done | prepared for customer 7; fee 3, respond by bob, 0 "" | ran `},
	{"graph-withdrawn", nil, `done | prepared for customer 7; fee 3, cancel by zoe, 0 "" | ran `},
	{"graph-done", nil, `done | prepared for customer 7; fee 3, approve by alice, 500 "receipt 1" | ran `},
	{"graph-expired", nil, `done | prepared for customer 7; fee 3, expire by posthouse, 0 "" | ran `},
	{"graph-due", expired, `done | prepared for customer 7; fee 3, expire by posthouse, 0 "" | ran `},
	{"graph-accepted", nil, `done | prepared for customer 7; fee 3, approve by policy:accept, 500 "receipt 1" | ran `},
	{"graph-judged", answered("respond", "bob", `"noon"`), `done | prepared for customer 7; when: respond "noon"; fee 3, approve by policy:judge, 500 "receipt 1" | ran pay x1`},
	{"graph-unsure", answered("approve", "bob", ""), `done | prepared for customer 7; fee 3, approve by bob, 500 "receipt 1" | ran pay x1`},
	{"graph-lapsing", expired, `done | prepared for customer 7; fee 3, approve by policy:timeout, 500 "receipt 1" | ran pay x1`},
	{"graph-twice", answered("respond", "bob", `"noon"`), `done | prepared for customer 7; when: respond "noon"; fee 3, approve by alice, 500 "receipt 1" | ran pay x1`},
	{"graph-quorum", answered("approve", "bob", ""), `done | prepared for customer 7; fee 3, approve by bob, 500 "receipt 1" | ran pay x1`},
	{"graph-outvoted", nil, `done | prepared for customer 7; fee 3, reject by bob, 0 "" | ran `},
	{"graph-four", answered("approve", "bob", ""), `done | prepared for customer 7; fee 3, approve by bob, 500 "receipt 1" | ran pay x1`},
	{"graph-delegated", answered("approve", "dora", ""), `done | prepared for customer 7; fee 3, approve by dora, 500 "receipt 1" | ran pay x1`},
	{"graph-escalating", answered("approve", "boss", ""), `done | prepared for customer 7; fee 3, approve by boss, 500 "receipt 1" | ran pay x1`},
	{"graph-fork", answered("approve", "bob", ""), `done | prepared for customer 7; fee 3, approve by bob, 500 "receipt 1" | ran pay x1`},
	{"graph-fork-judged", answered("respond", "bob", `"noon"`), `done | prepared for customer 7; when: respond "noon"; fee 3, approve by policy:judge, 500 "receipt 1" | ran pay x1`},
	{"graph-copy", answered("respond", "bob", `"noon"`), `done | prepared for customer 7; when: respond "noon"; fee 3, approve by alice, 500 "receipt 1" | ran pay x1`},
	{"graph-forked", answered("approve", "bob", ""), `done | prepared for customer 7; fee 3, approve by bob, 500 "receipt 1" | ran pay x1`},
	{"graph-cancelled", nil, `cancelled | prepared for customer 7, 500 "" | ran `},
	{"graph-interrupted", nil, `done | begun; mended, 0 "" | ran flaky x1`},
	{"graph-retry", expired, `done | begun; mended, 0 "" | ran flaky x1`},
	{"graph-failed", nil, `done | whole again, 0 "" | ran broken x1`},
	{"graph-shortened", nil, `waiting | prepared for customer 7, 500 "" | ran fee x1`},
	{"trip-parallel", answered("respond", "bob", `"Grand"`), `waiting | "Grand" LH 1 [] | ran contract draft x1`},
	{"trip-within", answered("approve", "bob", ""), `waiting | "Grand" LH 1 [draft approve] | ran insurance draft x1`},
	{"trip-own", inOrder(within(answered("approve", "bob", "")), within(resumed)), `done | "Grand" LH 1 [draft approve draft approve] | ran `},
	{"flow-open", answered("approve", "bob", ""), `done | charge 77, ship approve by bob, shipped | ran ship x1`},
	{"flow-decided", nil, `done | charge 77, ship approve by alice, shipped | ran ship x1`},
	{"flow-sleep", expired, `done | charge 77, slept, shipped | ran ship x1`},
	{"flow-retry", expired, `done | charge 77, mended, shipped | ran flaky x1, ship x1`},
	{"flow-signal", signalled("paid", `"in cash"`), `done | charge 77, in cash, shipped | ran ship x1`},
	{"flow-signalled", nil, `done | charge 77, by card, shipped | ran ship x1`},
	{"flow-latch", signalled("price", `"12"`), `done | charge 77, 12, shipped | ran ship x1`},
	{"flow-many", inOrder(answered("approve", "bob", ""), resumed, answered("reject", "eve", "")), `done | charge 77, approve by alice; approve by bob; reject by eve, shipped | ran ship x1`},
	{"flow-loop", inOrder(resumed, answered("respond", "bob", `3`)), `done | charge 77, round respond by alice1; round respond by alice2; round respond by bob3, shipped | ran ship x1`},
	{"flow-failed", nil, `waiting |  | ran charge x1`},
	{"flow-early", nil, `done | charge 77, early, shipped | ran `},
	{"flow-tool", answered("approve", "bob", ""), `done | charge 77, tool ran, ship approve by bob, shipped | ran ship x1, tool x1`},
	{"coord-open", answered("approve", "bob", ""), `done | map[state:{json "receipt 2"}] | ran execute x1`},
	{"coord-decided", nil, `done | map[state:{json "receipt 2"}] | ran execute x1`},
	{"coord-done", nil, `done | map[state:{json "receipt 2"}] | ran `},
	{"coord-refused", nil, `done | map[state:{json {"request":"refund order 500","result":"refused by bob"}}] | ran `},
	{"coord-fork", answered("approve", "mia", ""), `done | map[state:{json "receipt 2"}] | ran execute x1`},
}

// TestProgramsGoOn resumes the threads of each store.
func TestProgramsGoOn(t *testing.T) {
	for _, o := range openings(t) {
		t.Run(o.name, func(t *testing.T) {
			w := o.world(t, o.open(t))
			for _, c := range continuations {
				if c.first != nil {
					c.first(w, c.thread)
				}
				if got := w.resume(c.thread, "main"); got != c.want {
					t.Errorf("%s:\n got %s\nwant %s", c.thread, got, c.want)
				}
			}
			report, err := sign.Verify(t.Context(), w.l.Store(), o.ring(t), &sign.VerifyOptions{RequireSigned: o.signed()})
			if err != nil || !report.OK() {
				t.Errorf("what went on does not verify: %v, %+v", err, report)
			}
		})
	}
}

// TestALostSessionIsAnswered decides an approval after its process was lost while
// it waited on a connection: within its time, and once.
func TestALostSessionIsAnswered(t *testing.T) {
	for _, o := range openings(t) {
		t.Run(o.name, func(t *testing.T) {
			l, c := o.ledger(t, o.open(t))
			var asked []*posthouse.Gate
			for q, err := range l.Gates(t.Context(), ledger.GateQuery{Kind: posthouse.GateSession}) {
				if err != nil {
					t.Fatal(err)
				}
				asked = append(asked, q)
			}
			if len(asked) != 1 || string(asked[0].Payload) != "700" {
				t.Fatalf("%d approvals wait in sessions: %+v", len(asked), asked)
			}
			relay, no := gate.Relay{Ledger: l}, posthouse.Decision{Verdict: posthouse.Reject, By: "alice"}
			c.forward(asked[0].CreatedAt.Add(time.Minute).Sub(c.now()))
			decided, err := relay.Decide(t.Context(), asked[0].ID, no)
			if err != nil || decided.Decision == nil || decided.Decision.Verdict != posthouse.Reject {
				t.Errorf("in time: %+v, %v", decided, err)
			}
			if _, err := relay.Decide(t.Context(), asked[0].ID, no); !errors.Is(err, posthouse.ErrNotFound) {
				t.Errorf("a second answer: %v, want ErrNotFound", err)
			}
		})
	}
}
