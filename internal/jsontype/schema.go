package jsontype

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// dialect is the version of JSON Schema that schemas are written in.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// A Member is a member of an object that a schema describes.
type Member struct {
	Name string
	Doc  string // for people
	Type reflect.Type
}

// A Schemer makes JSON Schemas of Go types.
type Schemer struct {
	// Inside returns the type whose JSON a type has, where reflection does not show it, and nil
	// for other types. It may be nil.
	Inside func(reflect.Type) reflect.Type
}

// Schema returns the JSON Schema of a type, as [strictjson.Fit] takes it: no member is required,
// since one that is missing is Go's zero value, and none beside the fields is allowed. Members
// are in the order of the fields, with their doc tags as descriptions. A type that is there
// more than once is under $defs, so a type may contain itself.
func (s *Schemer) Schema(t reflect.Type) json.RawMessage {
	d := s.definer()
	d.count(t)
	return d.finish(d.schema(t))
}

// Object returns the JSON Schema of an object with members of some types.
func (s *Schemer) Object(members []Member) json.RawMessage {
	d := s.definer()
	for _, m := range members {
		d.count(m.Type)
	}
	return d.finish(d.object(members))
}

func (s *Schemer) definer() *definer {
	return &definer{inside: s.Inside, seen: map[reflect.Type]int{}, names: map[reflect.Type]string{}, taken: map[string]bool{}}
}

// A definer makes one schema with its $defs.
type definer struct {
	inside func(reflect.Type) reflect.Type
	seen   map[reflect.Type]int // how often types with a name and parts are there
	names  map[reflect.Type]string
	taken  map[string]bool
	defs   ordered
}

// maxPointers is how many pointers to a type are followed: a type may be a pointer to itself.
const maxPointers = 16

// resolve returns a type without pointers to it, and whether null stands for one.
func (d *definer) resolve(t reflect.Type) (of reflect.Type, null bool) {
	for range maxPointers {
		if d.inside != nil {
			if in := d.inside(t); in != nil {
				t = in
				continue
			}
		}
		if t.Kind() != reflect.Pointer {
			return t, null
		}
		t, null = t.Elem(), true
	}
	return reflect.TypeFor[any](), true
}

// count notes how often types are in a type.
func (d *definer) count(t reflect.Type) {
	t, _ = d.resolve(t)
	if ownForm(t) != nil {
		return
	}
	if t.Name() != "" {
		d.seen[t]++
		if d.seen[t] > 1 {
			return
		}
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		d.count(t.Elem())
	case reflect.Struct:
		for _, m := range membersOf(t) {
			d.count(m.Type)
		}
	}
}

// membersOf lists the members of a struct as encoding/json has them.
func membersOf(t reflect.Type) (ms []Member) {
	named := map[string]bool{}
	for _, f := range strictjson.Fields(t) {
		if named[f.Name] {
			continue
		}
		named[f.Name] = true
		of := f.Type
		if f.Quoted {
			of = reflect.TypeFor[string]()
		}
		ms = append(ms, Member{f.Name, f.Doc, of})
	}
	return ms
}

// ownForm returns the schema of a type that has a JSON form of its own, nil for others.
func ownForm(t reflect.Type) ordered {
	p := reflect.PointerTo(t)
	switch {
	case t == reflect.TypeFor[time.Time]():
		return ordered{{"type", "string"}, {"format", "date-time"}}
	case t == reflect.TypeFor[time.Duration]():
		return ordered{{"type", "integer"}, {"description", "nanoseconds"}}
	case t == typeNumber:
		return ordered{{"type", "number"}}
	case t.Kind() == reflect.Interface, p.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return ordered{}
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return ordered{{"type", "string"}}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return ordered{{"type", []string{"string", "null"}}, {"contentEncoding", "base64"}}
	}
	return nil
}

func (d *definer) schema(t reflect.Type) ordered {
	t, null := d.resolve(t)
	s := d.plain(t)
	if !null || len(s) == 0 {
		return s
	}
	if one, ok := s[0].value.(string); ok && s[0].name == "type" {
		s[0].value = []string{one, "null"}
		return s
	}
	if s[0].name == "type" { // null is among them
		return s
	}
	return ordered{{"anyOf", []ordered{s, {{"type", "null"}}}}}
}

