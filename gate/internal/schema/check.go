package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Steps is how many steps a check may take, and PerByte how many more for each byte of the
// value. A step is one schema that one value is checked against, or as much work as that:
// a million take less than a second.
const (
	Steps   = 1_000_000
	PerByte = 4
)

// ErrBudget says that a check would take more steps than it may.
var ErrBudget = errors.New("schema: the check takes too many steps")

// A Failure says where a value breaks its schema.
type Failure struct {
	Path   string // within the value, as in "lines[].price"; "" is the value itself
	Reason string
}

// Error returns the reason.
func (f *Failure) Error() string { return f.Reason }

// Check checks a value. It returns a [Failure], or [ErrBudget].
func (s *Schema) Check(value json.RawMessage) error {
	v, err := decode(value)
	if err != nil {
		return &Failure{Reason: "not valid JSON: " + err.Error()}
	}
	c := &check{s: s, left: Steps + PerByte*len(value)}
	var out *seen
	if s.collect {
		out = &seen{}
	}
	broken := c.apply(s.root, v, nil, out)
	if c.left < 0 {
		return ErrBudget
	}
	if broken == nil {
		return nil
	}
	return &Failure{Path: broken.at.String(), Reason: broken.say()}
}

// A check is one check of a value.
type check struct {
	s     *Schema
	left  int // steps
	depth int // of schemas within each other
}

// maxNested bounds the schemas that are being applied within each other: the memory of the
// check's stack.
const maxNested = 50_000

// spend takes steps of the budget, and reports whether there were as many.
func (c *check) spend(n int) bool {
	c.left -= n
	return c.left >= 0
}

// A broken is a rule that a value breaks. Its message is made only on request: most
// belong to alternatives that do not matter.
type broken struct {
	at  *place
	say func() string
}

var outOfBudget = &broken{say: func() string { return ErrBudget.Error() }}

// A place is one within the value.
type place struct {
	up   *place
	name string // as it is written after the place above
}

func (p *place) String() string {
	var parts []string
	for ; p != nil; p = p.up {
		parts = append(parts, p.name)
	}
	slices.Reverse(parts)
	return strings.TrimPrefix(strings.Join(parts, ""), ".")
}

// seen is what of a value some schema has looked at; nil where nothing asks.
type seen struct {
	names    map[string]bool
	allNames bool
	items    int // from the first
	allItems bool
	some     map[int]bool
}

func (s *seen) name(name string) {
	if s == nil {
		return
	}
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[name] = true
}

func (s *seen) item(i int) {
	if s == nil {
		return
	}
	if s.some == nil {
		s.some = map[int]bool{}
	}
	s.some[i] = true
}

func (s *seen) add(o *seen, c *check) {
	if s == nil || o == nil {
		return
	}
	c.spend(len(o.names) + len(o.some))
	for name := range o.names {
		s.name(name)
	}
	for i := range o.some {
		s.item(i)
	}
	s.allNames, s.allItems, s.items = s.allNames || o.allNames, s.allItems || o.allItems, max(s.items, o.items)
}

// below returns where a part of the same value notes what it has looked at.
func (s *seen) below() *seen {
	if s == nil {
		return nil
	}
	return &seen{}
}

// apply checks a value against one schema. If the value satisfies it, apply notes in out
// the members and items that it looked at. Schemas beside it do not see the notes of its
// parts.
func (c *check) apply(n *node, v any, at *place, out *seen) *broken {
	own := out.below()
	b := c.within(n, v, at, own)
	if b == nil {
		out.add(own, c)
	}
	return b
}

func (c *check) within(n *node, v any, at *place, out *seen) *broken {
	if c.depth++; c.depth > maxNested {
		c.left = -1
	}
	defer func() { c.depth-- }()
	if !c.spend(1) {
		return outOfBudget
	}
	if n.never {
		return &broken{at, func() string { return "nothing is allowed here: it is " + show(v) }}
	}
	for _, ref := range n.ref {
		if b := c.apply(ref, v, at, out); b != nil {
			return b
		}
	}
	if b := c.kind(n, v, at); b != nil {
		return b
	}
	var b *broken
	switch v := v.(type) {
	case json.Number:
		b = c.number(n, v, at)
	case string:
		b = c.text(n, v, at)
	}
	if b == nil {
		b = c.combine(n, v, at, out)
	}
	if b != nil {
		return b
	}
	switch v := v.(type) {
	case []any:
		return c.array(n, v, at, out)
	case map[string]any:
		return c.object(n, v, at, out)
	}
	return nil
}

