package jsontype

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/posthouse/posthouse"
)

// DecodeRecorded decodes a value that an earlier version of the program may have recorded.
// JSON with a member that T lacks is [posthouse.ErrInvalid], which names it: the member was
// renamed or dropped, and what it said would be lost. what names the value in errors.
func DecodeRecorded[T any](what string, v posthouse.Value, codecs ...posthouse.Codec) (T, error) {
	t, err := posthouse.Decode[T](v, codecs...)
	if err != nil || v.Codec != posthouse.JSON.Name() {
		return t, err
	}
	if of := reflect.TypeFor[T](); holdsStruct(of, nil) {
		if lost := UnknownMember(v.Data, of); lost != "" {
			var zero T
			return zero, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "value",
				Message: fmt.Sprintf("%s has the member %s on record, which type %s lacks", what, lost, of),
				Hint:    "give the field its old name in a json tag, convert what is on record (step.Options.Convert), or run the version that recorded it",
			}
		}
	}
	return t, nil
}

// UnknownMember returns the first member of JSON that a type lacks, quoted, or "". The
// JSON decodes into the type.
func UnknownMember(data []byte, t reflect.Type) string {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(reflect.New(t).Interface())
	if err == nil {
		return ""
	}
	name, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return ""
	}
	return name
}

// holdsStruct reports whether values of the type have a struct somewhere in them.
func holdsStruct(t reflect.Type, outer []reflect.Type) bool {
	for _, o := range outer {
		if o == t {
			return false
		}
	}
	switch t.Kind() {
	case reflect.Struct:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsStruct(t.Elem(), append(outer, t))
	}
	return false
}
