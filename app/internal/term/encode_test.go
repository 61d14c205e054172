package term

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse/internal/base/text"
)

func encoded(t testing.TB, f Format, v any) string {
	t.Helper()
	var b bytes.Buffer
	if err := (&Term{Out: &b, Format: f}).Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFormats prints one value in each format. Members keep their order and numbers their digits.
func TestFormats(t *testing.T) {
	list := json.RawMessage(`[{"b":9007199254740993,"a":"no"},{"list":[],"of":{},"x":1e3,"y":-0.10,"s":"1","n":null,"t":true,"m":"a\nb"}]`)
	for f, want := range map[Format]string{
		JSONLines: `{"b":9007199254740993,"a":"no"}` + "\n" + `{"list":[],"of":{},"x":1e3,"y":-0.10,"s":"1","n":null,"t":true,"m":"a\nb"}` + "\n",
		YAML: `- b: 9007199254740993
  a: "no"
- list: []
  of: {}
  x: 1.0e3
  "y": -0.10
  s: "1"
  "n": null
  t: true
  m: |-
    a
    b
`,
	} {
		if got := encoded(t, f, list); got != want {
			t.Errorf("as %s it is\n%s\nwant\n%s", f, got, want)
		}
	}
	if got := encoded(t, JSON, list); !strings.HasPrefix(got, "[\n  {\n    \"b\": 9007199254740993,") {
		t.Errorf("as JSON it is %s", got)
	}
	if got := encoded(t, JSONLines, map[string]int{"a": 1}); got != "{\"a\":1}\n" {
		t.Errorf("one value is %q", got)
	}
	if got := encoded(t, JSONLines, []int{}); got != "" {
		t.Errorf("an empty list is %q", got)
	}
	for f, want := range map[Format]string{JSON: "1\n2\n", JSONLines: "1\n2\n", YAML: "---\n1\n---\n2\n"} {
		var b bytes.Buffer
		out := &Term{Out: &b, Format: f}
		for _, n := range []int{1, 2} {
			if err := out.EncodeOne(n); err != nil {
				t.Fatal(err)
			}
		}
		if b.String() != want {
			t.Errorf("one after another as %s they are %q, want %q", f, b.String(), want)
		}
	}
}

// FuzzYAML: a JSON document says the same as YAML, and hides nothing from people.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{
		`{"a":"x\u202ey","\u2028":["",null,1e400,-1E-7,1.5E+3,0],"no":"yes","k":{"":"\t\r\n\u0000 "}}`, `"~"`, `"- a: b # c"`, `[[[]]]`, `"\ud83d\ude00\ue0041"`, `"2026-01-31"`, `"0x10"`, `"<<"`, `{"<<":{"a":1}}`,
		`"a\u0085b\ufeff"`, `"\u2029 \n"`, `" lead\n  more\n"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want any
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		if d.Decode(&want) != nil || !json.Valid([]byte(s)) {
			return
		}
		out := encoded(t, YAML, json.RawMessage(s))
		if strings.ContainsFunc(out, text.Hidden) {
			t.Errorf("%q is written as %q, which hides something", s, out)
		}
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(out), &n); err != nil {
			t.Fatalf("%q is written as %q: %v", s, out, err)
		}
		if got := valueOf(t, n.Content[0]); !reflect.DeepEqual(got, plain(want)) {
			t.Errorf("%q is written as\n%s\nread as %#v, want %#v", s, out, got, plain(want))
		}
	})
}

// plain writes numbers as YAML does. Of two members with one name the last counts, as in JSON.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(string(v)).Value
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

func valueOf(t *testing.T, n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, valueOf(t, c))
		}
		return list
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i].ShortTag() != "!!str" {
				t.Errorf("the name %q is read as %s", n.Content[i].Value, n.Content[i].ShortTag())
			}
			m[n.Content[i].Value] = valueOf(t, n.Content[i+1])
		}
		return m
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true"
	case "!!str", "!!int", "!!float":
		return n.Value
	}
	t.Errorf("%q is read as %s", n.Value, n.ShortTag())
	return nil
}