func (c *check) kind(n *node, v any, at *place) *broken {
	if n.types != nil {
		t := typeOf(v)
		if !slices.Contains(n.types, t) && (t != "integer" || !slices.Contains(n.types, "number")) {
			return &broken{at, func() string {
				if len(n.types) == 1 {
					return fmt.Sprintf("type: %s has type %q, want %q", show(v), t, n.types[0])
				}
				return fmt.Sprintf("type: %s has type %q, want one of %q", show(v), t, strings.Join(n.types, ", "))
			}}
		}
	}
	if number, ok := v.(json.Number); ok && n.types != nil && !slices.Contains(n.types, "number") && !inDigits(string(number)) {
		return &broken{at, func() string {
			return "type: " + show(v) + " is not written in digits, as an integer is: " + written(number)
		}}
	}
	if !n.hasAny && n.constant == nil {
		return nil
	}
	if !c.spend(weight(v)) {
		return outOfBudget
	}
	key := canonical(v)
	if n.hasAny && !n.enum[key] {
		return &broken{at, func() string { return fmt.Sprintf("enum: %s does not equal any of: %s", show(v), n.shown) }}
	}
	if n.constant != nil && *n.constant != key {
		return &broken{at, func() string { return fmt.Sprintf("const: %s does not equal %s", show(v), n.shownAs) }}
	}
	return nil
}

func (c *check) number(n *node, v json.Number, at *place) *broken {
	if n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil && n.multiple == nil && n.width == nil {
		return nil
	}
	if !c.spend(1 + len(v)/16) {
		return outOfBudget
	}
	if n.width != nil && !n.width.takes(string(v)) {
		return &broken{at, func() string {
			return fmt.Sprintf("format: %s is no %s: a whole number in its range, written in digits", show(v), n.width.name)
		}}
	}
	x, ok := parseNumber(string(v))
	if !ok {
		return &broken{at, func() string { return show(v) + " has an exponent that is too large to be checked" }}
	}
	says := func(name, what string, b *bound) *broken {
		return &broken{at, func() string { return fmt.Sprintf("%s: %s is %s %s", name, show(v), what, b.shown) }}
	}
	switch {
	case n.minimum != nil && x.compare(n.minimum.number) < 0:
		return says("minimum", "less than", n.minimum)
	case n.maximum != nil && x.compare(n.maximum.number) > 0:
		return says("maximum", "greater than", n.maximum)
	case n.above != nil && x.compare(n.above.number) <= 0:
		return says("exclusiveMinimum", "less than or equal to", n.above)
	case n.below != nil && x.compare(n.below.number) >= 0:
		return says("exclusiveMaximum", "greater than or equal to", n.below)
	case n.multiple == nil:
		return nil
	}
	if !c.spend(100) {
		return outOfBudget
	}
	is, ok := x.isMultiple(n.multiple.number)
	if !ok {
		return &broken{at, func() string { return fmt.Sprintf("multipleOf: %s has more than %d digits", show(v), maxDigits) }}
	}
	if !is {
		return says("multipleOf", "not a multiple of", n.multiple)
	}
	return nil
}

func (c *check) text(n *node, v string, at *place) *broken {
	if n.minLength >= 0 || n.maxLength >= 0 {
		if !c.spend(len(v) / 16) {
			return outOfBudget
		}
		length := utf8.RuneCountInString(v)
		if n.minLength >= 0 && length < n.minLength {
			return &broken{at, func() string {
				return fmt.Sprintf("minLength: %s has %d characters, fewer than %d", show(v), length, n.minLength)
			}}
		}
		if n.maxLength >= 0 && length > n.maxLength {
			return &broken{at, func() string {
				return fmt.Sprintf("maxLength: %s has %d characters, more than %d", show(v), length, n.maxLength)
			}}
		}
	}
	if n.pattern == nil {
		return nil
	}
	is, ok := c.matches(n.pattern, v)
	if !ok {
		return outOfBudget
	}
	if !is {
		return &broken{at, func() string {
			return fmt.Sprintf("pattern: %s does not match regular expression %.80q", show(v), n.pattern.String())
		}}
	}
	return nil
}

