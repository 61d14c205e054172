package gate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

func TestValidateNamesThePath(t *testing.T) {
	const schema = `{
		"type": "object",
		"properties": {
			"lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
			"pair": {"prefixItems": [{"type": "string"}, {"type": "integer"}]},
			"notes": {"additionalProperties": {"type": "string"}},
			"a/b": {"const": 1}
		},
		"$defs": {"line": {"type": "object", "required": ["sku"], "properties": {"price": {"allOf": [{"minimum": 0}]}}}}
	}`
	for value, want := range map[string]string{
		`7`:                                "",
		`{"lines":[]}`:                     "lines",
		`{"lines":[{"sku":1},{}]}`:         "lines[]",
		`{"lines":[{"sku":1,"price":-1}]}`: "lines[].price",
		`{"pair":["x","y"]}`:               "pair[1]",
		`{"notes":{"x":1}}`:                "notes.*",
		`{"a/b":2}`:                        "a/b",
		`{"a/b":"` + strings.Repeat("ä", 500) + `"}`: "a/b",
		`{`: "",
	} {
		err := gate.ValidateJSON(json.RawMessage(schema), json.RawMessage(value))
		var e *gate.SchemaError
		if !errors.As(err, &e) || !errors.Is(err, posthouse.ErrInvalid) || e.Path != want || e.Reason == "" || len(e.Reason) > 300 {
			t.Errorf("%.60s: %v", value, err)
			continue
		}
		if e.Path != "" && !strings.HasPrefix(err.Error(), "at "+want+": ") {
			t.Error(err)
		}
	}
	if err := gate.ValidateJSON(json.RawMessage(schema), json.RawMessage(`{"lines":[{"sku":1,"price":0}],"a/b":1}`)); err != nil {
		t.Fatal(err)
	}
}

// TestNullIsCalledNull looks at what is said of a null in the place of something.
func TestNullIsCalledNull(t *testing.T) {
	for value, schema := range map[string]string{
		`null`:         `{"type":"object"}`,
		`{"a":null}`:   `{"properties":{"a":{"type":["string","integer"]}}}`,
		`{"b":null}`:   `{"properties":{"b":{"enum":[1]}}}`,
		`{"c":null}`:   `{"properties":{"c":{"const":1}}}`,
		`[null]`:       `{"items":{"type":"string"}}`,
		`{"d":[null]}`: `{"properties":{"d":{"contains":{"type":"string"}}}}`,
	} {
		err := gate.ValidateJSON(json.RawMessage(schema), json.RawMessage(value))
		if err == nil || strings.Contains(err.Error(), "reflect") || strings.Contains(err.Error(), "nil") {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestBadSchemas(t *testing.T) {
	for _, schema := range []string{
		``, `{`, `7`, `"x"`, `{"type":"nonsense"}`, `{"pattern":"("}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer"}`,
		`{"$ref":"https://example.com/schema"}`, `{"$ref":"other.json#/a"}`, `{"$ref":"#/nowhere"}`, `{"$ref":"#nowhere"}`, `{"$ref":"#/%zz"}`,
		`{"$ref":"#"}`, `{"$reF":"#"}`,
		`{"allOf":[{"$ref":"#"}]}`,
		`{"properties":{"a":{"anyOf":[true,{"not":{"$ref":"#/properties/a"}}]}}}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"if":true,"then":{"$ref":"#/$defs/a"}}}}`,
		`{"$defs":{"a~/b":{"dependentSchemas":{"x":{"$ref":"#/$defs/a~0~1b"}}}}}`,
		`{"$dynamicAnchor":"me","oneOf":[{"$dynamicRef":"#me"}]}`,
		`{"$defs":{"a":{"$id":"https://example.com/a"}}}`,
		`{"description":"` + strings.Repeat("x", gate.MaxSchema) + `"}`,
	} {
		err := gate.ValidateJSON(json.RawMessage(schema), json.RawMessage(`1`))
		if !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%.80s: %v", schema, err)
		}
	}
}

// A schema may refer to itself on the way down.
func TestRecursiveSchema(t *testing.T) {
	const schema = `{
		"$id": "https://example.com/tree", "type": "object", "additionalProperties": false,
		"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#/properties/left"}, "list": {"items": {"$ref": "#leaf"}}, "enum": {"enum": [{"$ref": "x"}]}},
		"$defs": {"leaf": {"$anchor": "leaf", "type": "integer"}}
	}`
	validate := gate.Validator()
	if err := validate(json.RawMessage(schema), json.RawMessage(`{"left":{"right":{"list":[1,2]}}}`)); err != nil {
		t.Fatal(err)
	}
	err := validate(json.RawMessage(schema), json.RawMessage(`{"left":{"right":{"list":[1,"x"]}}}`))
	if !errors.Is(err, posthouse.ErrInvalid) {
		t.Fatal(err)
	}
}

func TestValidatorIsBoundedAndConcurrent(t *testing.T) {
	validate := gate.Validator()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				schema := fmt.Appendf(nil, `{"maximum":%d}`, (i+w)%100)
				if err := validate(schema, json.RawMessage(`0`)); err != nil {
					t.Error(err)
				}
				if err := validate(schema, json.RawMessage(`1000`)); !errors.Is(err, posthouse.ErrInvalid) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzValidateJSON(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"minimum":1}}}`, `{"a":0}`)
	f.Add(`{"$anchor":"a","allOf":[{"$ref":"#a"}]}`, `1`)
	f.Add(`{"$ref":"#/allOf/0","allOf":[true,{"not":{}}]}`, `[1,"x",null]`)
	f.Add(`{"patternProperties":{"^a":{"uniqueItems":true}},"dependencies":{"a":["b"]}}`, `{"ab":[1,1]}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		err := gate.ValidateJSON(json.RawMessage(schema), json.RawMessage(value))
		if err != nil && !errors.Is(err, posthouse.ErrInvalid) {
			t.Fatal(err)
		}
	})
}

func BenchmarkValidator(b *testing.B) {
	validate := gate.Validator()
	schema, value := json.RawMessage(`{"type":"object","required":["amount"],"properties":{"amount":{"type":"integer"}}}`), json.RawMessage(`{"amount":7}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := validate(schema, value); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAValueThatCostsTooMuch is refused by name, within a second.
func TestAValueThatCostsTooMuch(t *testing.T) {
	const schema = `{"$defs":{"d":{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/d"}},"type":"object"},{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}}}]}},"$ref":"#/$defs/d"}`
	value := strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500)
	err := gate.ValidateJSON(json.RawMessage(schema), json.RawMessage(value))
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "value" || e.Hint == "" {
		t.Errorf("it ends with %v", err)
	}
}
