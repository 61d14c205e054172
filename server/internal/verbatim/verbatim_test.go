package verbatim

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
)

type inner struct {
	Payload json.RawMessage `json:"payload,omitempty"`
	Name    string          `json:"name"`
}

type outer struct {
	inner
	*pointed
	Name   string                     `json:"name,omitempty"`
	Value  json.RawMessage            `json:"value"`
	Values map[string]json.RawMessage `json:"values,omitempty"`
	Some   []inner                    `json:"some,omitempty"`
	One    *inner                     `json:"one,omitempty"`
	At     time.Time                  `json:"at,omitzero"`
	Bytes  []byte                     `json:"bytes,omitempty"`
	Hidden string                     `json:"-"`
	Any    any                        `json:"any,omitempty"`
	Count  int                        `json:"count"`
	Self   *outer                     `json:"self,omitempty"`
}

type pointed struct {
	Deep json.RawMessage `json:"deep,omitempty"`
}

// sample has values with spaces, numbers that floats lose, and marks of HTML.
func sample() *outer {
	raw := json.RawMessage("{ \"account\" :\n9007199254740993, \"b\":\"<&>\\u0041\" }")
	return &outer{
		inner: inner{Payload: raw, Name: "hidden by the outer name"}, pointed: &pointed{Deep: raw}, Name: "n<", Value: nil, Values: map[string]json.RawMessage{"b": raw, "a": json.RawMessage("1.0")},
		Some: []inner{{Name: "x"}, {Payload: json.RawMessage("null"), Name: "y"}}, One: &inner{Payload: raw}, At: time.Unix(1, 0).UTC(), Bytes: []byte{1, 2}, Any: map[string]json.RawMessage{"k": raw},
		Self: &outer{Value: raw},
	}
}

// TestValuesAreStringsOfTheirBytes compares with what encoding/json has, but for the values.
func TestValuesAreStringsOfTheirBytes(t *testing.T) {
	have := must.Get(Marshal(sample()))(t)
	var plain, text map[string]any
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(sample()))(t), &plain))
	must.Do(t, json.Unmarshal(have, &text))
	if len(plain) != len(text) {
		t.Errorf("the members are not those of encoding/json: %s", have)
	}
	for name := range plain {
		if _, ok := text[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	want := string(sample().Payload)
	if text["payload"] != want || text["deep"] != want || text["one"].(map[string]any)["payload"] != want || text["values"].(map[string]any)["a"] != "1.0" ||
		text["any"].(map[string]any)["k"] != want || text["self"].(map[string]any)["value"] != want || text["value"] != nil {
		t.Errorf("the values are not as on record: %s", have)
	}
	if text["name"] != "n<" || !bytes.Contains(have, []byte(`"n<"`)) || text["at"] != plain["at"] || text["bytes"] != plain["bytes"] || text["count"] != plain["count"] {
		t.Errorf("what is no value on record has changed: %s", have)
	}
}

// TestRestoreGivesTheBytesBack sends what was read, and decodes the same bytes.
func TestRestoreGivesTheBytesBack(t *testing.T) {
	sent := must.Get(Marshal(sample()))(t)
	back := must.Get(Restore(sent, reflect.TypeFor[outer]()))(t)
	o := &outer{pointed: &pointed{}}
	dec := json.NewDecoder(bytes.NewReader(back))
	must.Do(t, dec.Decode(o))
	want := sample()
	if !bytes.Equal(o.Payload, want.Payload) || !bytes.Equal(o.Values["b"], want.Values["b"]) || !bytes.Equal(o.One.Payload, want.Payload) || !bytes.Equal(o.Self.Value, want.Payload) {
		t.Errorf("it came back as %s", back)
	}
}

// TestRestoreRefusesWhatIsNoText names the member at fault.
func TestRestoreRefusesWhatIsNoText(t *testing.T) {
	for body, field := range map[string]string{
		`{"payload":1}`: "payload", `{"payload":{}}`: "payload", `{"payload":"{"}`: "payload", `{"payload":"1,\"name\":\"x\""}`: "payload", `{"payload":""}`: "payload",
		`{"values":{"a":[]}}`: "values.a", `{"some":[{"name":"x"},{"payload":"x"}]}`: "some[1].payload", `{"self":{"value":"}"}}`: "self.value",
	} {
		_, err := Restore([]byte(body), reflect.TypeFor[outer]())
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%s: %v, want %s at fault", body, err, field)
		}
	}
	for _, body := range []string{`{`, ``, `[]`, `"x"`, `{"unknown":1}`, `{"count":"x"}`, `null`, `{"value":null}`} {
		if back, err := Restore([]byte(body), reflect.TypeFor[outer]()); err != nil || strings.TrimSpace(string(back)) != body {
			t.Errorf("%s is not left to its decoder: %s, %v", body, back, err)
		}
	}
}

// FuzzRestore gives bodies of any form: what comes out is JSON if what went in was.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(`{"payload":"{\"a\":1}","values":{"x":"2"},"some":[{"payload":"null"}]}`))
	f.Add([]byte(`{"payload":"1","payload":"2"}`))
	f.Add([]byte(`{"a":{"b":[1,2,{"payload":"\ud800"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		back, err := Restore(body, reflect.TypeFor[outer]())
		if err == nil && json.Valid(body) != json.Valid(back) {
			t.Errorf("%q became %q", body, back)
		}
	})
}