// matches reports whether a pattern is found in a text. Each byte costs as much as the
// pattern is large.
func (c *check) matches(p *pattern, text string) (is, ok bool) {
	if !c.spend(1 + len(text)*p.size/8) {
		return false, false
	}
	return p.MatchString(text), true
}

// combine checks what other schemas say of the same value.
func (c *check) combine(n *node, v any, at *place, out *seen) *broken {
	for _, sub := range n.allOf {
		if b := c.apply(sub, v, at, out); b != nil {
			return b
		}
	}
	if n.anyOf != nil {
		some := false
		for _, sub := range n.anyOf {
			if c.apply(sub, v, at, out) == nil {
				some = true
				if out == nil {
					break
				}
			}
		}
		if !some {
			return &broken{at, func() string { return fmt.Sprintf("anyOf: %s satisfies none of %d schemas", show(v), len(n.anyOf)) }}
		}
	}
	if n.oneOf != nil {
		count := 0
		for _, sub := range n.oneOf {
			if c.apply(sub, v, at, out) == nil {
				if count++; count > 1 {
					break
				}
			}
		}
		if count != 1 {
			return &broken{at, func() string {
				if count == 0 {
					return fmt.Sprintf("oneOf: %s satisfies none of %d schemas", show(v), len(n.oneOf))
				}
				return fmt.Sprintf("oneOf: %s satisfies more than one of %d schemas", show(v), len(n.oneOf))
			}}
		}
	}
	if n.not != nil && c.apply(n.not, v, at, out.below()) == nil {
		return &broken{at, func() string { return "not: " + show(v) + " satisfies what it must not" }}
	}
	if n.when != nil {
		next := n.or
		if c.apply(n.when, v, at, out) == nil {
			next = n.then
		}
		if next != nil {
			if b := c.apply(next, v, at, out); b != nil {
				return b
			}
		}
	}
	if c.left < 0 {
		return outOfBudget
	}
	return nil
}

func (c *check) array(n *node, v []any, at *place, out *seen) *broken {
	count := func(name, what string, limit int) *broken {
		return &broken{at, func() string { return fmt.Sprintf("%s: array has %d items, %s %d", name, len(v), what, limit) }}
	}
	if n.minItems >= 0 && len(v) < n.minItems {
		return count("minItems", "less than", n.minItems)
	}
	if n.maxItems >= 0 && len(v) > n.maxItems {
		return count("maxItems", "greater than", n.maxItems)
	}
	for i, sub := range n.prefix[:min(len(n.prefix), len(v))] {
		if b := c.apply(sub, v[i], &place{at, fmt.Sprintf("[%d]", i)}, c.fresh()); b != nil {
			return b
		}
	}
	if out != nil {
		out.items = max(out.items, min(len(n.prefix), len(v)))
	}
	each := &place{at, "[]"}
	if n.items != nil {
		for _, e := range v[min(len(n.prefix), len(v)):] {
			if b := c.apply(n.items, e, each, c.fresh()); b != nil {
				return b
			}
		}
		if out != nil {
			out.allItems = true
		}
	}
	if b := c.containing(n, v, at, out); b != nil {
		return b
	}
	if n.unique {
		have := map[string]bool{}
		for _, e := range v {
			if !c.spend(weight(e)) {
				return outOfBudget
			}
			key := canonical(e)
			if have[key] {
				return &broken{at, func() string { return "uniqueItems: " + show(e) + " is there twice" }}
			}
			have[key] = true
		}
	}
	if n.otherItems != nil && !out.allItems {
		for i := out.items; i < len(v); i++ {
			if out.some[i] {
				continue
			}
			if b := c.apply(n.otherItems, v[i], each, c.fresh()); b != nil {
				return b
			}
		}
		out.allItems = true
	}
	return nil
}

