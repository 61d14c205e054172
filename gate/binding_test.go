package gate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

func TestIntentIsTheFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"Refund 50 to alice?":             "Refund 50 to alice?",
		"Refund?\nBecause of this":        "Refund?",
		"  \r\n\n Refund? \r\nBecause":    "Refund?",
		"":                                "pay",
		" \n\t\n":                         "pay",
		"\u202egnp.exe\nRefund?":          "\u202egnp.exe",
		strings.Repeat("x", 4000) + "\ny": strings.Repeat("x", 4000),
	} {
		if got := gate.Intent(&posthouse.Gate{Name: "pay", Text: text}); got != want {
			t.Errorf("the intent of %.40q is %.40q, want %.40q", text, got, want)
		}
	}
}

func TestBindingHasAllMembersAsTheyAre(t *testing.T) {
	schema := `{"type":"object","properties":{"account":{"title":"Account","description":"not this"},"to":{"$ref":"#/$defs/party","description":"who gets it"},
		"by":{"$ref":"#/$defs/party"}},"$defs":{"party":{"description":"somebody"}}}`
	for _, c := range []struct{ payload, schema, want string }{
		{"", schema, ""},
		{"{", schema, ""},
		{"{}", schema, ""},
		{`{"z":1,"account":9007199254740993,"a":{"z": 1.50, "a":[ ]},"":"\u202e"}`, "", `z=z=1;account=account=9007199254740993;a=a={"z": 1.50, "a":[ ]};=="\u202e"`},
		{`{"account":1e2,"to":"bob","by":null,"more":true}`, schema, `account=Account=1e2;to=who gets it="bob";by=somebody=null;more=more=true`},
		{`[1,2]`, "", `=content=[1,2]`},
		{` "text" `, `{"title":"Reply"}`, `=Reply="text"`},
		{`{"a":1}`, `{"properties":7}`, `a=a=1`},
		{`{"a":1}`, `garbage`, `a=a=1`},
		{`{"a":1,"a":2}`, "", `a=a=1;a=a=2`},
	} {
		var got []string
		for _, f := range gate.Binding(&posthouse.Gate{Payload: json.RawMessage(c.payload), PayloadSchema: json.RawMessage(c.schema)}) {
			got = append(got, fmt.Sprintf("%s=%s=%s", f.Name, f.Label, f.Value))
		}
		if s := strings.Join(got, ";"); s != c.want {
			t.Errorf("the fields of %s are %s, want %s", c.payload, s, c.want)
		}
	}
}

type refundAsked struct {
	Account json.Number `json:"account" doc:"the customer's account"`
	Cents   int64       `json:"cents"`
	Note    string      `json:"note,omitempty" doc:"for the bank"`
}

// The schema of what is shown is on record with the question where its type has doc tags.
func TestLabelsAreOnRecord(t *testing.T) {
	for _, c := range []struct {
		show any
		own  string
		want string
	}{
		{refundAsked{"9007199254740993", 5, ""}, "", "the customer's account: 9007199254740993, cents: 5"},
		{&refundAsked{"1", 5, "now"}, "", "the customer's account: 1, cents: 5, for the bank: \"now\""},
		{map[string]any{"b": 1, "a": 2}, "", "a: 2, b: 1"},
		{map[string]any{"b": 1, "a": 2}, `{"properties":{"b":{"title":"B!"}}}`, "a: 2, B!: 1"},
		{struct{ A int }{1}, "", "A: 1"},
	} {
		var a gate.Answer[struct{}]
		g := newHost(t, asking(gate.Question{Name: "refund", Text: "Refund?", Show: c.show, ShowSchema: json.RawMessage(c.own)}, &a)).wait()[0]
		var got []string
		for _, f := range gate.Binding(g) {
			got = append(got, f.Label+": "+string(f.Value))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%+v is shown as %s, want %s", c.show, s, c.want)
		}
	}
}

func FuzzBinding(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":{"c":2}}`), []byte(`{"properties":{"a":{"title":"A"}}}`))
	f.Add([]byte(`{"a":1,"a":2}`), []byte(`{"$ref":"#/$defs/x"}`))
	f.Fuzz(func(t *testing.T, payload, schema []byte) {
		for _, field := range gate.Binding(&posthouse.Gate{Payload: payload, PayloadSchema: schema}) {
			if !json.Valid(field.Value) || !strings.Contains(string(payload), string(field.Value)) {
				t.Fatalf("%q has the value %q", field.Name, field.Value)
			}
		}
	})
}
