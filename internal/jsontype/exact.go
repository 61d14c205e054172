package jsontype

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// HoldsInterface reports whether values of the type have an interface somewhere in them.
// A value in it is decoded as the codec chooses, not as what it was.
func HoldsInterface(t reflect.Type) bool { return holdsInterface(t, nil) }

func holdsInterface(t reflect.Type, seen []reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdsInterface(t.Elem(), seen)
	case reflect.Map:
		return holdsInterface(t.Key(), seen) || holdsInterface(t.Elem(), seen)
	case reflect.Struct:
		if slices.Contains(seen, t) {
			return false
		}
		seen = append(seen, t)
		for i := range t.NumField() {
			if holdsInterface(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// Exact refuses the JSON of a value if a number in an interface would lose digits. There
// it is read back as a float64. t is the value's type, which holds interfaces. The error
// is an [posthouse.ErrInvalid] that names the field.
func Exact(field string, t reflect.Type, data []byte) error {
	if !hasLongNumber(data) {
		return nil
	}
	v := reflect.New(t)
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(v.Interface()) != nil {
		return nil // its reader reports that
	}
	n := lostNumber(v.Elem())
	if n == "" {
		return nil
	}
	f, _ := strconv.ParseFloat(n, 64)
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: field,
		Message: fmt.Sprintf("holds the number %.60s in an interface, which would be read back as %s", n, strconv.FormatFloat(f, 'f', -1, 64)),
		Hint:    "give it a field of its own type, such as int64, or keep it as text",
	}
}

// exactDigits is how many digits of a number a float64 always keeps.
const exactDigits = 15

// hasLongNumber reports whether JSON may have a number of more digits than that. Text in a
// string may look like one. Most values have no long number and need no second look.
func hasLongNumber(data []byte) bool {
	digits := 0
	for _, c := range data {
		switch {
		case c >= '0' && c <= '9':
			if digits++; digits > exactDigits {
				return true
			}
		case c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E':
			digits = 0
		}
	}
	return false
}

var typeNumber = reflect.TypeFor[json.Number]()

// lostNumber returns a number in an interface of v that a float64 does not hold, or "".
// The numbers in interfaces are json.Number.
func lostNumber(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Interface:
		e := v.Elem()
		if !e.IsValid() || e.Type() != typeNumber {
			return lostNumber(e)
		}
		if n := e.String(); !isExact(n) {
			return n
		}
	case reflect.Pointer:
		return lostNumber(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if n := lostNumber(v.Index(i)); n != "" {
				return n
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if n := lostNumber(it.Value()); n != "" {
				return n
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if n := lostNumber(v.Field(i)); n != "" {
				return n
			}
		}
	}
	return ""
}

// isExact reports whether a float64 holds a JSON number, or at least all of its digits.
func isExact(n string) bool {
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return false
	}
	return strconv.FormatFloat(f, 'f', 0, 64) == n || significant(strconv.FormatFloat(f, 'e', -1, 64)) == significant(n)
}

// significant returns the digits of a number that count, without its scale.
func significant(n string) string {
	n = strings.TrimPrefix(n, "-")
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		n = n[:i]
	}
	return strings.Trim(strings.Replace(n, ".", "", 1), "0")
}
