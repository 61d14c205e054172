package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the now of most tests.
var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// filled returns a Ledger over the week before now, with the clock at now.
func filled(t *testing.T, now time.Time, seed uint64, o ledger.Options) *ledger.Ledger {
	t.Helper()
	var clock atomic.Int64
	o.Validate, o.LeaseTTL, o.Now = gate.Validator(), 1000*time.Hour, func() time.Time { return time.Unix(0, clock.Load()) }
	l := must.Get(ledger.Open(memstore.New(), &o))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	at := func(to time.Time) { clock.Store(to.UnixNano()) }
	if err := fill(t.Context(), l, at, now, seed); err != nil {
		t.Fatal(err)
	}
	at(now)
	return l
}

// account returns what happened, without ids. Results of steps are left out: of tasks beside each other, it is
// chance which are put on record together.
func account(t *testing.T, l *ledger.Ledger) (lines []string) {
	t.Helper()
	for thread, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %v", thread.Thread, thread.Status, len(thread.Waiting)))
		for e, err := range l.Log(t.Context(), thread.Thread, posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range e.Events {
				line := fmt.Sprintf("%s %s %s", thread.Thread, e.At.UTC().Format(time.RFC3339Nano), event.Kind)
				switch c, g, d := event.Checkpoint, event.Gate, event.Decision; {
				case event.Kind == posthouse.RecordStep:
					continue
				case c != nil:
					line += fmt.Sprintf(" %s %s %s %s", c.Branch, c.Node, c.Status, c.By)
				case d != nil:
					line += fmt.Sprintf(" %s %s %s", d.Verdict, d.By, d.Reason)
				case g != nil:
					line += fmt.Sprintf(" %s %s", g.Name, g.Payload)
				}
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// TestOneSeedIsOneWeek: by the same seed and now the same people do the same at the same times, by another
// seed they do not.
func TestOneSeedIsOneWeek(t *testing.T) {
	one := account(t, filled(t, noon, 1, ledger.Options{}))
	if again := account(t, filled(t, noon, 1, ledger.Options{})); !slices.Equal(one, again) {
		for i := range min(len(one), len(again)) {
			if one[i] != again[i] {
				t.Fatalf("the week is another when it is made again:\n%s\n%s", one[i], again[i])
			}
		}
		t.Fatalf("the week has %d lines, and %d when it is made again", len(one), len(again))
	}
	if other := account(t, filled(t, noon, 2, ledger.Options{})); slices.Equal(one, other) {
		t.Error("another seed gives the same week")
	}
}

// TestTheWeekIsBounded: whatever the hour, all moments lie in the week before now, and the number of
// commits is one that a start can afford.
func TestTheWeekIsBounded(t *testing.T) {
	const most = 1500
	for i, now := range []time.Time{noon, noon.Add(-12 * time.Hour), noon.Add(12*time.Hour - time.Second), time.Date(2027, 3, 28, 3, 30, 0, 0, time.UTC)} {
		var commits atomic.Int64
		l := filled(t, now, uint64(i+3), ledger.Options{Appended: func([]posthouse.Record, time.Duration, error) { commits.Add(1) }})
		if n := commits.Load(); n > most {
			t.Errorf("it takes %d commits, the limit is %d", n, most)
		}
		for thread, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			for e, err := range l.Log(t.Context(), thread.Thread, posthouse.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.At.Before(now.Add(-7*24*time.Hour)) || e.At.After(now) {
					t.Errorf("%s: entry %d of thread %s is of %s", now, e.Seq, thread.Thread, e.At)
				}
			}
		}
	}
}

// TestTheWeekVerifies: every signature and hash is right, and nothing acted without an approval.
func TestTheWeekVerifies(t *testing.T) {
	key := must.Get(sign.Generate())(t)
	l := filled(t, noon, 1, ledger.Options{Signer: key})
	ring := must.Get(sign.NewRing(key.Public()))(t)
	report := must.Get(sign.Verify(t.Context(), l.Store(), ring, &sign.VerifyOptions{RequireGrants: true}))(t)
	if !report.OK() {
		t.Errorf("the week has faults: %+v", report)
	}
}

// opened returns the question that a thread of a name waits with.
func opened(t *testing.T, l *ledger.Ledger, thread string) *posthouse.Gate {
	t.Helper()
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{Thread: thread}) {
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	t.Fatalf("thread %s asks nothing", thread)
	return nil
}

// done are deeds.
type done struct {
	mu  sync.Mutex
	all []Deed
}

func (d *done) add(_ context.Context, deed Deed) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, deed)
	return nil
}

