package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Describe returns a line for each part with all that its encoding depends on: its
// name, type and rule.
func (p *Schema) Describe() []string {
	lines := make([]string, len(p.Fields))
	for i := range p.Fields {
		f := &p.Fields[i]
		kind := Describe(f.stored())
		if f.Appends() {
			kind = "append " + kind
		}
		if f.Merge != Replace {
			kind += " " + string(f.Merge)
		}
		lines[i] = "part " + f.Part + " " + kind
	}
	return lines
}

// Describe describes what a type's encoding holds. Names of types do not count,
// except those of types that encode themselves.
func Describe(t reflect.Type) string { return describe(t, nil) }

func describe(t reflect.Type, outer []reflect.Type) string {
	if i := slices.Index(outer, t); i >= 0 {
		return fmt.Sprint("^", len(outer)-i)
	}
	if encodesItself(t) {
		return t.String()
	}
	in := append(outer, t)
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + describe(t.Elem(), in)
	case reflect.Slice:
		return "[]" + describe(t.Elem(), in)
	case reflect.Array:
		return fmt.Sprint("[", t.Len(), "]", describe(t.Elem(), in))
	case reflect.Map:
		return "map[" + describe(t.Key(), in) + "]" + describe(t.Elem(), in)
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || f.Anonymous {
				fields = append(fields, f.Name+" "+describe(f.Type, in)+" "+f.Tag.Get("json"))
			}
		}
		return "{" + strings.Join(fields, ";") + "}"
	}
	return t.Kind().String()
}

// Digests returns a digest of each part that is not zero of the state at ptr. It
// reports false for a state that JSON cannot write.
func (p *Schema) Digests(ptr any) (map[string]string, bool) {
	all := map[string]string{}
	v := reflect.ValueOf(ptr).Elem()
	for i := range p.Fields {
		f := &p.Fields[i]
		x, err := v.FieldByIndexErr(f.index) // through an embedded pointer that is nil: zero
		if err != nil || isZero(x) {
			continue
		}
		data, err := json.Marshal(x.Interface())
		if err != nil {
			return all, false
		}
		sum := sha256.Sum256(data)
		all[f.Part] = hex.EncodeToString(sum[:16])
	}
	return all, true
}

// Diff returns the Go names of the fields in which the states at a and b differ.
func (p *Schema) Diff(a, b any) (names []string) {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range p.Fields {
		f := &p.Fields[i]
		if !reflect.DeepEqual(x.FieldByIndex(f.index).Interface(), y.FieldByIndex(f.index).Interface()) {
			names = append(names, f.Name)
		}
	}
	return names
}
