package slack

import (
	"bytes"
	"encoding/json"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/card"
)

// Bounds of inputs in a modal, in characters.
const (
	maxInput   = 3000 // of a text that is edited
	maxOption  = 75   // of a choice
	maxOptions = 100
)

// A form is what a person fills in to give a verdict. It follows from the gate alone, so what comes back is read by
// making it again.
type form struct {
	verdict posthouse.Verdict // "": the person chooses between approve and reject
	inputs  []input
	object  bool // the value is an object of the inputs; otherwise there is one input
	payload json.RawMessage
}

// An input is one value of a form.
type input struct {
	name     string // of the member; "" for the whole value
	label    string
	words    bool            // what is typed is a string; otherwise it is JSON
	was      json.RawMessage // the value that is edited, as on record; nil if there is no such value
	initial  string          // what the input begins with
	choices  []json.RawMessage
	optional bool   // it may be left empty
	warning  string // of what people do not see in it, or take for something else
}

// newForm returns the form of a verdict on a gate; false if it does not fit into a modal.
func newForm(g *posthouse.Gate, verdict posthouse.Verdict) (*form, bool) {
	f := &form{verdict: verdict}
	switch {
	case !verdict.TakesValue():
	case verdict == posthouse.Edit && len(g.Payload) > 0 && (len(g.Schema) == 0 || gate.ValidateJSON(g.Schema, g.Payload) == nil):
		f.ofPayload(g)
	default:
		f.ofSchema(g.Schema)
	}
	if verdict.TakesValue() && len(f.inputs) == 0 || len(f.inputs) > limits.Fields {
		return nil, false
	}
	for _, in := range f.inputs {
		if utf8.RuneCountInString(in.initial) > maxInput {
			return nil, false
		}
	}
	return f, true
}

// ofPayload makes an input of each member of what is shown.
func (f *form) ofPayload(g *posthouse.Gate) {
	f.payload = bytes.TrimSpace(g.Payload)
	labels := card.Of(&notify.Event{Type: notify.GateOpened, Data: notify.Data{Gate: notify.Shown(g)}}, &limits).Fields
	for i, field := range gate.Binding(g) {
		in := input{name: field.Name, was: field.Value, label: field.Name}
		if i < len(labels) {
			in.label = labels[i].Label
		}
		in.words, in.initial = typed(field.Value)
		var marks text.Marks
		marks.AddJSON(field.Value)
		in.warning = marks.Warning()
		in.optional = in.words // an empty text is a text
		f.inputs = append(f.inputs, in)
		f.object = f.payload[0] == '{'
	}
}

// typed returns a value as people type it: a text as its characters, and anything else, or a text with characters that
// an input would not keep, as JSON.
func typed(v json.RawMessage) (words bool, initial string) {
	var s string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &s) != nil {
		return false, ascii(string(v))
	}
	if strings.TrimSpace(s) != s || strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && text.Hidden(r) }) {
		quoted, _ := encode(s) // a string always encodes
		return false, ascii(string(quoted))
	}
	return true, s
}

// ascii returns JSON with the escapes of characters that people do not see.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == ' ' || r == '\n' || r == '\t' || !text.Hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			b.WriteString(`\u` + strconv.FormatUint(0x10000|uint64(u), 16)[1:])
		}
	}
	return b.String()
}

// A shape is what a form reads of a JSON Schema.
type shape struct {
	Type       any               `json:"type"` // a string or a list of them
	Title      string            `json:"title"`
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []json.RawMessage `json:"enum"`
}

// is reports whether a value of a shape has a type, and no other beside null.
func (s *shape) is(name string) bool {
	all, ok := s.Type.([]any)
	if !ok {
		return s.Type == name
	}
	return slices.Contains(all, any(name)) && !slices.ContainsFunc(all, func(t any) bool { return t != name && t != "null" })
}

