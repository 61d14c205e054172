package verbatim

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/posthouse/posthouse/server/internal/strict"
)

var rawType = reflect.TypeFor[json.RawMessage]()

// Marshal returns v as JSON. Each value on record is a string of its bytes.
func Marshal(v any) ([]byte, error) {
	w := &writer{has: map[reflect.Type]bool{}}
	err := w.value(reflect.ValueOf(v))
	return w.out.Bytes(), err
}

// Has reports whether values of a type have values on record in them.
func Has(t reflect.Type) bool { return (&writer{has: map[reflect.Type]bool{}}).contains(t) }

type writer struct {
	out bytes.Buffer
	has map[reflect.Type]bool // whether a type has values on record in it
}

// contains reports whether a type has values on record in it.
func (w *writer) contains(t reflect.Type) bool {
	if t == rawType {
		return true
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return w.contains(t.Elem())
	case reflect.Interface:
		return true // its value says it
	case reflect.Struct:
		has, known := w.has[t]
		if known {
			return has
		}
		w.has[t] = false // until its fields say otherwise: they may lead back to it
		for _, f := range strict.Fields(t) {
			if w.contains(f.Type) {
				w.has[t] = true
				break
			}
		}
		return w.has[t]
	}
	return false
}

func (w *writer) value(v reflect.Value) error {
	if !v.IsValid() {
		w.out.WriteString("null")
		return nil
	}
	t := v.Type()
	if t == rawType {
		return w.raw(v.Bytes())
	}
	if !w.contains(t) {
		return w.plain(v.Interface())
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			w.out.WriteString("null")
			return nil
		}
		return w.value(v.Elem())
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && v.IsNil() {
			w.out.WriteString("null")
			return nil
		}
		w.out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				w.out.WriteByte(',')
			}
			if err := w.value(v.Index(i)); err != nil {
				return err
			}
		}
		w.out.WriteByte(']')
		return nil
	case reflect.Map:
		return w.object(v)
	case reflect.Struct:
		return w.fields(v)
	}
	return w.plain(v.Interface())
}

// raw writes a value on record, null where there is no value.
func (w *writer) raw(data []byte) error {
	if data == nil {
		w.out.WriteString("null")
		return nil
	}
	return w.plain(string(data))
}

// plain writes what encoding/json makes of v, without escapes for HTML.
func (w *writer) plain(v any) error {
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.out.Truncate(w.out.Len() - 1) // the line break
	return nil
}

func (w *writer) object(v reflect.Value) error {
	if v.IsNil() {
		w.out.WriteString("null")
		return nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	w.out.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.plain(k.String()); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := w.value(v.MapIndex(k)); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

func (w *writer) fields(v reflect.Value) error {
	w.out.WriteByte('{')
	first := true
	for _, f := range strict.Fields(v.Type()) {
		x, err := v.FieldByIndexErr(f.Index)
		if err != nil || f.OmitEmpty && empty(x) || f.OmitZero && zero(x) {
			continue // the first: of an embedded pointer that is nil
		}
		if !first {
			w.out.WriteByte(',')
		}
		first = false
		if err := w.plain(f.Name); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := w.value(x); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

// empty is what omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// zero is what omitzero leaves out.
func zero(v reflect.Value) bool {
	if z, ok := v.Interface().(interface{ IsZero() bool }); ok {
		return v.Kind() == reflect.Pointer && v.IsNil() || z.IsZero()
	}
	return v.IsZero()
}
