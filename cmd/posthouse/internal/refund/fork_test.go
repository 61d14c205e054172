package refund_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/refund"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// onStores runs a test over memory and over SQLite.
func onStores(t *testing.T, test func(t *testing.T, store posthouse.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, memstore.New()) })
	t.Run("sqlite", func(t *testing.T) {
		s := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), nil))(t)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, s)
	})
}

// patched forks a checkpoint with another state.
func (h house) patched(tb testing.TB, id posthouse.ID, state string) *posthouse.Checkpoint {
	tb.Helper()
	return must.Get(h.ledger.Fork(tb.Context(), id, &ledger.ForkOptions{
		Replace: posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(state)}},
	}))(tb)
}

func (h house) resume(tb testing.TB, c *posthouse.Checkpoint) *coord.Reply {
	tb.Helper()
	return must.Get(h.Resume(tb.Context(), c.Thread, &coord.ResumeOptions{Branch: c.Branch}))(tb)
}

// An approval runs what was shown: the fork of another request asks about that
// one, and neither answer reaches the other's branch.
func TestAForkAsksAboutItsOwnRequest(t *testing.T) {
	onStores(t, func(t *testing.T, store posthouse.Store) {
		path := filepath.Join(t.TempDir(), "effects.log")
		h := start(t, store, day(), refund.LogEffects(path))
		r := must.Get(h.Handle(t.Context(), "refund order 500 please", nil))(t)
		f := h.patched(t, r.Checkpoint, `{"request":"refund order 999999 please"}`)
		if f.Status != posthouse.StatusInterrupted || len(f.Gates) > 0 {
			t.Fatalf("the fork offers the old question: %s, %v", f.Status, f.Gates)
		}
		h = start(t, store, day(), refund.LogEffects(path))
		asked := h.resume(t, f)
		g := must.Get(h.ledger.Gate(t.Context(), asked.Gate))(t)
		if asked.Status != posthouse.StatusWaiting || strings.Contains(g.Text+string(g.Payload), "500") ||
			strings.Count(g.Text, "999999") != 2 || strings.Count(string(g.Payload), "999999") != 2 {
			t.Fatalf("reply %+v asks %s\n%s", asked, g.Text, g.Payload)
		}
		for _, test := range []struct {
			gate   posthouse.ID
			branch string
			order  string
		}{{r.Gate, posthouse.MainBranch, "500"}, {asked.Gate, f.Branch, "999999"}} {
			must.Get(h.ledger.Decide(t.Context(), test.gate, posthouse.Decision{Verdict: posthouse.Approve, By: "mia"}))(t)
			must.Get(h.Resume(t.Context(), r.Thread, nil))(t)
			other := h.resume(t, f)
			if test.order == "500" && other.Status != posthouse.StatusWaiting {
				t.Fatalf("the old approval ran the fork: %+v", other)
			}
			head := must.Get(h.ledger.Latest(t.Context(), ledger.LatestQuery{Thread: r.Thread, Branch: test.branch}))(t)
			if s := h.state(t, head.ID); s.Result != "Executed 'refund order "+test.order+" please' approved by mia" {
				t.Fatalf("state %+v", s)
			}
			lines := string(must.Get(os.ReadFile(path))(t))
			if n := map[string]int{"500": 1, "999999": 2}[test.order]; strings.Count(lines, "\n") != n || strings.Count(lines, "order "+test.order+" ") != 1 {
				t.Fatalf("after %s: %s", test.order, lines)
			}
		}
	})
}

// A person's edit of a request is not the request that was asked about. After a
// failure the same question has its answer, and a fork of the failure asks about
// its own request.
func TestAnEditAfterAFailure(t *testing.T) {
	store, now := memstore.New(), day()
	var ran []string
	down := gate.NotDone(errors.New("the bank is closed"))
	bank := func(_ context.Context, e refund.Effect) error {
		if down == nil {
			ran = append(ran, e.Request)
		}
		return down
	}
	h := start(t, store, now, bank)
	r := must.Get(h.Handle(t.Context(), request, nil))(t)
	must.Get(h.ledger.Decide(t.Context(), r.Gate, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: []byte(`{"request":"refund half"}`)}))(t)
	failed := must.Get(h.Resume(t.Context(), r.Thread, nil))(t)
	if s := h.state(t, failed.Checkpoint); failed.Status != posthouse.StatusFailed || s.Request != request || s.Grant == "" {
		t.Fatalf("reply %+v, state %+v", failed, s)
	}
	f := h.patched(t, failed.Checkpoint, `{"request":"refund order 99","grant":"`+string(r.Gate)+`","approvedBy":"bob"}`)
	down = nil
	h = start(t, store, now, bank)
	done := must.Get(h.Resume(t.Context(), r.Thread, nil))(t)
	if s := h.state(t, done.Checkpoint); s.Request != "refund half" || s.ApprovedBy != "bob" || s.Grant != "" {
		t.Fatalf("reply %+v, state %+v", done, s)
	}
	asked := h.resume(t, f)
	g := must.Get(h.ledger.Gate(t.Context(), asked.Gate))(t)
	if !strings.Contains(g.Text, "order 99\n") || len(ran) != 1 {
		t.Fatalf("asked %s, ran %q", g.Text, ran)
	}
	must.Get(h.ledger.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "eve"}))(t)
	h.resume(t, f)
	if !slices.Equal(ran, []string{"refund half", "refund order 99"}) {
		t.Errorf("ran %q", ran)
	}
}

// A fork asks even if its state has no request, or a request that the analyzer
// makes nothing of: about the request as it came, and with a high risk.
func TestAForkWithoutASensibleRequest(t *testing.T) {
	h := start(t, memstore.New(), day(), refund.WriteEffects(&bytes.Buffer{}))
	r := must.Get(h.Handle(t.Context(), request, nil))(t)
	for _, test := range []struct{ state, want, risk string }{
		{`"nothing to recover"`, request, "low"},
		{`{"request":"?!"}`, "?!", "high"},
	} {
		f := h.patched(t, r.Checkpoint, test.state)
		asked := h.resume(t, f)
		must.Get(h.ledger.Decide(t.Context(), asked.Gate, posthouse.Decision{Verdict: posthouse.Approve, By: "eve"}))(t)
		if s := h.state(t, h.resume(t, f).Checkpoint); s.Request != test.want || s.ApprovedBy != "eve" || s.Recommendation.Risk != test.risk {
			t.Errorf("state %+v", s)
		}
	}
	if g := must.Get(h.ledger.Gate(t.Context(), r.Gate))(t); g.Decision != nil {
		t.Errorf("the original gate %+v", g)
	}
}
