package app

import (
	"cmp"
	"encoding/json"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// maxInputHint bounds how long a description of an input may be, in bytes.
const maxInputHint = 600

// decoded returns the input that a message holds. Without decode it is strict: an unknown
// field is refused, and an error names the field and says what the input is.
func decoded[T any](message string, decode func(string) (T, error)) (in T, err error) {
	if decode != nil {
		return decode(message)
	}
	if s, ok := any(&in).(*string); ok {
		*s = message
		return in, nil
	}
	t := reflect.TypeFor[T]()
	path, reason := strictjson.Fit([]byte(message), t)
	if reason == "" {
		err = json.Unmarshal([]byte(message), &in)
		if err == nil {
			return in, nil
		}
		reason = "is refused"
	}
	hint := "send the input as JSON in the message: " + strictjson.Describe(t)
	if len(hint) > maxInputHint {
		hint = "send the input as JSON in the message"
	}
	return in, &posthouse.Error{Code: posthouse.CodeInvalid, Field: cmp.Or(path, "message"), Message: reason, Hint: hint, Err: err}
}