// ofSchema makes the inputs of an answer: one of each property of an object, else one.
func (f *form) ofSchema(schema json.RawMessage) {
	var whole shape
	if json.Unmarshal(schema, &whole) != nil {
		whole = shape{} // no schema, or true
	}
	f.object = whole.is("object") && len(whole.Properties) > 0
	if !f.object {
		in := inputOf(&whole, "", "Answer")
		in.words = in.words || whole.Type == nil && len(whole.Enum) == 0 && !strings.Contains(string(schema), "$ref") // words, where anything is taken
		f.inputs = []input{in}
		return
	}
	for _, p := range gate.Binding(&posthouse.Gate{Payload: whole.Properties}) {
		var one shape
		if json.Unmarshal(p.Value, &one) != nil {
			one = shape{}
		}
		in := inputOf(&one, p.Name, p.Name)
		in.optional = in.words || !slices.Contains(whole.Required, p.Name)
		f.inputs = append(f.inputs, in)
	}
}

func inputOf(s *shape, name, label string) input {
	if title := text.Visible(strings.Join(strings.Fields(s.Title), " ")); title != "" && len(title) <= 200 && name != "" {
		label = title + " (" + name + ")"
	}
	in := input{name: name, label: text.Visible(label), words: s.is("string"), choices: s.Enum}
	if s.is("boolean") && len(s.Enum) == 0 {
		in.choices = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	}
	if len(in.choices) > maxOptions || slices.ContainsFunc(in.choices, func(v json.RawMessage) bool { return utf8.RuneCountInString(card.Value(v)) > maxOption }) {
		in.choices, in.words = nil, false
	}
	in.words = in.words && in.choices == nil
	return in
}

// block names the block of an input.
func block(i int) string { return "value" + strconv.Itoa(i) }

// The blocks of a form beside its inputs.
const (
	reasonBlock  = "reason"
	verdictBlock = "verdict"
	inputAction  = "input"
)

// read returns the value that was filled in, or what is wrong, by block.
func (f *form) read(values map[string]map[string]slack.BlockAction) (json.RawMessage, map[string]string) {
	wrong := map[string]string{}
	var members []string
	changed := f.payload == nil
	for i, in := range f.inputs {
		got := values[block(i)][inputAction]
		v, err := in.read(&got)
		switch {
		case err != "":
			wrong[block(i)] = err
			continue
		case v == nil:
			continue
		}
		changed = changed || !bytes.Equal(v, in.was)
		if f.object {
			name, _ := encode(in.name)
			v = slices.Concat(name, []byte(":"), v)
		}
		members = append(members, string(v))
	}
	switch {
	case len(wrong) > 0:
		return nil, wrong
	case !changed:
		return nil, map[string]string{block(0): "Nothing is changed. To approve it as it is, cancel and press Approve."}
	case f.object:
		return json.RawMessage("{" + strings.Join(members, ",") + "}"), nil
	case len(members) == 0:
		return nil, map[string]string{block(0): "It is missing."}
	}
	return json.RawMessage(members[0]), nil
}

// read returns the value of an input, nil if it is left out, or what is wrong with it.
func (in *input) read(got *slack.BlockAction) (v json.RawMessage, wrong string) {
	if in.choices != nil {
		i, err := strconv.Atoi(got.SelectedOption.Value)
		switch {
		case got.SelectedOption.Value == "" && in.optional:
			return nil, ""
		case err != nil || i < 0 || i >= len(in.choices):
			return nil, "Choose one."
		}
		return in.choices[i], ""
	}
	typed := got.Value
	switch {
	case in.was != nil && (typed == in.initial || html.UnescapeString(typed) == in.initial):
		return in.was, ""
	case in.words && typed == "" && in.was == nil && in.optional:
		return nil, ""
	case in.words:
		b, err := encode(typed)
		if err != nil {
			return nil, "It is no text."
		}
		return b, ""
	case strings.TrimSpace(typed) == "" && in.optional:
		return nil, ""
	case !json.Valid([]byte(typed)):
		return nil, `It must be JSON: a number as in 250.50, true, null, "text in quotes", or {"a": 1}.`
	}
	return json.RawMessage(strings.TrimSpace(typed)), ""
}

// encode returns a text as JSON, with the characters as they are.
func encode(s string) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return bytes.TrimSpace(b.Bytes()), err
}

// at returns the block of the input at a path within the value, as in lines[].price.
func (f *form) at(path string) string {
	name, _, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")
	for i, in := range f.inputs {
		if in.name == name || in.name == path {
			return block(i)
		}
	}
	return block(0)
}
