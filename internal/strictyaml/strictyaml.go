package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse"
)

// MaxSize bounds a file, in bytes.
const MaxSize = 1 << 20

// Decode reads one document into v, a pointer to a struct. name is the file's, for errors. An empty
// document leaves v as it is; below a key, nothing may be empty. [posthouse.ErrInvalid] names the key and the line at fault.
//
// Fields have yaml tags; one without a tag is not a setting. Durations are text, as in 90s.
func Decode(data []byte, name string, v any) error {
	if len(data) > MaxSize {
		return posthouse.Invalid(name, "has %d bytes; the limit is %d", len(data), MaxSize)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return broken(name, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return posthouse.Invalid(name, "has more than one document")
	}
	return DecodeNode(&doc, name, v)
}

// DecodeSections is Decode of a document that has sections beside the keys of v: the keys of sections, each
// with a pointer to a struct that is decoded if the section is there. A section that is an error is
// refused with that error, at its place.
func DecodeSections(data []byte, name string, v any, sections map[string]any) error {
	n := new(yaml.Node)
	if err := Decode(data, name, n); err != nil {
		return err
	}
	if n.Kind == 0 || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	own := reflect.TypeOf(v).Elem()
	names := slices.Collect(maps.Keys(sections))
	err := checkKeys(n, name, "", func(key *yaml.Node) (reflect.Type, error) {
		section, ok := sections[key.Value]
		if !ok {
			return field(key, name, "", own, names...)
		}
		if e, ok := errors.AsType[*posthouse.Error](asError(section)); ok {
			at := faultAt(key, name, key.Value, e.Message)
			at.Hint = e.Hint
			return nil, at
		}
		return reflect.TypeOf(section), nil
	})
	if err != nil {
		return err
	}
	rest := *n
	rest.Content = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		section, ok := sections[key.Value]
		if !ok {
			rest.Content = append(rest.Content, key, value)
			continue
		}
		if err := value.Decode(section); err != nil {
			return broken(name, err)
		}
	}
	if err := rest.Decode(v); err != nil {
		return broken(name, err)
	}
	return nil
}

func asError(v any) error {
	err, _ := v.(error)
	return err
}

// DecodeNode is Decode of a part of a document.
func DecodeNode(n *yaml.Node, name string, v any) error {
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if whole, ok := v.(*yaml.Node); ok {
		*whole = *n
		return nil
	}
	if err := check(n, name, "", reflect.TypeOf(v)); err != nil {
		return err
	}
	if err := n.Decode(v); err != nil {
		return broken(name, err)
	}
	return nil
}

func broken(name string, err error) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "cannot be read as YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
}

var duration = reflect.TypeFor[time.Duration]()

// check compares a part of a document with a type. at is the path of its keys.
func check(n *yaml.Node, name, at string, t reflect.Type) error {
	fault := func(n *yaml.Node, what string) error { return faultAt(n, name, at, what) }
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fault(n, "has an anchor or an alias: write it out")
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null" && strings.HasSuffix(at, "]"):
		return fault(n, "is empty: leave it out, or put the word null in quotes")
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return fault(n, "is empty: leave the key out")
	case t == duration:
		if d, err := time.ParseDuration(n.Value); n.Kind != yaml.ScalarNode || err != nil || d < 0 {
			return fault(n, "is no duration: it is a number and a unit, as in 90s or 12h")
		}
	case t.Kind() == reflect.Struct:
		return checkKeys(n, name, at, func(key *yaml.Node) (reflect.Type, error) { return field(key, name, at, t) })
	case t.Kind() == reflect.Map:
		return checkKeys(n, name, at, func(*yaml.Node) (reflect.Type, error) { return t.Elem(), nil })
	case t.Kind() == reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return fault(n, "is no list")
		}
		for i, e := range n.Content {
			if err := check(e, name, at+"["+strconv.Itoa(i)+"]", t.Elem()); err != nil {
				return err
			}
		}
	case n.Kind != yaml.ScalarNode:
		return fault(n, "is no single value")
	case t.Kind() == reflect.Bool && n.Tag != "!!bool":
		return fault(n, "is neither true nor false")
	case isInt(t) && n.Tag != "!!int", isFloat(t) && n.Tag != "!!int" && n.Tag != "!!float":
		return fault(n, "is no number")
	}
	return nil
}

func isInt(t reflect.Type) bool   { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }
func isFloat(t reflect.Type) bool { return t.Kind() == reflect.Float64 }

// checkKeys checks the members of a mapping against the types of their keys.
func checkKeys(n *yaml.Node, name, at string, typeOf func(key *yaml.Node) (reflect.Type, error)) error {
	if n.Kind != yaml.MappingNode {
		return faultAt(n, name, at, "has no keys below it")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		below := strings.TrimPrefix(at+"."+key.Value, ".")
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" || key.Anchor != "" {
			return faultAt(key, name, at, "has a key that is no text")
		}
		if seen[key.Value] {
			return faultAt(key, name, below, "is there twice")
		}
		seen[key.Value] = true
		t, err := typeOf(key)
		if err != nil {
			return err
		}
		if err := check(value, name, below, t); err != nil {
			return err
		}
	}
	return nil
}

// field returns the type of the field that a key names. The error for an unknown key suggests the
// nearest, of keys too.
func field(key *yaml.Node, name, at string, t reflect.Type, keys ...string) (reflect.Type, error) {
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if tag == "" || tag == "-" {
			continue
		}
		if tag == key.Value {
			return f.Type, nil
		}
		keys = append(keys, tag)
	}
	slices.Sort(keys)
	err := faultAt(key, name, strings.TrimPrefix(at+"."+clip(key.Value), "."), "is no setting")
	err.Hint = "there is " + strings.Join(keys, ", ")
	if near := nearest(key.Value, keys); near != "" {
		err.Hint = "did you mean " + near + "?"
	}
	return nil, err
}

func faultAt(n *yaml.Node, name, at, what string) *posthouse.Error {
	if at == "" {
		at = "the document"
	}
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: at, Message: fmt.Sprintf("%s (%s, line %d)", what, name, n.Line)}
}

func clip(s string) string { return strings.ToValidUTF8(s[:min(len(s), 80)], "") }

// nearest returns the key that a word is most like, empty if no key is near.
func nearest(word string, keys []string) (near string) {
	word = strings.ToLower(clip(word))
	least := min(3, len(word)/2+1)
	for _, k := range keys {
		if d := distance(word, strings.ToLower(k)); d < least {
			near, least = k, d
		}
	}
	return near
}

// distance counts the letters to insert, leave out or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
