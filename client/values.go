package client

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// valuesParam asks for values on record as strings of their bytes: a JSON encoder on the way changes
// spaces, and a number stays what it is.
const valuesParam = "values"

var rawType = reflect.TypeFor[json.RawMessage]()

// restore gives what was decoded from such an answer the bytes on record: of each [json.RawMessage] in it,
// which holds a string, what the string says.
func restore(v any) error { return restoreValue(reflect.ValueOf(v)) }

func restoreValue(v reflect.Value) error {
	if !v.IsValid() {
		return nil
	}
	t := v.Type()
	if t == rawType {
		raw, err := unquoted(v.Bytes())
		if err == nil && v.CanSet() {
			v.SetBytes(raw)
		}
		return err
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		return restoreValue(v.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := restoreValue(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			elem := reflect.New(t.Elem()).Elem() // one of a map cannot be set
			elem.Set(v.MapIndex(k))
			if err := restoreValue(elem); err != nil {
				return err
			}
			v.SetMapIndex(k, elem)
		}
	case reflect.Struct:
		if own(t) {
			return nil
		}
		for i := range t.NumField() {
			if t.Field(i).IsExported() && t.Field(i).Tag.Get("json") != "-" {
				if err := restoreValue(v.Field(i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// holdsValues reports whether a type has values on record in it. Met are the types around it.
func holdsValues(t reflect.Type, met []reflect.Type) bool {
	switch {
	case t == rawType:
		return true
	case own(t) || slices.Contains(met, t):
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsValues(t.Elem(), met)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" && holdsValues(f.Type, append(met, t)) {
				return true
			}
		}
	}
	return false
}

// own reports whether a type writes its own JSON, so that nothing in it is a value on record.
func own(t reflect.Type) bool {
	for _, p := range []reflect.Type{t, reflect.PointerTo(t)} {
		if p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return true
		}
	}
	return false
}

// unquoted returns the bytes that a JSON string holds, nil for no bytes and for null.
func unquoted(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("a value on record is not a string of its bytes: %w", err)
	}
	return json.RawMessage(*text), nil
}
