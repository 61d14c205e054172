package task

import (
	"encoding"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// EncodeOutput returns what a handler completes or continues with as JSON. Bytes that are
// JSON are taken as they are, other bytes that are UTF-8 text become a JSON string, and nil
// bytes are null. Text that happens to be JSON, as "12" or "true", is therefore JSON: give
// a string for a JSON string. Any other value is encoded by encoding/json.
//
// [posthouse.ErrInvalid] names the output if it does not encode, or is bytes that are
// neither JSON nor UTF-8.
func EncodeOutput(output any) (json.RawMessage, error) {
	b, ok := bytesOf(output)
	switch {
	case !ok:
		b, err := json.Marshal(output)
		if err != nil {
			return nil, posthouse.Invalid("output", "does not encode: %v", err)
		}
		return b, nil
	case b == nil:
		return json.RawMessage("null"), nil
	case json.Valid(b):
		return b, nil
	case !utf8.Valid(b):
		e := posthouse.Invalid("output", "is %d bytes that are neither JSON nor UTF-8 text", len(b))
		e.Hint = "encode them, for example as base64, or keep them elsewhere and return a reference"
		return nil, e
	}
	return json.Marshal(string(b))
}

// bytesOf returns the bytes of a value that is nothing but bytes: it does not say itself how
// it is encoded.
func bytesOf(v any) ([]byte, bool) {
	switch v := v.(type) {
	case []byte:
		return v, true
	case json.Marshaler, encoding.TextMarshaler:
		return nil, false
	}
	if r := reflect.ValueOf(v); r.IsValid() && r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Uint8 {
		return r.Bytes(), true
	}
	return nil, false
}
