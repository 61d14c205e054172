package schema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// check refuses schemas that would harm a validator. A schema that refers to
// itself without going down into the value would recurse for ever. A reference out of the
// document would need the network.
func (c *references) check() error {
	if err := c.collect(c.root, ""); err != nil {
		return err
	}
	for _, at := range c.schemas {
		if err := c.resolve(at); err != nil {
			return err
		}
	}
	return nil
}

type visit int

const (
	unseen visit = iota
	open         // on the way down from here
	done
)

// references are the schemas of a document, by their JSON pointers.
type references struct {
	root    any
	schemas []string            // objects that may be schemas
	anchors map[string][]string // pointers by anchor name
	state   map[string]visit
}

// inPlace lists the keywords with schemas for the same value.
var inPlace = [...]string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}

func (c *references) collect(v any, at string) error {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if err := c.collect(e, at+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case map[string]any:
		c.schemas = append(c.schemas, at)
		for _, k := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := v[k].(string); ok {
				c.anchors[name] = append(c.anchors[name], at)
			}
		}
		if _, ok := v["$id"].(string); ok && at != "" {
			return fmt.Errorf("%s has an $id: a gate's schema is one document", at)
		}
		for k, e := range v {
			switch k {
			case "enum", "const", "default", "examples": // data, not schemas
				continue
			}
			if err := c.collect(e, at+"/"+escape(k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve visits the schemas that apply to the same value as the one at a pointer.
func (c *references) resolve(at string) error {
	switch c.state[at] {
	case open:
		return fmt.Errorf("#%s refers to itself", at)
	case done:
		return nil
	}
	c.state[at] = open
	m, _ := c.at(at).(map[string]any)
	for _, k := range []string{"$ref", "$dynamicRef"} {
		ref, ok := m[k].(string)
		if !ok {
			continue
		}
		targets, err := c.targets(ref)
		if err != nil {
			return err
		}
		for _, t := range targets {
			if err := c.resolve(t); err != nil {
				return err
			}
		}
	}
	for _, k := range inPlace {
		sub, ok := m[k]
		if !ok {
			continue
		}
		for _, t := range applied(k, sub, at+"/"+k) {
			if err := c.resolve(t); err != nil {
				return err
			}
		}
	}
	c.state[at] = done
	return nil
}

func applied(keyword string, v any, at string) (list []string) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			list = append(list, at+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		if keyword != "dependentSchemas" && keyword != "dependencies" {
			return []string{at}
		}
		for k := range v {
			list = append(list, at+"/"+escape(k))
		}
	}
	return list
}

func (c *references) targets(ref string) ([]string, error) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("%q leads out of the schema", ref)
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, fmt.Errorf("%q is malformed", ref)
	}
	if fragment == "" || fragment[0] == '/' {
		if c.at(fragment) == nil {
			return nil, fmt.Errorf("%q leads nowhere", ref)
		}
		return []string{fragment}, nil
	}
	if len(c.anchors[fragment]) == 0 {
		return nil, fmt.Errorf("%q leads nowhere", ref)
	}
	return c.anchors[fragment], nil
}

// at returns what a JSON pointer points at, nil if there is nothing.
func (c *references) at(pointer string) any {
	v := c.root
	if pointer == "" {
		return v
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		switch w := v.(type) {
		case map[string]any:
			v = w[unescape(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(w) {
				return nil
			}
			v = w[i]
		default:
			return nil
		}
	}
	return v
}

// escape and unescape make a property's name a token of a JSON pointer and back.
func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

func unescape(token string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(token) }
