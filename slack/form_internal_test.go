package slack

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/posthouse/posthouse"
)

// FuzzForm edits one value of any payload: the others stay as they are on record, byte for byte.
func FuzzForm(f *testing.F) {
	for _, payload := range []string{
		`{"account":9007199254740993,"amount":250.50}`, `{"a":"<!channel> \u202e &amp;","b":{"c":[1,"x"]},"d":null,"":true}`, `["a", 1]`, `"line 1\nline 2"`, `1e5`, `{"a":"&lt;"}`,
	} {
		f.Add(payload, "7")
		f.Add(payload, "&lt;b&gt; \" ")
	}
	f.Fuzz(func(t *testing.T, payload, typed string) {
		if !json.Valid([]byte(payload)) || !utf8.ValidString(payload) || !utf8.ValidString(typed) {
			return
		}
		form, ok := newForm(&posthouse.Gate{Name: "q", Payload: json.RawMessage(payload)}, posthouse.Edit)
		if !ok {
			return
		}
		values := map[string]map[string]slack.BlockAction{}
		for i, in := range form.inputs {
			values[block(i)] = map[string]slack.BlockAction{inputAction: {Value: in.initial}}
		}
		if v, wrong := form.read(values); wrong == nil {
			t.Fatalf("without a change %s becomes %s", payload, v)
		}
		values[block(0)][inputAction] = slack.BlockAction{Value: typed}
		v, wrong := form.read(values)
		if wrong != nil {
			return
		}
		if !json.Valid(v) {
			t.Fatalf("%s with %q is %s, which is no JSON", payload, typed, v)
		}
		for _, in := range form.inputs[1:] {
			name, _ := encode(in.name)
			if !bytes.Contains(v, append(append(name, ':'), in.was...)) {
				t.Fatalf("%s with %q is %s, which lost %s", payload, typed, v, in.was)
			}
		}
	})
}
