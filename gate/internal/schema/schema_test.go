package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// compiled compiles a schema that is all right.
func compiled(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return s
}

// TestNumbersAreExact: what is beyond 2^53 is not rounded, and 1.0 is 1.
func TestNumbersAreExact(t *testing.T) {
	for _, c := range []struct {
		schema string
		values map[string]bool
	}{
		{`{"maximum":9007199254740993}`, map[string]bool{"9007199254740993": true, "9007199254740994": false, "9007199254740993.0": true, "9007199254740993.1": false, "-1e400": true, "1e400": false}},
		{`{"minimum":-9007199254740993}`, map[string]bool{"-9007199254740993": true, "-9007199254740994": false}},
		{`{"exclusiveMaximum":0.3}`, map[string]bool{"0.3": false, "0.30": false, "0.2999999999999999999999": true, "3e-1": false}},
		{`{"exclusiveMinimum":1e20}`, map[string]bool{"100000000000000000000": false, "100000000000000000001": true}},
		{`{"const":9007199254740993}`, map[string]bool{"9007199254740992": false, "9007199254740993": true, "9007199254740993.0": true, "9.007199254740993e15": true}},
		{`{"enum":[1,0,"1"]}`, map[string]bool{"1.0": true, "-0": true, "0e9": true, `"1"`: true, "10": false, "0.1": false}},
		{`{"multipleOf":0.01}`, map[string]bool{"4.35": true, "4.351": false, "1e300": true, "1e-3": false, "0": true, "-0.02": true}},
		{`{"multipleOf":3}`, map[string]bool{"9007199254740993": true, "9007199254740994": false, "1e1000000": false, "3e1000000": true}},
		{`{"type":"integer"}`, map[string]bool{"1.0": false, "1e2": false, "1.5": false, "1e-2": false, "1e999999999": false, "9007199254740993": true}},
		{`{"type":["number","null"]}`, map[string]bool{"1.0": true, "1e2": true, "1": true, "null": true}},
		{`{"format":"int64"}`, map[string]bool{"9223372036854775807": true, "9223372036854775808": false, "-9223372036854775808": true, "1e1": false, "10.0": false, "1e400": false, "\"x\"": true}},
		{`{"format":"uint8"}`, map[string]bool{"255": true, "256": false, "-1": false}},
		{`{"format":"int7"}`, map[string]bool{"1e400": true}},
		{`{"uniqueItems":true}`, map[string]bool{"[1,1.0]": false, "[9007199254740992,9007199254740993]": true, `[{"a":1,"b":2},{"b":2,"a":1.0}]`: false, `["1",1,[1],{"1":1}]`: true}},
		{`{"minimum":0}`, map[string]bool{"1e99999999999999999999": false, "-1e-9": false, "0e99999999999999999999": true, "-0.0": true}},
	} {
		s := compiled(t, c.schema)
		for value, want := range c.values {
			if err := s.Check(json.RawMessage(value)); (err == nil) != want {
				t.Errorf("%s of %s: %v, want %v", value, c.schema, err, want)
			}
		}
	}
}

// TestKeywords has a case for what each keyword allows and refuses.
func TestKeywords(t *testing.T) {
	for _, c := range []struct{ schema, good, bad string }{
		{`true`, `1`, ``}, {`false`, ``, `1`}, {`{}`, `null`, ``},
		{`{"type":["string","null"]}`, `null`, `1`}, {`{"type":"number"}`, `1`, `"1"`},
		{`{"minLength":2,"maxLength":3}`, `"äöü"`, `"ä"`}, {`{"pattern":"^a+$"}`, `"aa"`, `"ab"`},
		{`{"items":{"type":"integer"}}`, `[1,2]`, `[1,"x"]`}, {`{"prefixItems":[true,{"const":2}],"items":false}`, `[1,2]`, `[1,2,3]`},
		{`{"items":[{"const":1}],"additionalItems":{"const":2}}`, `[1,2,2]`, `[1,3]`},
		{`{"minItems":1,"maxItems":2}`, `[1]`, `[]`}, {`{"contains":{"const":1}}`, `[2,1]`, `[2]`},
		{`{"contains":{"const":1},"minContains":2,"maxContains":2}`, `[1,1]`, `[1,1,1]`}, {`{"contains":{"const":1},"minContains":0}`, `[]`, ``},
		{`{"properties":{"a":{"const":1}},"additionalProperties":false}`, `{"a":1}`, `{"b":1}`},
		{`{"patternProperties":{"^x":{"const":1}},"additionalProperties":{"const":2}}`, `{"x1":1,"y":2}`, `{"y":1}`},
		{`{"propertyNames":{"maxLength":1}}`, `{"a":1}`, `{"ab":1}`}, {`{"minProperties":1,"maxProperties":1}`, `{"a":1}`, `{"a":1,"b":2}`},
		{`{"required":["a"]}`, `{"a":null}`, `{}`}, {`{"dependentRequired":{"a":["b"]}}`, `{"b":1}`, `{"a":1}`},
		{`{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1,"b":1}`, `{"a":1}`}, {`{"dependencies":{"a":["b"],"c":{"minProperties":2}}}`, `{"c":1,"d":1}`, `{"a":1}`},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `2`, `3`}, {`{"anyOf":[{"const":1},{"const":2}]}`, `2`, `3`}, {`{"oneOf":[{"minimum":1},{"maximum":2}]}`, `3`, `2`},
		{`{"not":{"const":1}}`, `2`, `1`}, {`{"if":{"type":"string"},"then":{"minLength":1},"else":{"minimum":1}}`, `"x"`, `0`}, {`{"then":false}`, `1`, ``},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
		{`{"allOf":[{"properties":{"a":true}},{"unevaluatedProperties":false}]}`, `{}`, `{"a":1}`},
		{`{"anyOf":[{"prefixItems":[{"const":1}]},{"prefixItems":[true,{"const":2}]}],"unevaluatedItems":false}`, `[3,2]`, `[1,3]`},
		{`{"$ref":"#/$defs/a","maximum":5,"$defs":{"a":{"minimum":1}}}`, `3`, `6`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"x":{"$ref":"#/definitions/a","maximum":0}},"definitions":{"a":{"minimum":1}}}`, `{"x":3}`, `{"x":0}`},
		{`{"properties":{"next":{"$dynamicRef":"#me"}},"$dynamicAnchor":"me","required":["v"]}`, `{"v":1,"next":{"v":2}}`, `{"v":1,"next":{}}`},
	} {
		s := compiled(t, c.schema)
		if c.good != "" {
			if err := s.Check(json.RawMessage(c.good)); err != nil {
				t.Errorf("%s of %s: %v", c.good, c.schema, err)
			}
		}
		if c.bad != "" {
			if f := (*Failure)(nil); !errors.As(s.Check(json.RawMessage(c.bad)), &f) || f.Reason == "" {
				t.Errorf("%s of %s is all right", c.bad, c.schema)
			}
		}
	}
}

// doubled is a schema with n definitions; each applies the one before it twice.
func doubled(n int, apply string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d` + fmt.Sprint(n) + `","$defs":{"d0":{"type":"integer"}`)
	for i := range n {
		fmt.Fprintf(&b, `,"d%d":%s`, i+1, strings.ReplaceAll(apply, "REF", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i)))
	}
	return b.String() + "}}"
}

