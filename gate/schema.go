package gate

import (
	"encoding"
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/posthouse/posthouse"
)

// schemaOf derives the JSON Schema of a type; nil for one that takes any JSON.
func schemaOf(t reflect.Type) (json.RawMessage, error) {
	if t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]() {
		return nil, nil
	}
	special := map[reflect.Type]*jsonschema.Schema{}
	specials(t, special, map[reflect.Type]bool{})
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: special})
	if err != nil {
		return nil, posthouse.Invalid("Schema", "cannot be derived from %s (%v); state it in the question, or exclude edit and respond in Verdicts", t, err)
	}
	return json.Marshal(s)
}

// specials collects the types below t with a JSON form that is not that of their kind.
func specials(t reflect.Type, found map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) {
	if seen[t] || t == reflect.TypeFor[time.Time]() {
		return
	}
	seen[t] = true
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[json.Number]():
		found[t] = &jsonschema.Schema{Type: "number"}
	case t.Kind() == reflect.Pointer:
		specials(t.Elem(), found, seen)
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()):
		// All there is: without a type, a pointer to t would be derived as null only.
		found[t] = &jsonschema.Schema{Types: []string{"null", "boolean", "number", "string", "array", "object"}}
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		found[t] = &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		found[t] = &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64"}
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		specials(t.Elem(), found, seen)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			specials(t.Field(i).Type, found, seen)
		}
	}
}
