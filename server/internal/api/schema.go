package api

import (
	"cmp"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/problem"
)

// A describer collects the schemas of named types.
type describer struct {
	schemas  object
	names    map[reflect.Type]string
	comments *Comments
}

func newDescriber(routes []*Route) (*describer, error) {
	comments, err := readComments()
	return &describer{object{}, schemaNames(Types(routes)), comments}, err
}

// Types returns the structs and texts that bodies and answers of routes are made of, in the order in
// which they are met.
func Types(routes []*Route) []reflect.Type {
	var all []reflect.Type
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t.Elem())
			return
		}
		if seen[t] || t.PkgPath() == "" || t == reflect.TypeFor[time.Time]() {
			return
		}
		seen[t] = true
		all = append(all, t)
		if t.Kind() == reflect.Struct && !t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			for _, f := range strict.Fields(t) {
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[problem.Details]())
	for _, r := range routes {
		if r.Body != nil {
			walk(reflect.TypeOf(r.Body))
		}
		for _, a := range r.Answers {
			if a.Body != nil {
				walk(reflect.TypeOf(a.Body))
			}
		}
	}
	return all
}

// schemaNames gives each struct a name of its own. Of several types with one name, that of the server
// has it, and the others have that of their package before it.
func schemaNames(types []reflect.Type) map[reflect.Type]string {
	names, taken := map[reflect.Type]string{}, map[string]bool{}
	ordered := slices.Clone(types)
	slices.SortStableFunc(ordered, func(a, b reflect.Type) int { return cmp.Compare(distance(a), distance(b)) })
	for _, t := range ordered {
		if t.Kind() != reflect.Struct {
			continue
		}
		name := baseName(t)
		if taken[name] {
			name = upper(lastSegment(t.PkgPath())) + name
		}
		for n := name; taken[name]; {
			name = upper(lastSegment(strings.TrimSuffix(t.PkgPath(), "/"+lastSegment(t.PkgPath())))) + n
		}
		names[t], taken[name] = name, true
	}
	return names
}

// distance is lower for types of the server.
func distance(t reflect.Type) int {
	if lastSegment(t.PkgPath()) == "server" || strings.Contains(t.PkgPath(), "/server/") {
		return 0
	}
	return 1
}

func baseName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[problem.Details]():
		return "Problem" // as clients know it
	case strings.HasPrefix(t.Name(), "List["):
		item := t.Field(0).Type.Elem()
		if item.Kind() == reflect.Pointer {
			item = item.Elem()
		}
		return upper(item.Name()) + "List"
	}
	return upper(t.Name())
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func lastSegment(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// schema describes a type as encoding/json writes it. Structs of ours are
// described once, by name.
func (d *describer) schema(t reflect.Type) object {
	switch {
	case t.Kind() == reflect.Pointer:
		return d.schema(t.Elem())
	case t == reflect.TypeFor[json.RawMessage]():
		return object{} // any JSON
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return d.text(t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Struct:
		return d.named(t)
	case reflect.Interface:
		return object{}
	}
	return d.text(t)
}

// text describes a type that is a text in JSON, by its constants if there are some.
func (d *describer) text(t reflect.Type) object {
	s := object{"type": "string"}
	if values := d.comments.Values[TypeName(t)]; len(values) > 0 {
		s["enum"] = values
	}
	return s
}

func (d *describer) named(t reflect.Type) object {
	name := d.names[t]
	ref := object{"$ref": "#/components/schemas/" + name}
	if _, done := d.schemas[name]; done {
		return ref
	}
	s := object{"type": "object"}
	d.schemas[name] = s // before its fields, which may lead back to it
	props, required := object{}, []string{}
	for _, f := range strict.Fields(t) {
		fs := d.schema(f.Type)
		if help := cmp.Or(f.Help, d.comments.help(f.Owner, f.GoName), glossary[f.Name]); help != "" {
			fs["description"] = help // beside a $ref this is allowed since 3.1
		}
		props[f.Name] = fs
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	s["properties"] = props
	if len(required) > 0 {
		slices.Sort(required)
		s["required"] = required
	}
	return ref
}
