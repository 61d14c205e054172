package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/jsontype"
)

// Intent returns what a gate asks in one line: the first line of its text that is not blank, without
// spaces at its ends, or the question's name where there is no text. Every door shows it first.
func Intent(g *posthouse.Gate) string {
	for line := range strings.Lines(g.Text) {
		if sentence := strings.TrimSpace(line); sentence != "" {
			return sentence
		}
	}
	return g.Name
}

// A BindingField is a member of a question's payload: what a decision is about.
type BindingField struct {
	Name  string          `json:"name" doc:"the member's name; empty where the payload is no object"`
	Label string          `json:"label" doc:"for people: the title, or else the doc, of the member in the payload's schema, or else its name"`
	Value json.RawMessage `json:"value" doc:"exactly as it is on record"`
}

// Binding returns all members of a gate's payload in their order. A payload that is not an object is one
// field without a name. A gate without a payload has no fields, and neither has one that cannot be read.
// Values have the bytes that are on record: no number is rounded, no text is cut.
//
// The labels come from [posthouse.Gate] PayloadSchema. They are no part of what an answer is bound to.
func Binding(g *posthouse.Gate) []BindingField {
	payload := bytes.TrimSpace(g.Payload)
	if !json.Valid(payload) {
		return nil
	}
	own := newLabels(g.PayloadSchema)
	if payload[0] != '{' {
		return []BindingField{{Label: cmp.Or(own.root.label(), "content"), Value: payload}}
	}
	var fields []BindingField
	for name, value := range members(payload) {
		fields = append(fields, BindingField{Name: name, Label: cmp.Or(own.of(name), name), Value: value})
	}
	return fields
}

// members yields the members of a valid object in their order.
func members(object []byte) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		if _, err := d.Token(); err != nil {
			return
		}
		for d.More() {
			name, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil || !yield(name.(string), value) {
				return
			}
		}
	}
}

// A labelled is a schema as far as labels go.
type labelled struct {
	Title       string              `json:"title"`
	Description string              `json:"description"`
	Ref         string              `json:"$ref"`
	Properties  map[string]labelled `json:"properties"`
}

func (l labelled) label() string { return cmp.Or(l.Title, l.Description) }

// labels are those of a payload's schema.
type labels struct {
	root labelled
	defs map[string]labelled
}

// newLabels reads a schema. One that does not read has no labels.
func newLabels(schema json.RawMessage) labels {
	var all struct {
		labelled
		Defs map[string]labelled `json:"$defs"`
	}
	if len(schema) == 0 || json.Unmarshal(schema, &all) != nil {
		return labels{}
	}
	l := labels{root: all.labelled, defs: all.Defs}
	l.root = l.resolve(l.root)
	return l
}

// resolve follows one reference to the schema's own definitions.
func (l *labels) resolve(s labelled) labelled {
	name, ok := strings.CutPrefix(s.Ref, "#/$defs/")
	if !ok {
		return s
	}
	to := l.defs[name]
	to.Title, to.Description = cmp.Or(s.Title, to.Title), cmp.Or(s.Description, to.Description)
	return to
}

func (l *labels) of(name string) string { return l.resolve(l.root.Properties[name]).label() }

// maxPayloadSchema bounds what is kept of a type in bytes: it stands beside each question.
const maxPayloadSchema = 16 << 10

// payloadSchema returns the schema that is kept with a question: the one given, or that of the shown
// value's type where doc tags say more than names do.
func (q *Question) payloadSchema() (json.RawMessage, error) {
	if len(q.ShowSchema) > 0 {
		_, err := compile(q.ShowSchema)
		return bytes.Clone(q.ShowSchema), err
	}
	t := reflect.TypeOf(q.Show)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil, nil
	}
	s := (&jsontype.Schemer{}).Schema(t)
	if !bytes.Contains(s, []byte(`"description":`)) || len(s) > maxPayloadSchema {
		return nil, nil
	}
	return s, nil
}
