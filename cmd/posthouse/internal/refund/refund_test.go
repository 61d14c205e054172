package refund_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/refund"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A house is one process over a store that outlives it.
type house struct {
	ledger *ledger.Ledger
	*coord.Coordinator
}

func start(tb testing.TB, store posthouse.Store, now *time.Time, effects refund.Effects) house {
	tb.Helper()
	l := must.Get(ledger.Open(store, &ledger.Options{
		Owner: "here", Validate: gate.Validator(), Now: func() time.Time { return *now },
	}))(tb)
	tb.Cleanup(func() { l.Close() })
	return house{l, must.Get(refund.New(l, refund.Options{Effects: effects}))(tb)}
}

func (h house) state(tb testing.TB, id posthouse.ID) (s refund.State) {
	tb.Helper()
	c := must.Get(h.ledger.Get(tb.Context(), id))(tb)
	return must.Get(posthouse.Decode[refund.State](c.State[posthouse.OpaquePart]))(tb)
}

func day() *time.Time {
	t := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return &t
}

const request = "please refund order 1234"

func TestApprovedAfterARestart(t *testing.T) {
	store, now, out := memstore.New(), day(), &bytes.Buffer{}
	h := start(t, store, now, refund.WriteEffects(out))
	r := must.Get(h.Handle(t.Context(), request, &coord.HandleOptions{By: "alice"}))(t)
	if r.Status != posthouse.StatusWaiting || !strings.Contains(r.Text, string(r.Checkpoint)) || !strings.Contains(r.Text, string(r.Gate)) ||
		!strings.HasPrefix(r.Text, "Analysis complete.\n\nResult: Order 1234: low risk") {
		t.Fatalf("reply %+v", r)
	}
	root := must.Get(h.ledger.Get(t.Context(), r.Checkpoint))(t)
	if !root.IsRoot() || root.Agent != "analyzer" || root.Coordination != "dispatch" || root.By != "alice" {
		t.Fatalf("root %+v", root.Header)
	}
	if s := h.state(t, r.Checkpoint); s.Request != request || s.Recommendation.Order != "1234" {
		t.Fatalf("state %+v", s)
	}
	g := must.Get(h.ledger.Gate(t.Context(), r.Gate))(t)
	if g.Checkpoint != r.Checkpoint || !g.ExpiresAt.Equal(now.Add(7*24*time.Hour)) || !strings.Contains(string(g.Payload), request) {
		t.Fatalf("gate %+v", g)
	}

	h = start(t, store, now, refund.WriteEffects(out))
	must.Get(h.ledger.Decide(t.Context(), r.Gate, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t) // her own request
	if err := h.Advance(t.Context(), r.Thread, posthouse.MainBranch); err != nil {
		t.Fatal(err)
	}
	child := must.Get(h.ledger.Latest(t.Context(), ledger.LatestQuery{Thread: r.Thread}))(t)
	s := h.state(t, child.ID)
	if child.Parent != r.Checkpoint || child.Agent != "approver" || child.Status != posthouse.StatusDone ||
		s.Request != request || s.ApprovedBy != "alice" || s.Result != "Executed 'please refund order 1234' approved by alice" {
		t.Fatalf("child %+v, state %+v", child.Header, s)
	}
	if _, err := h.ledger.Decide(t.Context(), r.Gate, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); !errors.Is(err, posthouse.ErrDecided) {
		t.Fatal(err)
	}
	must.Get(h.Resume(t.Context(), r.Thread, nil))(t)
	var e refund.Effect
	if err := json.Unmarshal(out.Bytes(), &e); err != nil || e.Request != request || e.ApprovedBy != "alice" || e.Key == "" {
		t.Fatalf("%v; effects %s", err, out)
	}
}

func TestDecisions(t *testing.T) {
	for _, test := range []struct {
		name    string
		decide  posthouse.Decision
		after   time.Duration
		state   refund.State
		effects int
	}{
		{"edit", posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(`{"request":"refund half of order 1234"}`)}, 0,
			refund.State{Request: "refund half of order 1234", ApprovedBy: "bob", Result: "Executed 'refund half of order 1234' approved by bob"}, 1},
		{"reject", posthouse.Decision{Verdict: posthouse.Reject, By: "bob", Reason: "refunded in May"}, 0,
			refund.State{Request: request, Result: "Rejected by bob: refunded in May"}, 0},
		{"cancel", posthouse.Decision{Verdict: posthouse.Cancel, By: "bob"}, 0,
			refund.State{Request: request, Result: "Cancelled by bob"}, 0},
		{"expire", posthouse.Decision{Verdict: posthouse.Approve, By: "late"}, 8 * 24 * time.Hour,
			refund.State{Request: request, Result: "Expired: no decision by 2026-01-09T03:04:05Z"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, now, out := memstore.New(), day(), &bytes.Buffer{}
			h := start(t, store, now, refund.WriteEffects(out))
			r := must.Get(h.Handle(t.Context(), request, nil))(t)
			*now = now.Add(test.after)
			var err error
			if test.decide.Verdict == posthouse.Cancel {
				_, err = h.ledger.Withdraw(t.Context(), r.Gate, ledger.Withdrawal{By: test.decide.By, Operator: true})
			} else {
				_, err = h.ledger.Decide(t.Context(), r.Gate, test.decide)
			}
			if (err != nil) != (test.after > 0) {
				t.Fatal(err)
			}
			r = must.Get(start(t, store, now, refund.WriteEffects(out)).Resume(t.Context(), r.Thread, nil))(t)
			s := h.state(t, r.Checkpoint)
			s.Recommendation = nil
			if s != test.state || r.Status != posthouse.StatusDone || strings.Count(out.String(), "\n") != test.effects {
				t.Fatalf("reply %+v\nstate %+v\neffects %s", r, s, out)
			}
			if test.effects == 0 {
				c := must.Get(h.ledger.Get(t.Context(), r.Checkpoint))(t)
				if got, ok := refund.Request(c.State); c.Kind != posthouse.KindNode || c.Agent != "" || !ok || got != request {
					t.Errorf("last %+v, request %q", c.Header, got)
				}
			}
		})
	}
}

