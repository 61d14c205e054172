package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// Decode reads one JSON value into v, a pointer to a struct. It refuses what
// encoding/json would accept though two readers could understand it differently: a
// name twice, a name that v does not have in these letters, invalid UTF-8 also by
// escape, nesting deeper than [posthouse.MaxDepth], anything after the value.
func Decode(data []byte, v any) error {
	if err := check(data); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		return checkNames(data, reflect.TypeOf(v).Elem())
	}
	var wrong *json.UnmarshalTypeError
	var own *posthouse.Error // from an UnmarshalText of ours
	var when *time.ParseError
	switch {
	case errors.As(err, &when):
		return posthouse.Invalid(memberOf(data, when.Value), "%.40q must be a time like 2026-12-01T08:00:00Z", when.Value)
	case errors.As(err, &wrong) && wrong.Field == "":
		return posthouse.Invalid("body", "must be a JSON object, and is: %s", wrong.Value)
	case errors.As(err, &wrong):
		return posthouse.Invalid(wrong.Field, "must be a %s, not a %s", jsonType(wrong.Type), wrong.Value)
	case errors.As(err, &own):
		named := *own
		named.Field = refusedBy(data, reflect.TypeOf(v).Elem(), own.Field)
		return &named
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if n, e := strconv.Unquote(name); e == nil {
			return unknownField(n)
		}
	}
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "body", Message: "cannot be read as JSON", Err: err}
}

// memberOf returns the first name of a member of an object that has a text, "body" if there is no such member.
func memberOf(data []byte, text string) string {
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		return "body"
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name] == text {
			return name
		}
	}
	return "body"
}

// refusedBy returns the name of the first member of an object that its field in t refuses, or else
// what the field's type calls itself.
func refusedBy(data []byte, t reflect.Type, otherwise string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return otherwise
	}
	for _, f := range Fields(t) {
		if raw, ok := members[f.Name]; ok && json.Unmarshal(raw, reflect.New(f.Type).Interface()) != nil {
			return f.Name
		}
	}
	return otherwise
}

func unknownField(name string) error {
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: fmt.Sprintf("%.80s", name),
		Message: "is not a field of this request", Hint: "/openapi.json lists them",
	}
}

func check(data []byte) error {
	if !utf8.Valid(data) {
		return posthouse.Invalid("body", "is not valid UTF-8")
	}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil && strings.HasSuffix(err.Error(), "exceeded max depth") {
		return tooDeep()
	} else if err != nil {
		return posthouse.Invalid("body", "is not one JSON value")
	}
	if at := strictjson.Surrogate(data); at >= 0 {
		return posthouse.Invalid("body", "has half a surrogate pair at byte %d: no such character exists", at)
	}
	if name, twice := strictjson.Twice(data); twice {
		return posthouse.Invalid(fmt.Sprintf("%.80s", name), "is given twice")
	}
	if strictjson.Deeper(data, posthouse.MaxDepth) {
		return tooDeep()
	}
	return nil
}

func tooDeep() error {
	return posthouse.Invalid("body", "nests deeper than %d levels", posthouse.MaxDepth)
}

// checkNames refuses names that match fields of t in other letters only, at every depth.
func checkNames(data []byte, t reflect.Type) error {
	if name, unknown := strictjson.Unknown(data, t); unknown {
		return unknownField(name)
	}
	if t.Kind() == reflect.Struct && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return posthouse.Invalid("body", "must be a JSON object")
	}
	return nil
}

// A Field is an exported field as encoding/json sees it.
type Field struct {
	Name     string
	Optional bool
	Type     reflect.Type
	Help     string // its doc tag
	Owner    reflect.Type
	GoName   string // in Owner
	Index    []int  // for [reflect.Value.FieldByIndexErr]

	OmitEmpty, OmitZero bool
}

// Fields lists the fields of struct t, those of embedded structs included unless t has one of the same
// name; a type that is no struct has no fields. A field with the doc tag "-" is not listed: it only
// hides that of an embedded struct.
func Fields(t reflect.Type) (fs []Field) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			for _, in := range Fields(inner) {
				in.Index = append([]int{i}, in.Index...)
				fs = append(fs, in)
			}
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		fs = slices.DeleteFunc(fs, func(o Field) bool { return o.Name == name })
		if help := f.Tag.Get("doc"); help != "-" {
			fs = append(fs, Field{
				Name: name, Optional: strings.Contains(rest, "omit"), Type: f.Type, Help: help, Owner: t, GoName: f.Name, Index: []int{i},
				OmitEmpty: strings.Contains(rest, "omitempty"), OmitZero: strings.Contains(rest, "omitzero"),
			})
		}
	}
	return fs
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return "string"
}
