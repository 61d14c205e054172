package jsonpatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// A node is a value of a document. It is read from its bytes once somebody looks into it.
type node struct {
	raw     json.RawMessage // what it is, until it is opened
	opened  bool
	members []member // of an object
	items   []*node  // of an array
	kind    byte     // '{' or '[' of an opened node
}

type member struct {
	name  string
	value *node
}

var errMalformed = errors.New("not valid JSON")

// parse returns the node of a value.
func parse(raw []byte) (*node, error) {
	if !json.Valid(raw) {
		return nil, errMalformed
	}
	return &node{raw: bytes.TrimSpace(raw)}, nil
}

// container reports which of '{' and '[' a node begins with, or 0.
func (n *node) container() byte {
	if n.opened {
		return n.kind
	}
	if c := n.raw[0]; c == '{' || c == '[' {
		return c
	}
	return 0
}

// open reads the members or items of a node. It does nothing for a scalar.
func (n *node) open() error {
	c := n.container()
	if n.opened || c == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(n.raw))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name := ""
		if c == '{' {
			tok, err := dec.Token()
			if err != nil {
				return err
			}
			name, _ = tok.(string)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		child := &node{raw: bytes.TrimSpace(raw)}
		if c == '{' {
			n.members = append(n.members, member{name, child})
		} else {
			n.items = append(n.items, child)
		}
	}
	n.opened, n.kind, n.raw = true, c, nil
	return nil
}

// find returns the place of a member, or -1.
func (n *node) find(name string) int {
	return slices.IndexFunc(n.members, func(m member) bool { return m.name == name })
}

// set sets a member, in its place or as the last.
func (n *node) set(name string, v *node) {
	if i := n.find(name); i >= 0 {
		n.members[i].value = v
		return
	}
	n.members = append(n.members, member{name, v})
}

// write appends the node's JSON.
func (n *node) write(b []byte) []byte {
	if !n.opened {
		return append(b, n.raw...)
	}
	b = append(b, n.kind)
	for i, m := range n.members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, m.name), ':')
		b = m.value.write(b)
	}
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = item.write(b)
	}
	return append(b, n.kind+2) // '}' is '{' and two, and ']' is '[' and two
}

func appendString(b []byte, s string) []byte {
	var w bytes.Buffer
	enc := json.NewEncoder(&w)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(w.Bytes(), []byte("\n"))...)
}

// equal compares two values as RFC 6902 does: objects without order, numbers by their value.
func equal(a, b *node) (bool, error) {
	if err := errors.Join(a.open(), b.open()); err != nil {
		return false, err
	}
	switch c := a.container(); {
	case c != b.container() || len(a.members) != len(b.members) || len(a.items) != len(b.items):
		return false, nil
	case c == 0:
		return equalScalars(a.raw, b.raw)
	}
	for i := range a.items {
		if same, err := equal(a.items[i], b.items[i]); err != nil || !same {
			return false, err
		}
	}
	of := make(map[string]*node, len(b.members))
	for _, m := range b.members {
		of[m.name] = m.value
	}
	for _, m := range a.members {
		other := of[m.name]
		if other == nil {
			return false, nil
		}
		if same, err := equal(m.value, other); err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

func equalScalars(a, b json.RawMessage) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	if a[0] == '"' && b[0] == '"' {
		var x, y string
		err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y))
		return x == y, err
	}
	if isNumber(a) && isNumber(b) {
		return normal(string(a)) == normal(string(b)), nil
	}
	return false, nil
}

func isNumber(raw json.RawMessage) bool { return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' }

// A decimal is a number in one form: its digits without zeros at both ends, times ten to the power of
// exp. The exponent of a number that is not zero is as it was written, however large.
type decimal struct {
	negative bool
	digits   string
	exp      string
}

func normal(s string) decimal {
	s, negative := strings.CutPrefix(s, "-")
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	shift := -len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	shift += len(digits) - len(trimmed)
	if trimmed == "" {
		return decimal{digits: "0"}
	}
	return decimal{negative, trimmed, addExponent(exponent, shift)}
}
