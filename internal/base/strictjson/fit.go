package strictjson

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Fit says where JSON does not fit a Go type, and why, in words that do not name Go's
// types; an empty reason: it fits. Beyond what encoding/json refuses, it refuses a member
// that a struct has no field for, two members for one field, and null for a value that
// cannot be missing. path is as in lines[2].price; "" is the value itself.
func Fit(data []byte, t reflect.Type) (path, reason string) { return (&fitter{}).whole(data, t) }

// FitExact is [Fit] for names that are exact: another spelling of a member is refused. With extra, a
// member that the type lacks is passed over. A type without members takes null.
func FitExact(data []byte, t reflect.Type, extra bool) (path, reason string) {
	return (&fitter{exact: true, extra: extra}).whole(data, t)
}

// A fitter compares JSON with a type.
type fitter struct{ exact, extra bool }

func (f *fitter) whole(data []byte, t reflect.Type) (path, reason string) {
	if !json.Valid(data) {
		var v any
		return "", "is not JSON: " + json.Unmarshal(data, &v).Error()
	}
	path, reason = f.fit("", data, t)
	if reason != "" {
		return path, reason
	}
	err := json.Unmarshal(data, reflect.New(t).Interface())
	if err == nil {
		return "", ""
	}
	if e := new(json.UnmarshalTypeError); errors.As(err, &e) {
		return e.Field, "does not take " + e.Value
	}
	return "", "is refused: " + err.Error()
}

func (f *fitter) fit(path string, data json.RawMessage, t reflect.Type) (string, string) {
	is := kindOf(data)
	switch p := reflect.PointerTo(t); {
	case t.Kind() == reflect.Pointer:
		if is == "null" {
			return "", ""
		}
		return f.fit(path, data, t.Elem())
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()), p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		if err := json.Unmarshal(data, reflect.New(t).Interface()); err != nil {
			return path, "is refused: " + strings.TrimPrefix(err.Error(), "json: ")
		}
		return "", ""
	case t.Kind() == reflect.Interface:
		return "", ""
	}
	if want := wordOf(t); !strings.HasSuffix(want, is) && !(is == "null" && (nillable(t) || f.exact && isEmpty(t))) {
		return path, "must be " + article(want) + ", not " + article(is)
	}
	switch t.Kind() {
	case reflect.Struct:
		return f.fitStruct(path, data, t)
	case reflect.Map:
		var all map[string]json.RawMessage
		_ = json.Unmarshal(data, &all) // it is an object, or null
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if at, reason := f.fit(below(path, name), all[name], t.Elem()); reason != "" {
				return at, reason
			}
		}
	case reflect.Slice, reflect.Array:
		if is != "list" {
			return "", ""
		}
		var all []json.RawMessage
		_ = json.Unmarshal(data, &all) // it is a list
		for i, one := range all {
			if at, reason := f.fit(fmt.Sprintf("%s[%d]", path, i), one, t.Elem()); reason != "" {
				return at, reason
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		if json.Unmarshal(data, reflect.New(t).Interface()) != nil {
			return path, fmt.Sprintf("must be %s in its range, not %.40s", article(wordOf(t)), data)
		}
	}
	return "", ""
}

func (f *fitter) fitStruct(path string, data json.RawMessage, t reflect.Type) (string, string) {
	fields := Fields(t)
	var known []string
	for _, one := range fields {
		known = append(known, one.Name)
	}
	given := map[string]bool{}
	d := json.NewDecoder(bytes.NewReader(data))
	_, _ = d.Token() // the brace
	for d.More() {
		token, err := d.Token()
		var value json.RawMessage
		err = errors.Join(err, d.Decode(&value))
		if err != nil {
			return path, "is not JSON"
		}
		name, _ := token.(string)
		i := slices.IndexFunc(fields, func(one Field) bool { return one.Name == name })
		if i < 0 {
			i = slices.IndexFunc(fields, func(one Field) bool { return strings.EqualFold(one.Name, name) })
			if i >= 0 && f.exact {
				return below(path, name), "is not known; names are exact, and there is " + fields[i].Name
			}
		}
		switch {
		case i < 0 && f.extra:
			continue
		case i < 0 && len(known) == 0:
			return below(path, name), "is not known; there are no fields"
		case i < 0:
			return below(path, name), "is not known; there is " + strings.Join(known, ", ")
		case given[fields[i].Name]:
			return below(path, name), "is there twice"
		}
		given[fields[i].Name] = true
		if fields[i].Quoted {
			continue // encoding/json judges a number in a string
		}
		if at, reason := f.fit(below(path, fields[i].Name), value, fields[i].Type); reason != "" {
			return at, reason
		}
	}
	return "", ""
}

// A Field is a field of a struct as encoding/json sees it.
type Field struct {
	Name   string
	Type   reflect.Type
	Quoted bool // by the option string
	Doc    string
}

// Fields lists the fields of a struct, those of embedded structs included.
func Fields(t reflect.Type) (fs []Field) { return fieldsOf(t, nil) }

// fieldsOf is Fields within the structs that t is embedded in.
func fieldsOf(t reflect.Type, around []reflect.Type) (fs []Field) {
	if slices.Contains(around, t) {
		return nil
	}
	around = append(slices.Clip(around), t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			fs = append(fs, fieldsOf(inner, around)...)
		case f.IsExported():
			fs = append(fs, Field{cmp.Or(name, f.Name), f.Type, slices.Contains(strings.Split(options, ","), "string"), f.Tag.Get("doc")})
		}
	}
	return fs
}

// Describe says in a line what JSON a type takes, as in {"to": text, "amount": whole number}.
func Describe(t reflect.Type) string { return describe(t, 3) }

func describe(t reflect.Type, depth int) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	word := wordOf(t)
	p := reflect.PointerTo(t)
	switch {
	case t.Kind() == reflect.Interface, p.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return "any JSON"
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "text"
	case depth == 0:
		return word
	case t.Kind() == reflect.Struct:
		var members []string
		for _, f := range Fields(t) {
			members = append(members, fmt.Sprintf("%q: %s", f.Name, describe(f.Type, depth-1)))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case word == "list":
		return "[" + describe(t.Elem(), depth-1) + ", ...]"
	}
	return word
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func article(word string) string {
	switch word {
	case "text", "null", "any JSON", "base64 text":
		return word
	case "object":
		return "an object"
	}
	return "a " + word
}

// wordOf says what JSON a type takes.
func wordOf(t reflect.Type) string {
	if t == reflect.TypeFor[json.Number]() {
		return "number"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "whole number"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64 text"
		}
		return "list"
	case reflect.Array:
		return "list"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return "value"
}

// isEmpty reports whether a type has no members.
func isEmpty(t reflect.Type) bool { return t.Kind() == reflect.Struct && len(Fields(t)) == 0 }

func nillable(t reflect.Type) bool { return t.Kind() == reflect.Slice || t.Kind() == reflect.Map }

// kindOf says what a JSON value is.
func kindOf(data []byte) string {
	data = bytes.TrimLeft(data, " \t\r\n")
	switch data[0] {
	case '{':
		return "object"
	case '[':
		return "list"
	case '"':
		return "text"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
