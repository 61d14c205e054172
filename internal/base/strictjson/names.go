package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// Unknown returns a name in valid JSON that a value of type t does not have in exactly these
// letters, and whether there is one: the first in the text. encoding/json takes "BY" for "by".
// Types that read themselves, and maps, have any name. JSON that is not of the type's form has
// no unknown name: decoding refuses it. The work is linear in the data, however deep it nests.
func Unknown(data []byte, t reflect.Type) (name string, unknown bool) {
	w := nameWalk{data: data, known: map[reflect.Type]map[string]reflect.Type{}}
	return w.value(t)
}

// Respelled is [Unknown] for names that encoding/json takes for one that the type has, in other
// letters. Other unknown names are passed over.
func Respelled(data []byte, t reflect.Type) (name string, is bool) {
	w := nameWalk{data: data, known: map[reflect.Type]map[string]reflect.Type{}, folded: true}
	return w.value(t)
}

// A nameWalk reads JSON once, from its start to its end.
type nameWalk struct {
	data  []byte
	at    int
	read  int // bytes that were looked at
	known map[reflect.Type]map[string]reflect.Type

	folded bool // names that no name is taken for are no fault
}

// peek returns the next byte that is no space, 0 at the end.
func (w *nameWalk) peek() byte {
	for ; w.at < len(w.data); w.at++ {
		w.read++
		if c := w.data[w.at]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}

// value reads a value of type t, nil for one of any names.
func (w *nameWalk) value(t reflect.Type) (name string, unknown bool) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	c := w.peek()
	if t == nil || readsItself(t) {
		w.skip()
		return "", false
	}
	switch k := t.Kind(); {
	case c == '{' && (k == reflect.Struct || k == reflect.Map && hasNames(t.Elem())):
		return w.object(t)
	case c == '[' && (k == reflect.Slice || k == reflect.Array) && hasNames(t.Elem()):
		return w.list(t.Elem())
	}
	w.skip()
	return "", false
}

func (w *nameWalk) list(elem reflect.Type) (name string, unknown bool) {
	for w.at++; ; {
		switch w.peek() {
		case ',':
			w.at++
		case ']', 0:
			w.at++
			return "", false
		default:
			if name, unknown := w.value(elem); unknown {
				return name, true
			}
		}
	}
}

func (w *nameWalk) object(t reflect.Type) (name string, unknown bool) {
	for w.at++; ; {
		switch w.peek() {
		case ',':
			w.at++
			continue
		case '}', 0:
			w.at++
			return "", false
		}
		n := w.name()
		inner, ok := w.member(t, n)
		if !ok && !w.passes(t, n) {
			return n, true
		}
		if w.peek() == ':' {
			w.at++
		}
		if name, unknown := w.value(inner); unknown {
			return name, true
		}
	}
}

// member returns the type of a member, and whether t has it.
func (w *nameWalk) member(t reflect.Type, name string) (reflect.Type, bool) {
	if t.Kind() == reflect.Map {
		return t.Elem(), true
	}
	known := w.known[t]
	if known == nil {
		known = map[string]reflect.Type{}
		addFields(known, t)
		w.known[t] = known
	}
	inner, ok := known[name]
	return inner, ok
}

// passes reports whether an unknown name of a struct is no fault.
func (w *nameWalk) passes(t reflect.Type, name string) bool {
	if !w.folded {
		return false
	}
	for known := range w.known[t] {
		if strings.EqualFold(known, name) {
			return false
		}
	}
	return true
}

// name reads the name of a member.
func (w *nameWalk) name() (s string) {
	from := w.at
	w.skip()
	quoted := w.data[from:w.at]
	if len(quoted) >= 2 && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	_ = json.Unmarshal(quoted, &s) // it is valid
	return s
}

// skip reads over a value.
func (w *nameWalk) skip() {
	from, depth := w.at, 0
	defer func() { w.read += w.at - from }()
	for w.at < len(w.data) {
		switch c := w.data[w.at]; c {
		case '"':
			w.at = min(End(w.data, w.at+1)+1, len(w.data))
		case '{', '[':
			depth++
			w.at++
		case '}', ']', ',':
			if depth == 0 {
				w.at = max(w.at, from+1)
				return
			}
			if c != ',' {
				depth--
			}
			w.at++
		default:
			w.at++
			continue
		}
		if depth == 0 {
			return
		}
	}
}

// hasNames reports whether values of a type may have names that a type gives.
func hasNames(t reflect.Type) bool {
	for range maxNesting {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return t.Kind() == reflect.Struct && !readsItself(t)
		}
	}
	return false // a type of itself, such as type t []t
}

// maxNesting bounds how deep lists and maps without a struct between them nest in a type.
const maxNesting = 100

// addFields adds the fields of a struct as encoding/json sees them.
func addFields(known map[string]reflect.Type, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			addFields(known, inner)
		case !f.IsExported() || f.Tag.Get("json") == "-":
		case name == "":
			known[f.Name] = f.Type
		default:
			known[name] = f.Type
		}
	}
}

// readsItself reports whether a type has a JSON form other than that of its fields.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
