package strictjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// Unknown returns a name in valid JSON that a value of type t does not have in exactly these
// letters, and whether there is one. encoding/json takes "BY" for "by". Types that read
// themselves, and maps, have any name. JSON that is not of the type's form has none: decoding
// refuses it.
func Unknown(data []byte, t reflect.Type) (name string, unknown bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if readsItself(t) {
		return "", false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if !hasNames(t.Elem()) {
			return "", false
		}
		var list []json.RawMessage
		_ = json.Unmarshal(data, &list) // another form has no names
		for _, x := range list {
			if name, unknown := Unknown(x, t.Elem()); unknown {
				return name, true
			}
		}
	case reflect.Map:
		if !hasNames(t.Elem()) {
			return "", false
		}
		var all map[string]json.RawMessage
		_ = json.Unmarshal(data, &all)
		for _, x := range all {
			if name, unknown := Unknown(x, t.Elem()); unknown {
				return name, true
			}
		}
	case reflect.Struct:
		var all map[string]json.RawMessage
		_ = json.Unmarshal(data, &all)
		known := map[string]reflect.Type{}
		addFields(known, t)
		for n, x := range all {
			inner, ok := known[n]
			if !ok {
				return n, true
			}
			if name, unknown := Unknown(x, inner); unknown {
				return name, true
			}
		}
	}
	return "", false
}

// hasNames reports whether values of a type may have names that a type gives.
func hasNames(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return hasNames(t.Elem())
	}
	return t.Kind() == reflect.Struct && !readsItself(t)
}

// addFields adds the fields of a struct as encoding/json sees them.
func addFields(known map[string]reflect.Type, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			addFields(known, inner)
		case !f.IsExported() || f.Tag.Get("json") == "-":
		case name == "":
			known[f.Name] = f.Type
		default:
			known[name] = f.Type
		}
	}
}

// readsItself reports whether a type has a JSON form other than that of its fields.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
