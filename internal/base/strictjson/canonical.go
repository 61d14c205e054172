package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// AppendCanonical appends the next value of d, which reads numbers as they are: keys
// of objects sorted, no spaces, strings in one spelling. An error for a key that an
// object has twice.
func AppendCanonical(b []byte, d *json.Decoder) ([]byte, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return appendArray(b, d)
		}
		return appendObject(b, d)
	case json.Number:
		return append(b, t...), nil
	default:
		return appendScalar(b, t)
	}
}

func appendScalar(b []byte, v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...), nil
}

func appendArray(b []byte, d *json.Decoder) (_ []byte, err error) {
	b = append(b, '[')
	for n := 0; d.More(); n++ {
		if n > 0 {
			b = append(b, ',')
		}
		b, err = AppendCanonical(b, d)
		if err != nil {
			return nil, err
		}
	}
	_, err = d.Token()
	return append(b, ']'), err
}

func appendObject(b []byte, d *json.Decoder) (_ []byte, err error) {
	type member struct {
		key   string
		value []byte
	}
	var members []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := AppendCanonical(nil, d)
		if err != nil {
			return nil, err
		}
		members = append(members, member{key.(string), value})
	}
	_, err = d.Token()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].key == m.key {
				return nil, fmt.Errorf("the key %.40q is there twice", m.key)
			}
			b = append(b, ',')
		}
		b, err = appendScalar(b, m.key)
		if err != nil {
			return nil, err
		}
		b = append(append(b, ':'), m.value...)
	}
	return append(b, '}'), nil
}