func TestEditsThatDoNotFitAreRefused(t *testing.T) {
	h := start(t, memstore.New(), day(), refund.WriteEffects(&bytes.Buffer{}))
	r := must.Get(h.Handle(t.Context(), request, nil))(t)
	for _, v := range []string{`{}`, `{"request":""}`, `{"request":1}`, `"x"`, `{"request":"x","amount":1}`} {
		_, err := h.ledger.Decide(t.Context(), r.Gate, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(v)})
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", v, err)
		}
	}
	_, err := h.ledger.Decide(t.Context(), r.Gate, posthouse.Decision{Verdict: posthouse.Respond, By: "bob", Value: json.RawMessage(`{"request":"x"}`)})
	if !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
}

func TestAnalyzerFailures(t *testing.T) {
	h := start(t, memstore.New(), day(), refund.WriteEffects(&bytes.Buffer{}))
	for _, message := range []string{"", "  \n", "?!", "fail analyzer"} {
		r := must.Get(h.Handle(t.Context(), message, nil))(t)
		if r.Status != posthouse.StatusFailed || !strings.HasPrefix(r.Text, "Analyzer failed: ") || r.Gate != "" {
			t.Errorf("%q: reply %+v", message, r)
		}
		if s := h.state(t, r.Checkpoint); s.Request != message || s.Error == "" {
			t.Errorf("%q: state %+v", message, s)
		}
	}
}

