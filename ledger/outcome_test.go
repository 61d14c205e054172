package ledger_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// onStores runs a test over a store in memory and one on SQLite.
func onStores(t *testing.T, o *ledger.Options, test func(t *testing.T, l *ledger.Ledger)) {
	for name, open := range map[string]func(*testing.T) posthouse.Store{
		"memory": func(*testing.T) posthouse.Store { return memstore.New() },
		"sqlite": func(t *testing.T) posthouse.Store {
			s := must.Get(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), nil))(t)
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) { test(t, must.Get(ledger.Open(open(t), o))(t)) })
	}
}

func asked(t *testing.T, l *ledger.Ledger, thread string, g posthouse.Gate) *posthouse.Gate {
	t.Helper()
	done := must.Get(l.Commit(t.Context(), &ledger.Draft{
		Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"pay"}, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}},
		Gates: []posthouse.Gate{g},
	}))(t)
	return must.Get(l.Gate(t.Context(), done.Gates[0].ID))(t)
}

// outcomeOf asks about an attempt under a gate, with the people of that gate.
func outcomeOf(under *posthouse.Gate) posthouse.Gate {
	return posthouse.Gate{
		Name: "pay>outcome", Kind: posthouse.GateOutcome, Verdicts: posthouse.SettleVerdicts(), Payload: under.Payload, Quorum: under.Quorum,
		Assignees: under.Assignees, RequestedBy: under.RequestedBy, Attempt: &posthouse.Attempt{Effect: "pay", Number: 1, Under: under.ID},
		Record: posthouse.GateRecord{Settles: true},
	}
}

// TestOutcomesHaveVerdictsOfTheirOwn: happened, redo and give-up settle an outcome, and keep the codes of an
// earlier version on record where it asked. The words of other questions are refused, approve above all.
func TestOutcomesHaveVerdictsOfTheirOwn(t *testing.T) {
	former := []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Respond}
	recorded := map[posthouse.Verdict]posthouse.Verdict{posthouse.Happened: posthouse.Respond, posthouse.Redo: posthouse.Approve, posthouse.GiveUp: posthouse.Reject}
	onStores(t, nil, func(t *testing.T, l *ledger.Ledger) {
		for _, said := range posthouse.SettleVerdicts() {
			for _, old := range []bool{false, true} {
				g := posthouse.Gate{Name: "pay>outcome", Kind: posthouse.GateOutcome, Verdicts: posthouse.SettleVerdicts(), Record: posthouse.GateRecord{Settles: true}}
				want := said
				if old {
					g.Verdicts, g.Record, want = former, posthouse.GateRecord{}, recorded[said]
				}
				q := asked(t, l, string(said)+"-"+string(want), g)
				for _, word := range posthouse.GateVerdicts() {
					d := posthouse.Decision{Verdict: word, By: "alice"}
					if word.TakesValue() {
						d.Value = json.RawMessage("1")
					}
					_, err := l.Decide(t.Context(), q.ID, d)
					must.Fail(t, err, posthouse.ErrConflict)
					if !strings.Contains(err.Error(), "happened, redo or give-up") {
						t.Errorf("%s of an outcome: %v", word, err)
					}
				}
				d := posthouse.Decision{Verdict: said, By: "alice"}
				if said.TakesValue() {
					_, err := l.Decide(t.Context(), q.ID, d)
					must.Fail(t, err, posthouse.ErrInvalid)
					d.Value = json.RawMessage(`{"receipt":"R-1"}`)
				}
				must.Get(l.Decide(t.Context(), q.ID, d))(t)
				q = must.Get(l.Gate(t.Context(), q.ID))(t)
				if q.Decision.Verdict != want || q.Said(q.Decision.Verdict) != said {
					t.Errorf("%s of an old question (%v) is on record as %s", said, old, q.Decision.Verdict)
				}
			}
		}
		plain := asked(t, l, "plain", posthouse.Gate{Name: "pay"})
		for _, v := range posthouse.SettleVerdicts() {
			d := posthouse.Decision{Verdict: v, By: "alice"}
			if v.TakesValue() {
				d.Value = json.RawMessage("1")
			}
			_, err := l.Decide(t.Context(), plain.ID, d)
			must.Fail(t, err, posthouse.ErrInvalid)
		}
	})
}

