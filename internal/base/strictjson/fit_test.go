package strictjson

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type order struct {
	To     string
	Amount int8 `json:"amount"`
	Lines  []line
	Tags   map[string]bool `json:",omitempty"`
	When   *time.Time
	Free   any
	Raw    json.RawMessage
	base
	N      int `json:",string"`
	hidden int
	Skip   int `json:"-"`
}

type base struct{ Note *string }
type line struct {
	Price float64
	Exact json.Number
}

// TestFit: each message names the place, what is wanted and what came, and no Go type.
func TestFit(t *testing.T) {
	_ = order{}.hidden
	for in, want := range map[string]string{
		`{"To":"a","amount":1,"Lines":[{"Price":1.5}],"Tags":{"x":true},"When":null,"Free":[1],"Raw":{"x":1},"Note":"n","N":"5"}`: "",
		`{"to":"a","Lines":null}`:             "",
		`{"Too":"x"}`:                         "Too: is not known; there is To, amount, Lines, Tags, When, Free, Raw, Note, N",
		`{"To":"a","to":"b"}`:                 "to: is there twice",
		`{"amount":"1"}`:                      "amount: must be a whole number, not text",
		`{"amount":1.5}`:                      "amount: must be a whole number in its range, not 1.5",
		`{"amount":300}`:                      "amount: must be a whole number in its range, not 300",
		`{"Lines":[{"Price":1},{"Prize":1}]}`: "Lines[1].Prize: is not known; there is Price, Exact",
		`{"Lines":[{"Exact":1250.00}]}`:       "",
		`{"Lines":[{"Exact":"1250.00"}]}`:     "Lines[0].Exact: must be a number, not text",
		`{"Tags":{"x":1}}`:                    "Tags.x: must be a boolean, not a number",
		`{"To":null}`:                         "To: must be text, not null",
		`{"Skip":1}`:                          "Skip: is not known; there is To, amount, Lines, Tags, When, Free, Raw, Note, N",
		`[]`:                                  ": must be an object, not a list",
		`{`:                                   ": is not JSON: unexpected end of JSON input",
	} {
		path, reason := Fit([]byte(in), reflect.TypeFor[order]())
		if got := path + ": " + reason; reason == "" && want != "" || reason != "" && got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	if got, want := Describe(reflect.TypeFor[[]line]()), `[{"Price": number, "Exact": number}, ...]`; got != want {
		t.Errorf("a list is described as %s, want %s", got, want)
	}
}

func FuzzFit(f *testing.F) {
	f.Add([]byte(`{"To":"a","amount":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v order
		path, reason := Fit(data, reflect.TypeFor[order]())
		if err := json.Unmarshal(data, &v); err != nil && reason == "" {
			t.Errorf("%s fits, and encoding/json says %v (%s)", data, err, path)
		}
	})
}