// An effect that failed is not done: resuming tries it again, with the same key.
func TestAFailedEffectIsTriedAgain(t *testing.T) {
	store, now := memstore.New(), day()
	var keys []string
	down := errors.New("the bank is closed")
	bank := func(_ context.Context, e refund.Effect) error {
		keys = append(keys, e.Key)
		return down
	}
	h := start(t, store, now, bank)
	r := must.Get(h.Handle(t.Context(), request, nil))(t)
	must.Get(h.ledger.Decide(t.Context(), r.Gate, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	r = must.Get(h.Resume(t.Context(), r.Thread, nil))(t)
	if r.Status != posthouse.StatusFailed || r.Text != "Approver failed: the bank is closed" {
		t.Fatalf("reply %+v", r)
	}
	down = nil
	r = must.Get(start(t, store, now, bank).Resume(t.Context(), r.Thread, nil))(t)
	if s := h.state(t, r.Checkpoint); r.Status != posthouse.StatusDone || s.ApprovedBy != "alice" || s.Error != "" {
		t.Fatalf("reply %+v, state %+v", r, s)
	}
	if len(keys) != 2 || keys[0] != keys[1] {
		t.Fatalf("keys %q", keys)
	}
}

// The process dies after the effect and before its record: the line is there
// once, by its key.
func TestACrashBetweenEffectAndRecord(t *testing.T) {
	store, now := memstore.New(), day()
	path := filepath.Join(t.TempDir(), "effects.log")
	log, tries := refund.LogEffects(path), 0
	var h house
	h = start(t, store, now, func(ctx context.Context, e refund.Effect) error {
		tries++
		if err := log(ctx, e); err != nil {
			return err
		}
		return h.ledger.Close() // nothing can be recorded any more
	})
	r := must.Get(h.Handle(t.Context(), request, nil))(t)
	must.Get(h.ledger.Decide(t.Context(), r.Gate, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	if _, err := h.Resume(t.Context(), r.Thread, nil); !errors.Is(err, posthouse.ErrClosed) {
		t.Fatalf("error %v", err)
	}
	h = start(t, store, now, func(ctx context.Context, e refund.Effect) error { tries++; return log(ctx, e) })
	r = must.Get(h.Resume(t.Context(), r.Thread, nil))(t)
	if r.Status != posthouse.StatusDone {
		t.Fatalf("reply %+v", r)
	}
	if lines := must.Get(os.ReadFile(path))(t); bytes.Count(lines, []byte("\n")) != 1 || tries != 2 {
		t.Fatalf("after %d tries: %s", tries, lines)
	}
}

func TestLogKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "effects.log")
	log := refund.LogKeys(path)
	for range 2 { // once for each key
		if err := log(t.Context(), refund.Effect{Key: "k", Request: "refund order 1", ApprovedBy: "alice", At: *day()}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := string(must.Get(os.ReadFile(path))(t)), `{"key":"k","at":"`+day().Format(time.RFC3339)+`"}`+"\n"; got != want {
		t.Errorf("the file has %q, want %q", got, want)
	}
}

func TestLogEffects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "effects.log")
	if err := os.WriteFile(path, []byte(`{"key":"torn`), 0o600); err != nil {
		t.Fatal(err)
	}
	log := refund.LogEffects(path)
	for _, k := range []string{"a", "b", "a"} {
		if err := log(t.Context(), refund.Effect{Key: k}); err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Split(string(must.Get(os.ReadFile(path))(t)), "\n"); len(lines) != 4 || !strings.Contains(lines[1], `"a"`) || !strings.Contains(lines[2], `"b"`) {
		t.Fatalf("lines %q", lines)
	}
	if err := refund.LogEffects(t.TempDir())(t.Context(), refund.Effect{}); err == nil {
		t.Error("a directory was taken for a log")
	}
	if _, err := refund.New(nil, refund.Options{}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
}

func TestRequest(t *testing.T) {
	for data, want := range map[string]string{
		`{"request":"x"}`: "x", `{"request":"x","approvedBy":"y"}`: "x",
		`{}`: "", `{"request":" "}`: "", `{"request":1}`: "", `null`: "", `"x"`: "", `[`: "",
	} {
		got, ok := refund.Request(posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(data)}})
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", data, got, ok)
		}
	}
	for _, s := range []posthouse.State{nil, {"other": {Codec: "json", Data: []byte(`{"request":"x"}`)}}, {"state": {Codec: "raw", Data: []byte(`{"request":"x"}`)}}} {
		if got, ok := refund.Request(s); ok {
			t.Errorf("%v: got %q", s, got)
		}
	}
}

func TestRecommendations(t *testing.T) {
	h := start(t, memstore.New(), day(), refund.WriteEffects(&bytes.Buffer{}))
	for _, test := range []struct {
		message, order string
		amount         float64
		risk, action   string
	}{
		{request, "1234", 0, "low", "refund"},
		{"Refund $19.99 for order #A-77", "A-77", 19.99, "low", "refund"},
		{"refund order no. 5, 250 EUR", "5", 250, "medium", "review"},
		{"refund order 5: $1,500 and 20 usd", "5", 1500, "high", "review"},
		{"my lawyer wants order 9 back", "9", 0, "high", "review"},
		{"give me my money", "", 0, "high", "review"},
		{"order 5 for 250€, or chargeback", "5", 250, "high", "review"},
		{"in order to help", "", 0, "high", "review"},
	} {
		rec := h.state(t, must.Get(h.Handle(t.Context(), test.message, nil))(t).Checkpoint).Recommendation
		if rec == nil || rec.Order != test.order || rec.Amount != test.amount || rec.Risk != test.risk || rec.Action != test.action || len(rec.Reasons) == 0 {
			t.Errorf("%q: rec %+v", test.message, rec)
		}
	}
	long := "order 1 " + strings.Repeat("ö", 5000)
	if r := must.Get(h.Handle(t.Context(), long, nil))(t); r.Status != posthouse.StatusWaiting {
		t.Errorf("reply %+v", r)
	}
}
