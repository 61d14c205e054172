package state

import (
	"encoding/json"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/jsontype"
)

// InputJSON returns the JSON Schema of the state type, as encoding/json reads it.
func (p *Schema) InputJSON() json.RawMessage {
	return p.schemer().Schema(p.Type)
}

// StateJSON returns the JSON Schema of a state as checkpoints have it: an object of its parts. It
// is nil for parts in another codec than JSON.
func (p *Schema) StateJSON() json.RawMessage {
	if p.Codec.Name() != posthouse.JSON.Name() {
		return nil
	}
	var members []jsontype.Member
	for i := range p.Fields {
		f := &p.Fields[i]
		doc, _ := p.Type.FieldByName(f.Name)
		members = append(members, jsontype.Member{Name: f.Part, Doc: doc.Tag.Get("doc"), Type: f.Type})
	}
	return p.schemer().Object(members)
}

func (p *Schema) schemer() *jsontype.Schemer {
	return &jsontype.Schemer{Inside: func(t reflect.Type) reflect.Type {
		if p.IsLog != nil && p.IsLog(t) {
			return t.Field(0).Type
		}
		return nil
	}}
}
