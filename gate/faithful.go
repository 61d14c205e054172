package gate

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// read decodes a content from the JSON that people saw. It refuses a content that differs
// from that JSON once it is decoded: by a member, by digits of a number, or by a key that
// is there twice or spelled otherwise. JSON that a person wrote may leave out empty
// members and spell numbers and texts in its own way.
func read[T any](data json.RawMessage, byHand bool) (content T, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&content); err != nil {
		return content, err
	}
	said, err := posthouse.CanonicalJSON(data)
	if err != nil {
		return content, err
	}
	is, err := posthouse.JSON.Marshal(content)
	if err != nil {
		return content, err
	}
	is, err = posthouse.CanonicalJSON(is)
	if err != nil || bytes.Equal(said, is) {
		return content, err
	}
	f := faith{byHand}
	if path, ok := f.keeps("", tree(said), tree(is)); !ok {
		return content, posthouse.Invalid("content", "is not the same once it is read as a %s: its %s", reflect.TypeFor[T](), whole(path))
	}
	return content, nil
}

// tree decodes JSON that is known to be valid, numbers digit by digit.
func tree(data []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}

func whole(path string) string {
	if path == "" {
		return "value as a whole"
	}
	return "member " + strings.TrimPrefix(path, ".")
}

// A faith compares what was said with what it was read as.
type faith struct{ byHand bool }

// keeps reports whether the two say the same. If not, at is the first difference.
func (f faith) keeps(path string, said, is any) (at string, ok bool) {
	switch s := said.(type) {
	case map[string]any:
		if i, ok := is.(map[string]any); ok {
			return f.members(path, s, i)
		}
	case []any:
		i, ok := is.([]any)
		if !ok || len(i) != len(s) {
			return path, false
		}
		for n := range s {
			if at, ok := f.keeps(path+"["+strconv.Itoa(n)+"]", s[n], i[n]); !ok {
				return at, false
			}
		}
		return "", true
	case json.Number:
		i, ok := is.(json.Number)
		return path, ok && sameNumber(string(s), string(i))
	case string:
		i, ok := is.(string)
		return path, ok && (f.byHand || s == i)
	case nil:
		_, object := is.(map[string]any)
		return path, is == nil || f.byHand && !object && empty(is)
	}
	return path, said == is
}

func (f faith) members(path string, said, is map[string]any) (at string, ok bool) {
	for _, k := range slices.Sorted(maps.Keys(said)) {
		v, there := is[k]
		if !there && f.byHand && empty(said[k]) {
			continue
		}
		if !there {
			return path + "." + k, false
		}
		if at, ok := f.keeps(path+"."+k, said[k], v); !ok {
			return at, false
		}
	}
	for _, k := range slices.Sorted(maps.Keys(is)) {
		if _, there := said[k]; !there && !(f.byHand && empty(is[k])) {
			return path + "." + k, false
		}
	}
	return "", true
}

// empty reports whether a value is the zero value of its type.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, m := range v {
			if !empty(m) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	case json.Number:
		return sameNumber(string(v), "0")
	case string:
		return v == "" || v == "0001-01-01T00:00:00Z" // of a time
	case bool:
		return !v
	}
	return v == nil
}

// sameNumber reports whether two JSON numbers are the same, digit by digit.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	digitsA, scaleA, okA := digits(a)
	digitsB, scaleB, okB := digits(b)
	return okA && okB && digitsA == digitsB && scaleA == scaleB
}

// digits splits a JSON number into sign, digits without outer zeros, and
// exponent. Zero has no digits.
func digits(n string) (digits string, scale int, ok bool) {
	mantissa, exponent := n, 0
	if i := strings.IndexAny(n, "eE"); i >= 0 {
		e, err := strconv.Atoi(strings.TrimPrefix(n[i+1:], "+"))
		if err != nil || e > 1<<30 || e < -1<<30 {
			return "", 0, false
		}
		mantissa, exponent = n[:i], e
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	if i := strings.IndexByte(mantissa, '.'); i >= 0 {
		exponent -= len(mantissa) - i - 1
		mantissa = mantissa[:i] + mantissa[i+1:]
	}
	mantissa = strings.TrimLeft(mantissa, "0")
	short := strings.TrimRight(mantissa, "0")
	if short == "" {
		return "", 0, true
	}
	if exponent += len(mantissa) - len(short); negative {
		short = "-" + short
	}
	return short, exponent, true
}