// TestCostlySchemasAreRefused: what would never end, or take hundreds of megabytes, does not
// compile.
func TestCostlySchemasAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"allOf doubled":        doubled(40, `{"allOf":[REF,REF]}`),
		"anyOf doubled":        doubled(40, `{"anyOf":[REF,REF]}`),
		"conditions doubled":   doubled(40, `{"if":REF,"then":REF,"else":REF}`),
		"dependencies doubled": doubled(40, `{"dependentSchemas":{"a":REF,"b":REF}}`),
		"repetitions":          `{"pattern":"((a{100}){100}){100}"}`,
		"a long repetition":    `{"pattern":"` + strings.Repeat(`(\\pL{1000})`, 400) + `"}`,
		"names repeated":       `{"patternProperties":{"(x{900}){3}":true}}`,
		"many patterns":        `{"allOf":[` + strings.Repeat(`{"pattern":"x{900}"},`, 12) + `true]}`,
		"deep":                 strings.Repeat(`{"not":`, 101) + "true" + strings.Repeat("}", 101),
		"a list that is deep":  `{"enum":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}",
		"another case":         `{"maxlength":1}`,
		"divided by nothing":   `{"multipleOf":0}`,
		"a huge exponent":      `{"maximum":1e99999999999999999999}`,
	} {
		if _, err := Compile(json.RawMessage(text)); err == nil {
			t.Errorf("%s compiles", name)
		}
	}
	compiled(t, doubled(8, `{"allOf":[REF,REF]}`))
	compiled(t, `{"pattern":"^[A-Z]{2}[0-9]{2}[A-Z0-9]{1,30}$"}`)
	compiled(t, `{"pattern":"^(?:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$"}`)
}

// TestChecksHaveABudget: alternatives on the way down double with each level of the value.
func TestChecksHaveABudget(t *testing.T) {
	s := compiled(t, `{"$defs":{"d":{"anyOf":[{"properties":{"a":{"$ref":"#/$defs/d"}},"type":"object"},{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}}}]}},"$ref":"#/$defs/d"}`)
	value := strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500)
	if err := s.Check(json.RawMessage(value)); !errors.Is(err, ErrBudget) {
		t.Errorf("it ends with %v", err)
	}
	s = compiled(t, `{"items":{"pattern":"(a|aa|b){60}c"}}`)
	if err := s.Check(json.RawMessage(`["` + strings.Repeat("a", 200_000) + `"]`)); !errors.Is(err, ErrBudget) {
		t.Errorf("a pattern on a long text: %v", err)
	}
	s = compiled(t, `{"properties":{"a":{"$ref":"#"}}}`)
	if err := s.Check(json.RawMessage(strings.Repeat(`{"a":`, 9000) + `1` + strings.Repeat(`}`, 9000))); err != nil {
		t.Errorf("a deep value: %v", err)
	}
	s = compiled(t, `{"type":"array","items":{"type":"integer","minimum":0}}`)
	if err := s.Check(json.RawMessage("[" + strings.Repeat("12,", 1<<20) + "1]")); err != nil {
		t.Errorf("a long list: %v", err)
	}
	if err := s.Check(json.RawMessage(`[` + strings.Repeat("9", 100_000) + `.5]`)); err == nil {
		t.Error("a long number is an integer")
	}
}

// FuzzCheck: nothing panics, and nothing takes long.
func FuzzCheck(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"minimum":1}}}`, `{"a":0}`)
	f.Add(`{"$anchor":"a","allOf":[{"$ref":"#a"}]}`, `1`)
	f.Add(`{"unevaluatedItems":{"not":{}},"contains":{"const":1e400}}`, `[1,"x",null]`)
	f.Add(`{"patternProperties":{"^a":{"uniqueItems":true}},"dependencies":{"a":["b"]},"multipleOf":0.1}`, `{"ab":[1,1]}`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Compile(json.RawMessage(schema))
		if err != nil {
			return
		}
		_ = s.Check(json.RawMessage(value))
	})
}
