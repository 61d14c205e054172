package verbatim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
)

// Restore returns a body that was sent with values on record as strings as one that has the values
// themselves, byte for byte. [posthouse.ErrInvalid] names the member that is no string of JSON. Other faults
// of the body are left to its decoder.
func Restore(data []byte, t reflect.Type) ([]byte, error) {
	if !json.Valid(data) {
		return data, nil
	}
	r := &reader{writer: writer{has: map[reflect.Type]bool{}}}
	err := r.value(bytes.TrimSpace(data), t, "body")
	return r.out.Bytes(), err
}

type reader struct{ writer }

// value copies JSON of a type, or of what is at field.
func (r *reader) value(data []byte, t reflect.Type, field string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case bytes.Equal(data, []byte("null")), !r.contains(t):
		r.out.Write(data)
		return nil
	case t == rawType:
		return r.restored(data, field)
	}
	switch {
	case data[0] == '{' && (t.Kind() == reflect.Struct || t.Kind() == reflect.Map):
		return r.members(data, t, field)
	case data[0] == '[' && t.Kind() == reflect.Slice:
		return r.items(data, t, field)
	}
	r.out.Write(data)
	return nil
}

// restored copies the JSON that a string holds.
func (r *reader) restored(data []byte, field string) error {
	var text string
	if data[0] != '"' || json.Unmarshal(data, &text) != nil {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "must be a string of JSON, since the request has values=text", Hint: `write {"a":1} as "{\"a\":1}"`}
	}
	if !json.Valid([]byte(text)) {
		return posthouse.Invalid(field, "is a string, but what it holds is no JSON")
	}
	r.out.WriteString(text)
	return nil
}

func (r *reader) members(data []byte, t reflect.Type, field string) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	r.out.WriteByte('{')
	for first := true; dec.More(); first = false {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the names of an object are strings
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if !first {
			r.out.WriteByte(',')
		}
		if err := r.plain(name); err != nil {
			return err
		}
		r.out.WriteByte(':')
		inside := field + "." + name
		if field == "body" {
			inside = name
		}
		of := memberType(t, name)
		if of == nil {
			r.out.Write(raw) // the decoder says that it is unknown
			continue
		}
		if err := r.value(raw, of, inside); err != nil {
			return err
		}
	}
	r.out.WriteByte('}')
	return nil
}

// memberType returns the type of a member, nil if the type has no such member.
func memberType(t reflect.Type, name string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	for _, f := range strict.Fields(t) {
		if f.Name == name {
			return f.Type
		}
	}
	return nil
}

func (r *reader) items(data []byte, t reflect.Type, field string) error {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	r.out.WriteByte('[')
	for i, raw := range all {
		if i > 0 {
			r.out.WriteByte(',')
		}
		if err := r.value(raw, t.Elem(), fmt.Sprintf("%s[%d]", field, i)); err != nil {
			return err
		}
	}
	r.out.WriteByte(']')
	return nil
}

// Object returns a JSON object with each value as it is.
func Object(members map[string]json.RawMessage) (json.RawMessage, error) {
	w := &writer{}
	w.out.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.plain(name); err != nil {
			return nil, err
		}
		w.out.WriteByte(':')
		w.out.Write(members[name])
	}
	w.out.WriteByte('}')
	return w.out.Bytes(), nil
}
