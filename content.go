package posthouse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse/internal/canon"
)

// Domains of the digests of what a question shows.
const (
	domainContent = "posthouse/content/1"
	domainSalted  = "posthouse/content/salted/1"
)

// saltSize is how many random bytes stand in a gate's body, so that the digest in
// its header does not give away a content that can be guessed.
const saltSize = 16

// A Binding says what a recorded answer is good for.
type Binding string

// The bindings.
const (
	ByContent Binding = ""     // for a question of the same name, text and payload
	ByName    Binding = "name" // for any question of the name; such an answer licenses no effect
)

// Content returns the digest of what the gate shows: its name, its text and its
// payload as canonical JSON, as the program gave them. Two gates with the same
// digest ask the same. Times, assignees, labels and the rule are not part of it.
// A gate that is bound [ByName] has its name as its content.
func (g *Gate) Content() Hash {
	if g.Bind == ByName {
		return canon.Hash(domainContent, []byte(g.Bind), []byte(g.Name))
	}
	payload := g.Payload
	if c, err := CanonicalJSON(payload); err == nil {
		payload = c
	}
	return canon.Hash(domainContent, nil, []byte(g.Name), []byte(g.Text), payload)
}

// Digested reports whether the digest of the gate's content is on record in its
// header. Gates that earlier versions opened have none: theirs is computed from
// the body, whose text may end with a note.
func (g *Gate) Digested() bool { return len(g.salt) > 0 }

// digest returns what the header says of the content.
func (g *Gate) digest() Hash {
	if len(g.salt) == 0 {
		return Hash{}
	}
	content := g.Content()
	return canon.Hash(domainSalted, g.salt, content[:])
}

// CanonicalJSON returns data with the keys of each object sorted, without spaces
// and with strings in one spelling; numbers stay digit by digit as they are. Nil
// stays nil. [ErrInvalid] if data is not one JSON value or has a key twice.
func CanonicalJSON(data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	out, err := appendCanonical(nil, d)
	if err != nil {
		return nil, &Error{Code: CodeInvalid, Field: "json", Message: "is not one JSON value", Err: err}
	}
	if d.InputOffset() < int64(len(bytes.TrimRight(data, " \t\r\n"))) {
		return nil, invalid("json", "has something behind its value")
	}
	return out, nil
}

// appendCanonical appends the next value of d.
func appendCanonical(b []byte, d *json.Decoder) ([]byte, error) {
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
		if b, err = appendCanonical(b, d); err != nil {
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
		value, err := appendCanonical(nil, d)
		if err != nil {
			return nil, err
		}
		members = append(members, member{key.(string), value})
	}
	if _, err = d.Token(); err != nil {
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
		if b, err = appendScalar(b, m.key); err != nil {
			return nil, err
		}
		b = append(append(b, ':'), m.value...)
	}
	return append(b, '}'), nil
}
