package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// account returns what happened, a line an entry, without ids.
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
			line := fmt.Sprintf("%s %d %s", thread.Thread, e.Seq, e.At.UTC().Format(time.RFC3339Nano))
			for _, r := range e.Records {
				line += fmt.Sprintf(" %T", r)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// TestOneSeedIsOneWeek: the same seed and now give the same entries at the same times, and another
// seed gives others.
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
	for _, now := range []time.Time{noon, noon.Add(-12 * time.Hour), noon.Add(12*time.Hour - time.Second), time.Date(2027, 3, 28, 3, 30, 0, 0, time.UTC)} {
		var commits atomic.Int64
		l := filled(t, now, 1, ledger.Options{Appended: func([]posthouse.Record, time.Duration, error) { commits.Add(1) }})
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

// serve runs the programs over a Ledger as the demo does, and returns their runner.
func serve(t *testing.T, l *ledger.Ledger, deeds *[]Deed) *runner.Runner {
	t.Helper()
	w := &World{
		Do:    func(_ context.Context, d Deed) error { *deeds = append(*deeds, d); return nil },
		Spend: func(context.Context, time.Duration) error { return nil },
	}
	all := must.Get(open(l, w, 0))(t)
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

// TestApprovedQuestionsRun: each kind of open question, approved now, has its effect and ends its thread.
func TestApprovedQuestionsRun(t *testing.T) {
	l := filled(t, noon, 1, ledger.Options{})
	var deeds []Deed
	r := serve(t, l, &deeds)
	for thread, ends := range map[string]posthouse.Status{
		"invoice-1014": posthouse.StatusDone, "refund-8905": posthouse.StatusDone, "contract-lopez": posthouse.StatusDone,
		"newsletter-staff": posthouse.StatusWaiting, // it sleeps until it was read
	} {
		deeds = nil
		g := opened(t, l, thread)
		by := "dana"
		if g.RequestedBy == by {
			by = "carol"
		}
		decided := must.Get(l.Decide(t.Context(), g.ID, posthouse.Decision{By: by, Verdict: posthouse.Approve, Shown: g.Hash}))(t)
		h := must.Get(r.Wait(t.Context(), thread, "", decided.Decision.Seq))(t)
		if h.Status != ends || len(deeds) != 1 || deeds[0].By != by {
			t.Errorf("%s: approved, it is %s after the deeds %v", thread, h.Status, deeds)
		}
	}
}

// TestForkedQuestion: a fork from a question with another amount asks about that, and pays it.
func TestForkedQuestion(t *testing.T) {
	l := filled(t, noon, 1, ledger.Options{})
	var deeds []Deed
	r := serve(t, l, &deeds)
	for thread, change := range map[string]posthouse.State{
		"invoice-1014": {"Amount": {Codec: "json", Data: []byte(`1200.00`)}},
		"refund-8905":  {posthouse.OpaquePart: {Codec: "json", Data: []byte(`{"order":"8905","amount":12.00,"reason":"half of it"}`)}},
	} {
		deeds = nil
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
		if h.Status != posthouse.StatusDone || len(deeds) != 1 || fmt.Sprint(deeds[0].Content) == string(g.Payload) {
			t.Errorf("%s: the fork is %s after %v", thread, h.Status, deeds)
		}
	}
}
