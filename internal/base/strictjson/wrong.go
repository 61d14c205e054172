package strictjson

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// Wrong says in JSON's words what an error of encoding/json finds wrong: the field, "" for the
// whole value, and what it must be. It reports false for an error of another kind. Such an error
// names types of Go, which a client knows nothing of.
func Wrong(err error) (field, message string, ok bool) {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return "", "", false
	}
	value, _, _ := strings.Cut(wrong.Value, " ")
	return wrong.Field, "must be a " + TypeName(wrong.Type) + ", not a " + value, true
}

// TypeName returns what JSON calls the values of a Go type.
func TypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "string"
		}
		return "list"
	case reflect.Array:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	case reflect.Pointer:
		return TypeName(t.Elem())
	}
	return "string"
}