// TestNobodyElseAsksAboutOutcomes: a gate of a program, or one that is saved, may not name the verdicts of an
// unknown outcome.
func TestNobodyElseAsksAboutOutcomes(t *testing.T) {
	onStores(t, nil, func(t *testing.T, l *ledger.Ledger) {
		for _, v := range posthouse.SettleVerdicts() {
			for _, kind := range []string{"", posthouse.GateOutcome} {
				_, err := l.Commit(t.Context(), &ledger.Draft{
					Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
					Gates: []posthouse.Gate{{Name: "pay>outcome", Kind: kind, Verdicts: []posthouse.Verdict{v}}},
				})
				must.Fail(t, err, posthouse.ErrInvalid)
				if !strings.Contains(err.Error(), string(v)) {
					t.Errorf("the error does not name %s: %v", v, err)
				}
			}
		}
	})
}

// TestRedoIsARenewedApproval: doing an effect again takes the votes, the people and the policy of the gate that
// licensed it. One person settles it otherwise, and a requester only gives it up.
func TestRedoIsARenewedApproval(t *testing.T) {
	var seen []string
	policy := func(g *posthouse.Gate, d *posthouse.Decision) error {
		seen = append(seen, g.Name+" "+string(d.Verdict))
		if d.By == "carol" && d.Verdict == posthouse.Approve && g.Name == "pay" {
			return &posthouse.Error{Code: posthouse.CodeForbidden, Message: "carol approves no payments"}
		}
		return nil
	}
	onStores(t, &ledger.Options{Policy: policy}, func(t *testing.T, l *ledger.Ledger) {
		decide := func(g *posthouse.Gate, v posthouse.Verdict, by string) (*posthouse.Gate, error) {
			d := posthouse.Decision{Verdict: v, By: by}
			if v.TakesValue() {
				d.Value = json.RawMessage("1")
			}
			return l.Decide(t.Context(), g.ID, d)
		}
		under := asked(t, l, "pay", posthouse.Gate{
			Name: "pay", Uses: 1, Payload: json.RawMessage(`{"amount":1}`), Assignees: []string{"alice", "bob", "carol", "mallory"}, RequestedBy: "mallory", Quorum: &posthouse.Quorum{Need: 2},
		})
		must.Get(decide(under, posthouse.Approve, "alice"))(t)
		must.Get(decide(under, posthouse.Approve, "bob"))(t)

		q := asked(t, l, "redo", outcomeOf(under))
		for _, v := range []posthouse.Verdict{posthouse.Redo, posthouse.Happened} {
			_, err := decide(q, v, "mallory")
			must.Fail(t, err, posthouse.ErrForbidden)
			_, err = decide(q, v, "zoe")
			must.Fail(t, err, posthouse.ErrForbidden)
		}
		_, err := decide(q, posthouse.Redo, "carol")
		must.Fail(t, err, posthouse.ErrForbidden)
		seen = nil
		if g := must.Get(decide(q, posthouse.Redo, "alice"))(t); g.Decision != nil || g.Missing() != 1 {
			t.Errorf("one vote decides: %+v", g.Decision)
		}
		if !slices.Equal(seen, []string{"pay approve"}) {
			t.Errorf("the policy was asked %q", seen)
		}
		_, err = decide(q, posthouse.Redo, "alice")
		must.Fail(t, err, posthouse.ErrVoted)
		if g := must.Get(decide(q, posthouse.Redo, "bob"))(t); g.Decision == nil || g.Decision.Verdict != posthouse.Redo {
			t.Errorf("two votes decide %+v", g.Decision)
		}

		q = asked(t, l, "happened", outcomeOf(under))
		must.Get(decide(q, posthouse.Redo, "alice"))(t)
		if g := must.Get(decide(q, posthouse.Happened, "carol"))(t); g.Decision == nil || g.Decision.Verdict != posthouse.Happened {
			t.Errorf("one person ends the votes: %+v", g.Decision)
		}
		q = asked(t, l, "given up", outcomeOf(under))
		if g := must.Get(decide(q, posthouse.GiveUp, "mallory"))(t); g.Decision == nil || g.Decision.Verdict != posthouse.GiveUp {
			t.Errorf("a requester gives up: %+v", g.Decision)
		}
	})
}
