package state

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// isFaithful reports whether a value of the type always equals what its encoding decodes
// to. Then a changed part need not be read back. A codec other than JSON promises nothing.
func isFaithful(codec posthouse.Codec, t reflect.Type) bool {
	return codec.Name() == posthouse.JSON.Name() && isFaithfulJSON(t)
}

func isFaithfulJSON(t reflect.Type) bool {
	switch k := t.Kind(); {
	case encodesItself(t):
		return false
	case k == reflect.Array:
		return isFaithfulJSON(t.Elem())
	case k == reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); isHidden(f) || !isFaithfulJSON(f.Type) {
				return false
			}
		}
		return true
	default: // the codec refuses text that is not UTF-8
		return k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr || k == reflect.String
	}
}

// isHidden reports whether JSON leaves a field out.
func isHidden(f reflect.StructField) bool {
	return !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-"
}

// isDecoded reports whether a value is as decoding its own encoding would make it. same
// says that its memory is that of a value that was decoded: then a type that encodes
// itself is taken to be unchanged.
func isDecoded(v reflect.Value, same bool) bool {
	switch v.Kind() {
	case reflect.Interface:
		return v.NumMethod() == 0 && v.CanInterface() && isJSON(v.Interface())
	case reflect.Pointer:
		return v.IsNil() || isDecoded(v.Elem(), same)
	}
	if v.Type() == typeTime {
		return v.CanInterface() && isDecodedTime(v.Interface().(time.Time))
	}
	if encodesItself(v.Type()) {
		return same
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !isDecoded(v.Index(i), same) {
				return false
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !isDecoded(it.Key(), same) || !isDecoded(it.Value(), same) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !isDecodedField(v.Type().Field(i), v.Field(i), same) {
				return false
			}
		}
	}
	return true
}

func isDecodedField(f reflect.StructField, v reflect.Value, same bool) bool {
	if isHidden(f) {
		return v.IsZero()
	}
	if options := strings.Split(f.Tag.Get("json"), ","); slices.Contains(options[1:], "omitempty") {
		switch v.Kind() {
		case reflect.Slice, reflect.Map:
			if v.Len() == 0 && !v.IsNil() {
				return false
			}
		case reflect.Float32, reflect.Float64:
			if isNegativeZero(v) {
				return false
			}
		}
	}
	return isDecoded(v, same)
}

// isDecodedTime reports whether a time is as its text is read: without a monotonic clock,
// in a zone that has no name. In the zone of this machine only if that is not UTC, which is
// read as UTC.
func isDecodedTime(t time.Time) bool {
	if t != t.Round(0) {
		return false
	}
	if t.Location() == time.UTC {
		return true
	}
	name, offset := t.Zone()
	return name == "" || t.Location() == time.Local && offset != 0
}

// isJSON reports whether decoding JSON makes such values.
func isJSON(v any) bool {
	switch v := v.(type) {
	case nil, bool, float64, string:
		return true
	case []any:
		return v != nil && !slices.ContainsFunc(v, func(e any) bool { return !isJSON(e) })
	case map[string]any:
		for _, e := range v {
			if !isJSON(e) {
				return false
			}
		}
		return v != nil
	}
	return false
}

// isZero reports whether a value is the zero value of its type, to the bit: unlike
// [reflect.Value.IsZero], it takes -0.0 for a value, which is stored.
func isZero(v reflect.Value) bool { return v.IsZero() && !isNegativeZero(v) }

// isNegativeZero reports whether a value that is zero holds a -0.0.
func isNegativeZero(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return v.Float() == 0 && 1/v.Float() < 0
	case reflect.Array:
		for i := range v.Len() {
			if isNegativeZero(v.Index(i)) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isNegativeZero(v.Field(i)) {
				return true
			}
		}
	}
	return false
}