// of returns the deeds of a thread.
func (d *done) of(thread string) (of []Deed) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, deed := range d.all {
		if strings.HasPrefix(deed.Key, thread) {
			of = append(of, deed)
		}
	}
	return of
}

// serve runs the programs over a Ledger as the demo does, and returns their runner.
func serve(t *testing.T, l *ledger.Ledger, deeds *done) *runner.Runner {
	t.Helper()
	w := &World{
		Do:    deeds.add,
		Spend: func(context.Context, time.Duration) error { return nil },
	}
	all := must.Get(open(l, w))(t).programs()
	r := must.Get(runner.New(l, &runner.Options{Programs: all}))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	r.Kick("invoice-1014")
	must.Get(r.Wait(t.Context(), "invoice-1014", "", 0))(t) // it has begun
	return r
}

// TestApprovedQuestionsRun: each kind of open question, answered now, has its effect, and its thread goes on to
// its end, or to its next wait.
func TestApprovedQuestionsRun(t *testing.T) {
	l := filled(t, noon, 1, ledger.Options{})
	var did done
	r := serve(t, l, &did)
	for _, c := range []struct {
		thread, by string
		verdict    posthouse.Verdict
		value      string
		ends       posthouse.Status
		deeds      int
	}{
		{"invoice-1014", "dana", posthouse.Approve, "", posthouse.StatusDone, 1},
		{"refund-8905", "dana", posthouse.Approve, "", posthouse.StatusDone, 1},
		{"refund-8891", "dana", posthouse.Edit, `{"order":"8891","amount":20.00,"reason":"half of it"}`, posthouse.StatusDone, 1},
		{"contract-lopez", "alice", posthouse.Approve, "", posthouse.StatusDone, 1}, // the escalation went to alice
		{"newsletter-staff", "bob", posthouse.Approve, "", posthouse.StatusWaiting, 1},
		{"erasure-C-452", "alice", posthouse.Approve, "", posthouse.StatusWaiting, 1}, // dana's right is alice's
		{"research-paper", "bob", posthouse.Respond, `{"focus":"costs"}`, posthouse.StatusInterrupted, 0},
		{"reconcile-savings", "bob", posthouse.Respond, `{"invoice":"INV-1001"}`, posthouse.StatusDone, 0},
	} {
		g := opened(t, l, c.thread)
		d := posthouse.Decision{By: c.by, Verdict: c.verdict, Value: json.RawMessage(c.value), Shown: g.Hash}
		decided := must.Get(l.Decide(t.Context(), g.ID, d))(t)
		h := must.Get(r.Wait(t.Context(), c.thread, "", decided.Decision.Seq))(t)
		deeds := did.of(c.thread)
		if h.Status != c.ends || len(deeds) != c.deeds || c.deeds > 0 && deeds[0].By != c.by {
			t.Errorf("%s: answered, it is %s after the deeds %v", c.thread, h.Status, deeds)
		}
	}
}

// TestForkedQuestion: a fork from a question with another amount asks about that, and pays it.
func TestForkedQuestion(t *testing.T) {
	l := filled(t, noon, 1, ledger.Options{})
	var did done
	r := serve(t, l, &did)
	for thread, change := range map[string]posthouse.State{
		"invoice-1014": {"Amount": {Codec: "json", Data: []byte(`1200.00`)}},
		"refund-8905":  {posthouse.OpaquePart: {Codec: "json", Data: []byte(`{"order":"8905","amount":12.00,"reason":"half of it"}`)}},
	} {
		g := opened(t, l, thread)
		f := must.Get(l.Fork(t.Context(), g.Checkpoint, &ledger.ForkOptions{Replace: change, By: "alice"}))(t)
		if err := r.Resume(t.Context(), thread, f.Branch); err != nil {
			t.Fatal(err)
		}
		h := must.Get(r.Wait(t.Context(), thread, f.Branch, 0))(t)
		var asked *posthouse.Gate
		for g, err := range l.Gates(t.Context(), ledger.GateQuery{Checkpoint: h.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			asked = g
		}
		if asked == nil || !strings.Contains(string(asked.Payload), "200.00") && !strings.Contains(string(asked.Payload), "12.00") {
			t.Fatalf("%s: the fork asks %+v", thread, asked)
		}
		d := must.Get(l.Decide(t.Context(), asked.ID, posthouse.Decision{By: "dana", Verdict: posthouse.Approve}))(t)
		h = must.Get(r.Wait(t.Context(), thread, f.Branch, d.Decision.Seq))(t)
		deeds := did.of(thread)
		if h.Status != posthouse.StatusDone || len(deeds) != 1 || fmt.Sprint(deeds[0].Content) == string(g.Payload) {
			t.Errorf("%s: the fork is %s after %v", thread, h.Status, deeds)
		}
	}
}
