package notify

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/posthouse/posthouse"
)

// A Condition is on one value of a gate's payload. Numbers are compared exactly, whatever their
// size. A value that is not there, or is of another type, meets no condition.
type Condition struct {
	At     string   `yaml:"at" json:"at" doc:"where the value is, as a JSON Pointer: /order/amount"`
	Is     []string `yaml:"is" json:"is,omitempty" doc:"it is one of these: a text, a number, true, false or null"`
	Above  string   `yaml:"above" json:"above,omitempty" doc:"it is a number that is larger"`
	Below  string   `yaml:"below" json:"below,omitempty" doc:"it is a number that is smaller"`
	Prefix string   `yaml:"prefix" json:"prefix,omitempty" doc:"it is a text that begins so"`
}

func (c *Condition) validate(field string) error {
	switch {
	case c.At != "" && !strings.HasPrefix(c.At, "/"):
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field + ".at", Message: "does not begin with /", Hint: "it is a JSON Pointer, as in /order/amount"}
	case len(c.Is) == 0 && c.Above == "" && c.Below == "" && c.Prefix == "":
		return posthouse.Invalid(field, "asks for nothing: give one of is, above, below and prefix")
	case len(c.Is) > maxConditions:
		return posthouse.Invalid(field+".is", "has more than %d values", maxConditions)
	}
	for name, v := range map[string]string{"above": c.Above, "below": c.Below} {
		if _, ok := parseDecimal(v); v != "" && !ok {
			return posthouse.Invalid(field+"."+name, "is %.40q, which is not a number", v)
		}
	}
	return nil
}

// holds reports whether a payload meets the condition.
func (c *Condition) holds(payload json.RawMessage) bool {
	v, ok := find(payload, c.At)
	if !ok {
		return false
	}
	var text string
	isText := json.Unmarshal(v, &text) == nil && v[0] == '"'
	n, isNumber := parseDecimal(string(v))
	if len(c.Is) > 0 && !c.isOne(v, text, isText, n, isNumber) {
		return false
	}
	if c.Above != "" || c.Below != "" {
		if !isNumber {
			return false
		}
		if above, ok := parseDecimal(c.Above); ok && n.compare(&above) <= 0 {
			return false
		}
		if below, ok := parseDecimal(c.Below); ok && n.compare(&below) >= 0 {
			return false
		}
	}
	return c.Prefix == "" || isText && strings.HasPrefix(text, c.Prefix)
}

func (c *Condition) isOne(v json.RawMessage, text string, isText bool, n decimal, isNumber bool) bool {
	for _, want := range c.Is {
		w, number := parseDecimal(want)
		switch {
		case isText && text == want, !isText && string(v) == want, isNumber && number && n.compare(&w) == 0:
			return true
		}
	}
	return false
}

// find returns the value at a JSON Pointer.
func find(payload json.RawMessage, pointer string) (json.RawMessage, bool) {
	v := bytes.TrimSpace(payload)
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		next, ok := member(v, step)
		if !ok {
			return nil, false
		}
		v = bytes.TrimSpace(next)
	}
	return v, len(v) > 0
}

// member returns the value of an object's member, or the element of a list with a number.
func member(v json.RawMessage, name string) (json.RawMessage, bool) {
	if len(v) == 0 {
		return nil, false
	}
	switch v[0] {
	case '{':
		var m map[string]json.RawMessage
		if json.Unmarshal(v, &m) != nil {
			return nil, false
		}
		next, ok := m[name]
		return next, ok
	case '[':
		var l []json.RawMessage
		i, ok := index(name)
		if !ok || json.Unmarshal(v, &l) != nil || i >= len(l) {
			return nil, false
		}
		return l[i], true
	}
	return nil, false
}

// index reads the number of an element, as a JSON Pointer writes it.
func index(s string) (n int, ok bool) {
	if s == "" || len(s) > 9 || s[0] == '0' && s != "0" {
		return 0, false
	}
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
