package gate

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// read decodes a content from the JSON that people saw. It refuses a content that differs
// from that JSON once it is decoded: by a member, by digits of a number, by a text, or by a key
// that is there twice or spelled otherwise. JSON that a person wrote may leave out empty members
// and write numbers and times in another form. The error says what to write instead.
func read[T any](data json.RawMessage, byHand bool) (content T, err error) {
	t := reflect.TypeFor[T]()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&content); err != nil {
		if at, why := misfit(data, t); why != "" {
			return content, posthouse.Invalid("content", "has a %s that %s", whole(at), why)
		}
		return content, err
	}
	if name, unknown := strictjson.Unknown(data, t); byHand && unknown {
		return content, posthouse.Invalid("content", "has a member %.40q that a %s has in another spelling: write %s", name, t, strictjson.Describe(t))
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
	f := faith{byHand: byHand}
	if path, ok := f.keeps("", tree(said), tree(is)); !ok {
		return content, posthouse.Invalid("content", "is not the same once it is read as a %s: its %s%s", t, whole(path), f.form)
	}
	return content, nil
}

// misfit says which member of JSON a type does not take, and why: what to write in its place.
func misfit(data json.RawMessage, t reflect.Type) (at, why string) {
	at, why = strictjson.Fit(data, t)
	_, last, _ := strings.Cut(why, " in its range, not ")
	if n, ok := inDigits(last); ok {
		why += ": write " + n
	}
	return at, why
}

// maxWritten bounds the digits of a whole number that is written out.
const maxWritten = 20

// inDigits writes a whole number with digits only, if it was in another form.
func inDigits(number string) (s string, ok bool) {
	d, scale, ok := digits(number)
	if !ok || d == "" || scale < 0 || len(d)+scale > maxWritten || !strings.ContainsAny(number, ".eE") {
		return "", false
	}
	return d + strings.Repeat("0", scale), true
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
type faith struct {
	byHand bool
	form   string // of what differs, as it is to be written; may be empty
}

// keeps reports whether the two say the same. If not, at is the first difference.
func (f *faith) keeps(path string, said, is any) (at string, ok bool) {
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
		if i, ok := is.(json.Number); ok && sameNumber(string(s), string(i)) {
			return path, true
		}
		f.write(is)
		return path, false
	case string:
		if i, ok := is.(string); ok && (s == i || f.byHand && sameTime(s, i)) {
			return path, true
		}
		f.write(is)
		return path, false
	case nil:
		_, object := is.(map[string]any)
		return path, is == nil || f.byHand && !object && empty(is)
	}
	return path, said == is
}

// sameTime reports whether two texts are the same time: time.Time writes +00:00 as Z.
func sameTime(a, b string) bool {
	x, err := time.Parse(time.RFC3339Nano, a)
	y, errY := time.Parse(time.RFC3339Nano, b)
	return err == nil && errY == nil && x.Equal(y)
}

// maxForm bounds how long a form is shown, in bytes.
const maxForm = 100

// write says how to write what was read otherwise: as it was read, so that people do not think that the
// words on record are what runs.
func (f *faith) write(is any) {
	switch is.(type) {
	case string, json.Number:
		if data, err := json.Marshal(is); err == nil && len(data) <= maxForm {
			f.form = " is read as " + string(data) + ": write that, if it is meant"
		}
	}
}

// respelled returns a member of an object under whose name another one is read, in other letters.
func respelled(k string, said, is map[string]any) bool {
	for _, names := range []map[string]any{said, is} {
		for other := range names {
			if other != k && strings.EqualFold(other, k) {
				return true
			}
		}
	}
	return false
}

func (f *faith) members(path string, said, is map[string]any) (at string, ok bool) {
	for _, k := range slices.Sorted(maps.Keys(said)) {
		v, there := is[k]
		if !there && f.byHand && empty(said[k]) && !respelled(k, said, is) {
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
