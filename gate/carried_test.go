package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

// A transfer has all kinds of members.
type transfer struct {
	base
	To     string `json:"to"`
	Amount int    `json:"amount"`
	At     time.Time
	Raw    json.RawMessage
	Any    any
	List   []string          `json:",omitempty"`
	Map    map[string]*place `json:",omitempty"`
	Hidden int               `json:"-"`
	secret string
	Call   func() `json:"-"`
}

type base struct{ Note string }

type place struct {
	City   string
	hidden bool
}

// A dated shows its time alone: it has the methods of what it embeds.
type dated struct {
	time.Time
	Amount int
}

// called calls a tool once in a session where ann gives an answer. It returns what the tool ran
// on, and what ann was asked.
func called[In any](t *testing.T, in In, policy gate.Policy, answers ...posthouse.Decision) (ran []In, asked []*posthouse.Gate, refused []error, err error) {
	t.Helper()
	var s *gate.Session
	done := make(chan struct{}, 100)
	s = gate.NewSession(&gate.SessionOptions{By: "ann", Policy: policy, Announce: func(g *posthouse.Gate) error {
		asked = append(asked, g)
		go func() {
			defer func() { done <- struct{}{} }()
			for _, d := range answers {
				d.By = "ann"
				if _, err := s.Decide(g.ID, d); err != nil {
					refused = append(refused, err)
				}
			}
		}()
		return nil
	}})
	defer s.Close()
	pay := gate.Require(func(_ context.Context, in In) (string, error) { ran = append(ran, in); return "paid", nil }, gate.Approval{Tool: "pay", Message: "Pay?"})
	_, err = pay(s.With(t.Context()), in)
	for range asked {
		<-done
	}
	return ran, asked, refused, err
}

var approve = posthouse.Decision{Verdict: posthouse.Approve}

// TestRequireHidesNothingFromPeople: no person sees a field that the JSON of the arguments does
// not carry, and it does not reach the tool.
func TestRequireHidesNothingFromPeople(t *testing.T) {
	in := transfer{To: "bob", Amount: 1, Hidden: 99999, secret: "mallory", Call: func() {}, Map: map[string]*place{"a": {City: "Bern", hidden: true}}}
	ran, asked, _, err := called(t, in, nil, approve)
	if err != nil || len(ran) != 1 || len(asked) != 1 {
		t.Fatalf("ran %v, asked %v, %v", ran, asked, err)
	}
	if got := ran[0]; got.Hidden != 0 || got.secret != "" || got.Call != nil || got.Map["a"].hidden || got.To != "bob" || got.Amount != 1 {
		t.Errorf("people saw %s, and the tool ran on %+v", asked[0].Payload, got)
	}
	days, asked, _, err := called(t, dated{Time: time.Unix(1, 0), Amount: 5}, nil, approve)
	if err != nil || len(days) != 1 || days[0].Amount != 0 {
		t.Errorf("people saw %s, and the tool ran on %+v, %v", asked[0].Payload, days, err)
	}
}

// TestRequireRunsOnTheCopyOfWhatWasShown runs a tool on arguments that come back from their JSON,
// on a value of its own. What a policy allows keeps its value, hidden fields too.
func TestRequireRunsOnTheCopyOfWhatWasShown(t *testing.T) {
	in := transfer{
		base: base{"hello"}, To: "bob", Amount: 9007199254740993, At: time.Now(), Raw: json.RawMessage(`{ "a" : "<" }`),
		Any: map[string]any{"n": 1.5}, List: []string{}, Map: map[string]*place{"a": {City: "Bern"}},
	}
	ran, asked, _, err := called(t, in, nil, approve)
	if err != nil || len(ran) != 1 || len(asked) != 1 {
		t.Fatalf("ran %v, asked %v, %v", ran, asked, err)
	}
	if got := ran[0]; got.To != "bob" || got.Amount != in.Amount || !got.At.Equal(in.At) || got.Note != "hello" || got.Map["a"] == in.Map["a"] || got.Map["a"].City != "Bern" {
		t.Errorf("the tool ran on %+v", got)
	}
	in.Hidden, in.secret = 99, "kept"
	ran, asked, _, err = called(t, in, gate.AllowAll)
	if err != nil || len(asked) != 0 || len(ran) != 1 || ran[0].Hidden != 99 || ran[0].secret != "kept" || ran[0].Map["a"] != in.Map["a"] {
		t.Errorf("allowed by a policy: ran on %+v, asked %v, %v", ran, asked, err)
	}
}

// TestRequireRefusesEditsThatReadOtherwise edits arguments in ways that one reader takes for this
// and another one for that. Each is refused, and the approval waits on.
func TestRequireRefusesEditsThatReadOtherwise(t *testing.T) {
	edits := []string{`{"to":"bob","amount":1,"amount":9}`, `{"to":"bob","TO":"eve"}`, `{"to":"bob","To":""}`, `{"to":"bob","amount":1e1}`, `{"to":"bob","amount":1,"x":{"a":1,"a":2}}`}
	var answers []posthouse.Decision
	for _, e := range edits {
		answers = append(answers, posthouse.Decision{Verdict: posthouse.Edit, Value: json.RawMessage(e)})
	}
	answers = append(answers, posthouse.Decision{Verdict: posthouse.Edit, Value: json.RawMessage(`{"to":"bob","amount":9}`)})
	type payment struct {
		To     string `json:"to"`
		Amount int64  `json:"amount"`
	}
	ran, _, refused, err := called(t, payment{"bob", 1}, nil, answers...)
	if err != nil || len(ran) != 1 || ran[0] != (payment{"bob", 9}) {
		t.Fatalf("ran %v, %v", ran, err)
	}
	if len(refused) != len(edits) {
		t.Errorf("%d of %d edits were refused: %v", len(refused), len(edits), refused)
	}
	for _, err := range refused {
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("refused with %v", err)
		}
	}
}
