package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

func TestBadQuestions(t *testing.T) {
	many := make([]string, 1001)
	labels := map[string]string{}
	for i := range 17 {
		labels[strings.Repeat("l", i+1)] = "x"
	}
	for _, tc := range []struct {
		field string
		q     gate.Question
	}{
		{"question", gate.Question{}},
		{"question", gate.Question{Name: "a>b"}},
		{"question", gate.Question{Name: strings.Repeat("x", 201)}},
		{"Kind", gate.Question{Name: "q", Kind: "a\nb"}},
		{"Text", gate.Question{Name: "q", Text: strings.Repeat("x", 4001)}},
		{"Text", gate.Question{Name: "q", Text: "\xff"}},
		{"Expires", gate.Question{Name: "q", Expires: -time.Second}},
		{"RequestedBy", gate.Question{Name: "q", RequestedBy: "a\x00"}},
		{"Verdicts", gate.Question{Name: "q", Verdicts: []posthouse.Verdict{"maybe"}}},
		{"Verdicts", gate.Question{Name: "q", Verdicts: []posthouse.Verdict{posthouse.Expire}}},
		{"Verdicts", gate.Question{Name: "q", Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Approve}}},
		{"Assignees", gate.Question{Name: "q", Assignees: []string{""}}},
		{"Assignees", gate.Question{Name: "q", Assignees: many}},
		{"Assignees", gate.Question{Name: "q", Assignees: []string{"alice"}, RequestedBy: "alice"}},
		{"Labels", gate.Question{Name: "q", Labels: map[string]string{"": "x"}}},
		{"Labels", gate.Question{Name: "q", Labels: labels}},
		{"Show", gate.Question{Name: "q", Show: func() {}}},
		{"Show", gate.Question{Name: "q", Show: "\xff"}},
		{"schema", gate.Question{Name: "q", Schema: json.RawMessage(`{"type":7}`)}},
		{"schema", gate.Question{Name: "q", Schema: json.RawMessage(`{"$ref":"#"}`)}},
	} {
		h := newHost(t, func(ctx context.Context) error {
			_, err := gate.Ask[any](ctx, tc.q)
			return err
		})
		err := h.run()
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != tc.field {
			t.Errorf("%+v: %v", tc.q, err)
		}
		if len(h.open()) != 0 {
			t.Errorf("%+v: a malformed question was put", tc.q)
		}
	}
}

type node struct{ Next *node }

func TestTypeWithoutSchema(t *testing.T) {
	ask := func(q gate.Question) error {
		return newHost(t, func(ctx context.Context) error {
			_, err := gate.Ask[node](ctx, q)
			return err
		}).run()
	}
	if err := ask(gate.Question{Name: "q"}); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "Verdicts") {
		t.Fatal(err)
	}
	for _, q := range []gate.Question{
		{Name: "q", Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject}},
		{Name: "q", Schema: json.RawMessage(`true`)},
	} {
		if err := ask(q); !errors.Is(err, posthouse.ErrWaiting) {
			t.Fatal(err)
		}
	}
}

// A type's JSON form decides its schema, not its kind of Go type.
func TestDerivedSchemas(t *testing.T) {
	type inner struct {
		Hash posthouse.Hash    `json:"hash"`
		Data []byte            `json:"data"`
		Raw  json.RawMessage   `json:"raw"`
		At   time.Time         `json:"at"`
		Big  *big.Int          `json:"big"`
		Num  json.Number       `json:"num"`
		Tags map[string]string `json:"tags,omitempty"`
	}
	type all struct {
		List []inner  `json:"list"`
		Two  [2]*bool `json:"two"`
	}
	good := all{List: []inner{{Hash: posthouse.Hash{1}, Data: []byte("x"), Raw: json.RawMessage(`[1,{}]`), Big: big.NewInt(7), Num: "9007199254740993.00"}}}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	var a gate.Answer[all]
	h := newHost(t, asking(gate.Question{Name: "q"}, &a))
	id := h.wait()[0].ID
	for bad, want := range map[string]string{
		strings.Replace(string(text), `"hash":"01`, `"hash":1,"x":"`, 1):           "list[].hash",
		strings.Replace(string(text), `"num":9007199254740993.00`, `"num":"9"`, 1): "list[].num",
		strings.Replace(string(text), `"two":[null,null]`, `"two":[null]`, 1):      "two",
		strings.Replace(string(text), `"two":[null,null]`, `"two":[null,1]`, 1):    "two[]",
	} {
		_, err := h.l.Decide(context.Background(), id, posthouse.Decision{Verdict: posthouse.Edit, By: "bob", Value: json.RawMessage(bad)})
		if !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	h.decide(id, posthouse.Decision{Verdict: posthouse.Edit, Value: text})
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(a.Value); err != nil || string(got) != string(text) {
		t.Fatalf("got %s, %v", got, err)
	}
}