// plain returns the schema of a type that is no pointer.
func (d *definer) plain(t reflect.Type) ordered {
	if own := ownForm(t); own != nil {
		return own
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		if d.seen[t] > 1 && t.Name() != "" {
			return d.reference(t)
		}
		return d.composite(t)
	case reflect.Bool:
		return ordered{{"type", "boolean"}}
	case reflect.Int, reflect.Int64:
		return ordered{{"type", "integer"}, {"format", "int64"}}
	case reflect.Int8, reflect.Int16, reflect.Int32:
		most := int64(1) << (t.Bits() - 1)
		return ordered{{"type", "integer"}, {"minimum", -most}, {"maximum", most - 1}}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return ordered{{"type", "integer"}, {"minimum", 0}, {"maximum", int64(1)<<t.Bits() - 1}}
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return ordered{{"type", "integer"}, {"minimum", 0}}
	case reflect.Float32, reflect.Float64:
		return ordered{{"type", "number"}}
	case reflect.String:
		return ordered{{"type", "string"}}
	}
	return ordered{}
}

// composite returns the schema of a type with parts.
func (d *definer) composite(t reflect.Type) ordered {
	switch t.Kind() {
	case reflect.Slice:
		return ordered{{"type", []string{"array", "null"}}, {"items", d.schema(t.Elem())}}
	case reflect.Array:
		return ordered{{"type", "array"}, {"items", d.schema(t.Elem())}}
	case reflect.Map:
		return ordered{{"type", []string{"object", "null"}}, {"additionalProperties", d.schema(t.Elem())}}
	}
	return d.object(membersOf(t))
}

// reference returns a reference to a type's schema, which it makes at its first use.
func (d *definer) reference(t reflect.Type) ordered {
	name, made := d.names[t]
	if !made {
		name = t.Name()
		for n := 2; d.taken[name]; n++ {
			name = t.Name() + strconv.Itoa(n)
		}
		d.names[t], d.taken[name] = name, true
		at := len(d.defs)
		d.defs = append(d.defs, member{name, nil})
		whole := d.composite(t)
		d.defs[at].value = whole
	}
	return ordered{{"$ref", "#/$defs/" + pointer(name)}}
}

func (d *definer) object(members []Member) ordered {
	properties := ordered{}
	for _, m := range members {
		s := d.schema(m.Type)
		if m.Doc != "" {
			s = append(s.without("description"), member{"description", m.Doc})
		}
		properties = append(properties, member{m.Name, s})
	}
	return ordered{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
}

func (d *definer) finish(s ordered) json.RawMessage {
	s = append(ordered{{"$schema", dialect}}, s...)
	if len(d.defs) > 0 {
		s = append(s, member{"$defs", d.defs})
	}
	var out bytes.Buffer
	s.write(&out)
	return out.Bytes()
}

// pointer escapes a name for a JSON pointer in a URI. Names of generic types have brackets.
func pointer(name string) string {
	var out bytes.Buffer
	for _, c := range []byte(name) {
		switch {
		case c == '~':
			out.WriteString("~0")
		case c == '/':
			out.WriteString("~1")
		case c == '_', c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '.', c == '-':
			out.WriteByte(c)
		default:
			out.WriteString("%" + strconv.FormatUint(0x100+uint64(c), 16)[1:])
		}
	}
	return out.String()
}

// ordered is a JSON object with members that keep their order.
type ordered []member

type member struct {
	name  string
	value any // ordered, a list of them, text, texts, a number or a boolean
}

func (o ordered) without(name string) ordered {
	var kept ordered
	for _, m := range o {
		if m.name != name {
			kept = append(kept, m)
		}
	}
	return kept
}

func (o ordered) write(out *bytes.Buffer) {
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		writePlain(out, m.name)
		out.WriteByte(':')
		switch v := m.value.(type) {
		case ordered:
			v.write(out)
		case []ordered:
			out.WriteByte('[')
			for i, s := range v {
				if i > 0 {
					out.WriteByte(',')
				}
				s.write(out)
			}
			out.WriteByte(']')
		default:
			writePlain(out, v)
		}
	}
	out.WriteByte('}')
}

// writePlain writes what encoding/json can always encode. Text keeps its < and >.
func writePlain(out *bytes.Buffer, v any) {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // text, numbers and booleans
	out.Truncate(out.Len() - 1)
}
