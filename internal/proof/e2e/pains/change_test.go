package pains_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
)

// asking is a graph that looks, pays, asks and ships; the names of the two
// nodes in it are what versions differ in.
func asking(did map[string]int, ask, ship string) *graph.Graph[state] {
	return line("order", node{name: "look", run: func(_ context.Context, s *state) error { did["look"]++; s.Log = append(s.Log, "look"); return nil }},
		node{name: ask, run: func(ctx context.Context, s *state) error {
			if err := count(ctx, "pay", did); err != nil {
				return err
			}
			a, err := gate.Ask[any](ctx, gate.Question{Name: "ok"})
			if err != nil {
				return err
			}
			s.Log = append(s.Log, ask+" "+string(a.Verdict))
			return nil
		}},
		node{name: ship, run: say(ship)})
}

// A deploy that renames the node a thread waits in keeps its question and its
// steps, whether the answer came before the deploy or after it.
func TestPain13ResumeAfterADeploy(t *testing.T) {
	onStores(t, func(h *house) {
		for _, early := range []bool{false, true} {
			thread, did := fmt.Sprint("t", early), map[string]int{}
			old := h.app(asking(did, "approve", "ship"))
			out := must(old.Run(h.Context(), thread, state{}))(h)
			answer := func() { h.decide(out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve}) }
			if early {
				answer()
			}
			h.restart()
			app := h.app(asking(did, "review", "send"), graph.CompileOptions{Migrations: []graph.Migration{
				{From: old.Fingerprint(), Nodes: map[string]string{"approve": "review", "ship": "send"}},
			}})
			h.findings(app, fmt.Sprintf("[%s migrates [review]]", thread))
			if !early {
				parked := must(app.Resume(h.Context(), thread))(h)
				if len(parked.Waiting) != 1 || parked.Waiting[0].ID != out.Waiting[0].ID {
					h.Fatalf("parked %+v", parked)
				}
				answer()
			}
			end := must(app.Resume(h.Context(), thread))(h)
			want(h, "log", end.State.Log, "[look review approve send]")
			want(h, "done", did, "map[look:1 pay:1]")
		}
	})
}

// findings wants what a graph would do to the open threads.
func (h *house) findings(app *graph.App[state], wanted string) {
	h.Helper()
	var found []string
	for f, err := range app.Check(h.Context(), nil) {
		must(f, err)(h)
		found = append(found, fmt.Sprint(f.Thread, " ", f.Kind, " ", f.Next))
	}
	want(h, "findings", found, wanted)
}

// A definition that changed between pause and resume is found out, before a
// deploy and after it; the thread is untouched and goes on with the old one.
func TestExtra22ChangedDefinitionIsDetected(t *testing.T) {
	onStores(t, func(h *house) {
		did := map[string]int{}
		out := must(h.app(asking(did, "approve", "ship")).Run(h.Context(), "t", state{}))(h)
		h.decide(out.Waiting[0].ID, posthouse.Decision{Verdict: posthouse.Approve})
		h.restart()
		tail := must(h.ledger.Thread(h.Context(), "t"))(h).Tail
		changed := h.app(asking(did, "review", "ship"))
		h.findings(changed, "[t fails [approve]]")
		_, err := changed.Resume(h.Context(), "t")
		var ch *graph.ChangedError
		if !errors.As(err, &ch) || !errors.Is(err, posthouse.ErrInvalid) || len(ch.Mismatches) != 1 || ch.Mismatches[0].Name != "approve" || ch.From == ch.To {
			h.Fatal(err)
		}
		if now := must(h.ledger.Thread(h.Context(), "t"))(h).Tail; now != tail {
			h.Fatal("the thread was touched")
		}
		// A change that does not concern a thread does not stop it, and is on record.
		end := must(h.app(asking(did, "approve", "send")).Resume(h.Context(), "t"))(h)
		want(h, "log", end.State.Log, "[look approve approve send]")
		want(h, "done", did, "map[look:1 pay:1]")
		var prints = map[string]bool{}
		for c, err := range h.ledger.List(h.Context(), posthouse.Query{Thread: "t"}) {
			prints[must(c, err)(h).Fingerprint] = true
		}
		want(h, "fingerprints in the history", len(prints), "2")
	})
}
