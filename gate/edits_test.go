package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

// A currency reads every text as EUR.
type currency string

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *currency) UnmarshalText([]byte) error { *c = "EUR"; return nil }

type wire struct {
	To       string
	Amount   int64
	Currency currency
}

// wiring returns a node that pays what is approved.
func wiring(q gate.Question, paid *[]wire) func(context.Context) error {
	return func(ctx context.Context) error {
		grant, err := gate.Propose(ctx, q, wire{"bob", 10, "EUR"})
		if err != nil {
			return err
		}
		_, err = gate.Act(ctx, "pay", grant, func(_ context.Context, w wire) (string, error) { *paid = append(*paid, w); return "paid", nil })
		return err
	}
}

// odd are edits that say one thing to a person and another to the program, with what a refusal says.
var odd = map[string]string{
	`{"To":"bob","Amount":1e1,"Currency":"EUR"}`:             "write 10",
	`{"To":"bob","Amount":10.0,"Currency":"EUR"}`:            "write 10",
	`{"To":"bob","Amount":1e400,"Currency":"EUR"}`:           "in its range",
	`{"To":"bob","Amount":10,"Currency":"JPY"}`:              `is read as "EUR"`,
	`{"To":"bob","to":"","Amount":10,"Currency":"EUR"}`:      `"to"`,
	`{"to":"","To":"bob","Amount":10,"Currency":"EUR"}`:      `"to"`,
	`{"To":"bob","Amount":1,"Amount":9,"Currency":"EUR"}`:    "twice",
	`{"To":"bob","Amount":10,"Currency":"EUR","Fee":"none"}`: "Fee",
}

// TestEditsAreReadBeforeTheyAreRecorded edits a proposal with a schema that takes anything. The process
// has the program's type: each is refused, says what to write, and leaves the question open.
func TestEditsAreReadBeforeTheyAreRecorded(t *testing.T) {
	var paid []wire
	h := newHost(t, wiring(gate.Question{Name: "pay", Schema: json.RawMessage(`{"type":"object"}`)}, &paid))
	g := h.wait()[0]
	for value, says := range odd {
		_, err := h.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: json.RawMessage(value)})
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %s", value, err, says)
		}
	}
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Edit, Value: json.RawMessage(`{"Currency":"EUR","To":"bob","Amount":9}`)})
	if err := h.run(); err != nil || len(paid) != 1 || paid[0].Amount != 9 {
		t.Errorf("paid %v, %v", paid, err)
	}
}

// TestEditsThatDoNotReadAreAskedAgain takes the same edits in a process that does not have the
// program. Nothing runs on them: the content is asked about again, and says why.
func TestEditsThatDoNotReadAreAskedAgain(t *testing.T) {
	for value := range odd {
		if strings.Count(value, `"Amount"`) == 2 { // no process records it
			continue
		}
		var paid []wire
		h := newHost(t, wiring(gate.Question{Name: "pay", Schema: json.RawMessage(`{"type":"object"}`)}, &paid))
		g := h.wait()[0]
		h.restart()
		h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Edit, Value: json.RawMessage(value)})
		again := h.wait()
		if len(again) != 1 || again[0].Supersedes != g.ID || again[0].Content() != g.Content() || !strings.Contains(again[0].Note, "the edit by bob does not say what would run") {
			t.Fatalf("%s: asked again %+v", value, again)
		}
		h.decide(again[0].ID, posthouse.Decision{Verdict: posthouse.Approve})
		h.restart()
		if err := h.run(); err != nil || len(paid) != 1 || paid[0] != (wire{"bob", 10, "EUR"}) {
			t.Errorf("%s: paid %v, %v", value, paid, err)
		}
	}
}

// TestSchemasBoundWhatATypeTakes derives the schema of a type: whole numbers are written in digits.
func TestSchemasBoundWhatATypeTakes(t *testing.T) {
	var a gate.Answer[edit]
	h := newHost(t, asking(gate.Question{Name: "bill"}, &a))
	g := h.wait()[0]
	h.restart() // the type is gone
	for _, value := range []string{`{"amount":1e1}`, `{"amount":10.0}`, `{"amount":1e400}`} {
		_, err := h.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: json.RawMessage(value)})
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "write ") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// TestAnswersAreReadBeforeTheyAreRecorded answers a question with a schema that takes more than its type.
func TestAnswersAreReadBeforeTheyAreRecorded(t *testing.T) {
	var a gate.Answer[edit]
	h := newHost(t, asking(gate.Question{Name: "refund", Schema: json.RawMessage(`{"type":"object"}`)}, &a))
	g := h.wait()[0]
	for value, says := range map[string]string{`{"amount":1e1}`: "write 10", `{"Amount":5}`: `"Amount"`, `{"amount":"5"}`: "whole number"} {
		_, err := h.l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Respond, By: "alice", Value: json.RawMessage(value)})
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %s", value, err, says)
		}
	}
	h.decide(g.ID, posthouse.Decision{Verdict: posthouse.Respond, Value: json.RawMessage(`{"amount":5,"why":"more than the type has"}`)})
	if err := h.run(); err != nil || a.Value.Amount != 5 {
		t.Errorf("%+v, %v", a, err)
	}
}