// fresh returns where another value notes what was looked at.
func (c *check) fresh() *seen {
	if !c.s.collect {
		return nil
	}
	return &seen{}
}

func (c *check) containing(n *node, v []any, at *place, out *seen) *broken {
	if n.contains == nil {
		return nil
	}
	found := 0
	for i, e := range v {
		if c.apply(n.contains, e, &place{at, "[]"}, c.fresh()) == nil {
			found++
			out.item(i)
		}
	}
	if c.left < 0 {
		return outOfBudget
	}
	least := max(n.minContains, 0)
	if n.minContains < 0 {
		least = 1
	}
	switch {
	case found < least:
		return &broken{at, func() string {
			return fmt.Sprintf("contains: %d items satisfy the schema, fewer than %d", found, least)
		}}
	case n.maxContains >= 0 && found > n.maxContains:
		return &broken{at, func() string {
			return fmt.Sprintf("contains: %d items satisfy the schema, more than %d", found, n.maxContains)
		}}
	}
	return nil
}

func (c *check) object(n *node, v map[string]any, at *place, out *seen) *broken {
	if b := c.counted(n, v, at); b != nil {
		return b
	}
	for name, sub := range n.dependent {
		if _, there := v[name]; there {
			if b := c.apply(sub, v, at, out); b != nil {
				return b
			}
		}
	}
	if n.properties == nil && n.patterns == nil && n.additional == nil && n.names == nil && n.others == nil {
		return nil
	}
	any := &place{at, ".*"}
	var extra []string
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	if len(names) <= 1000 {
		slices.Sort(names) // so that the same rule is named each time
	}
	for _, name := range names {
		if !c.spend(1) {
			return outOfBudget
		}
		value, known := v[name], false
		if n.names != nil {
			if b := c.apply(n.names, name, at, c.fresh()); b != nil {
				return b
			}
		}
		if sub := n.properties[name]; sub != nil {
			known = true
			if b := c.apply(sub, value, &place{at, "." + name}, c.fresh()); b != nil {
				return b
			}
		}
		for _, p := range n.patterns {
			is, ok := c.matches(p.pattern, name)
			if !ok {
				return outOfBudget
			}
			if !is {
				continue
			}
			known = true
			if b := c.apply(p.node, value, any, c.fresh()); b != nil {
				return b
			}
		}
		switch {
		case known:
			out.name(name)
		case n.additional != nil && n.additional.never:
			extra = append(extra, name)
		case n.additional != nil:
			out.name(name)
			if b := c.apply(n.additional, value, any, c.fresh()); b != nil {
				return b
			}
		}
	}
	if extra != nil {
		return &broken{at, func() string {
			return fmt.Sprintf("unexpected additional properties %.200q", extra[:min(len(extra), 10)])
		}}
	}
	if n.others != nil && !out.allNames {
		for _, name := range names {
			if out.names[name] {
				continue
			}
			if b := c.apply(n.others, v[name], any, c.fresh()); b != nil {
				return b
			}
		}
		out.allNames = true
	}
	return nil
}

// counted checks how many properties there are, and which must be.
func (c *check) counted(n *node, v map[string]any, at *place) *broken {
	if n.minProperties >= 0 && len(v) < n.minProperties {
		return &broken{at, func() string {
			return fmt.Sprintf("minProperties: object has %d properties, less than %d", len(v), n.minProperties)
		}}
	}
	if n.maxProperty >= 0 && len(v) > n.maxProperty {
		return &broken{at, func() string {
			return fmt.Sprintf("maxProperties: object has %d properties, greater than %d", len(v), n.maxProperty)
		}}
	}
	missing := func(names []string) (list []string) {
		c.spend(len(names) / 4)
		for _, name := range names {
			if _, there := v[name]; !there {
				list = append(list, name)
			}
		}
		return list
	}
	if m := missing(n.required); m != nil {
		return &broken{at, func() string { return fmt.Sprintf("required: missing properties: %q", m) }}
	}
	for name, list := range n.needs {
		if _, there := v[name]; !there {
			continue
		}
		if m := missing(list); m != nil {
			return &broken{at, func() string { return fmt.Sprintf("dependentRequired[%q]: missing properties %q", name, m) }}
		}
	}
	return nil
}
