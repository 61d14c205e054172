package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Bounds of a schema.
const (
	maxDepth    = 100    // objects and lists within each other
	maxInPlace  = 2000   // schemas that one value is checked against, references followed
	maxPatterns = 10_000 // instructions of all patterns
)

// A Schema is compiled.
type Schema struct {
	root    *node
	collect bool // something is said of what nothing else looks at
}

// A node is one schema of the document.
type node struct {
	never  bool // false: nothing satisfies it
	ref    []*node
	types  []string
	enum   map[string]bool // canonical values
	shown  string          // the list, for messages
	hasAny bool            // there is an enum

	constant *string // canonical
	shownAs  string

	minimum, maximum, above, below, multiple *bound
	width                                    *width
	minLength, maxLength                     int // -1: no limit
	pattern                                  *pattern

	prefix                      []*node
	items, contains, otherItems *node
	minItems, maxItems          int
	minContains, maxContains    int
	unique                      bool

	properties                 map[string]*node
	patterns                   []patternOf
	additional, names, others  *node
	minProperties, maxProperty int
	required                   []string
	needs                      map[string][]string
	dependent                  map[string]*node

	allOf, anyOf, oneOf []*node
	not, when, then, or *node
}

type bound struct {
	number
	shown string
}

type patternOf struct {
	*pattern
	node *node
}

// Compile reads a schema. Errors say what is wrong with it, or which bound it breaks.
func Compile(text json.RawMessage) (*Schema, error) {
	if err := checkDepth(text); err != nil {
		return nil, err
	}
	root, err := decode(text)
	if err != nil {
		return nil, err
	}
	c := &compiler{refs: &references{root: root, anchors: map[string][]string{}, state: map[string]visit{}}, nodes: map[string]*node{}, s: &Schema{}}
	if err := c.refs.check(); err != nil {
		return nil, err
	}
	if m, ok := root.(map[string]any); ok {
		switch v := m["$schema"]; v {
		case nil, "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#":
		case "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema":
			c.draft7 = true
		default:
			return nil, fmt.Errorf("$schema %.80q is neither JSON Schema 2020-12 nor draft 7", fmt.Sprint(v))
		}
	}
	c.s.root, err = c.node("")
	if err != nil {
		return nil, err
	}
	if c.patternSize > maxPatterns {
		return nil, fmt.Errorf("its patterns have more than %d parts", maxPatterns)
	}
	counted := map[*node]int{}
	for at, n := range c.nodes {
		if inPlaceOf(n, counted) > maxInPlace {
			return nil, fmt.Errorf("#%.80s checks one value against more than %d schemas, with references followed", at, maxInPlace)
		}
	}
	return c.s, nil
}

// checkDepth refuses what is nested too deeply, before it is read. Brackets in texts count
// for nothing.
func checkDepth(text []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("it is nested more than %d deep", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// inPlaceOf counts the schemas that a node checks the same value against. References
// cannot lead back, see [references].
func inPlaceOf(n *node, counted map[*node]int) int {
	if n == nil {
		return 0
	}
	if have, ok := counted[n]; ok {
		return have
	}
	sum := 1
	for _, list := range [][]*node{n.ref, n.allOf, n.anyOf, n.oneOf, {n.not, n.when, n.then, n.or}, slices.Collect(maps.Values(n.dependent))} {
		for _, sub := range list {
			sum = min(sum+inPlaceOf(sub, counted), maxInPlace+1)
		}
	}
	counted[n] = sum
	return sum
}

type compiler struct {
	refs        *references
	nodes       map[string]*node // by pointer
	s           *Schema
	draft7      bool
	patternSize int
}

// keywords lists what is known, to find what is written in another case.
var keywords = strings.Fields("$id $schema $ref $comment $defs definitions $anchor $dynamicAnchor $dynamicRef type enum const multipleOf minimum maximum " +
	"exclusiveMinimum exclusiveMaximum minLength maxLength pattern prefixItems items additionalItems minItems maxItems uniqueItems contains minContains " +
	"maxContains unevaluatedItems minProperties maxProperties required dependentRequired properties patternProperties additionalProperties propertyNames " +
	"unevaluatedProperties allOf anyOf oneOf not if then else dependentSchemas dependencies")

// node compiles the schema at a pointer, once.
func (c *compiler) node(at string) (*node, error) {
	if n := c.nodes[at]; n != nil {
		return n, nil
	}
	n := &node{minLength: -1, maxLength: -1, minItems: -1, maxItems: -1, minContains: -1, maxContains: -1, minProperties: -1, maxProperty: -1}
	c.nodes[at] = n
	switch v := c.refs.at(at).(type) {
	case bool:
		n.never = !v
		return n, nil
	case map[string]any:
		k := &keywordsOf{c: c, at: at, m: v}
		k.fill(n)
		if k.err != nil {
			return nil, k.err
		}
		return n, nil
	}
	return nil, fmt.Errorf("#%.80s is no schema: an object, true or false is wanted", at)
}

// keywordsOf reads the keywords of a schema. It keeps the first error.
type keywordsOf struct {
	c   *compiler
	at  string
	m   map[string]any
	err error
}

func (k *keywordsOf) fail(name, want string) {
	if k.err == nil {
		k.err = fmt.Errorf("#%.80s: %s must be %s", k.at, name, want)
	}
}

func (k *keywordsOf) fill(n *node) {
	for name := range k.m {
		for _, known := range keywords {
			if name != known && strings.EqualFold(name, known) {
				k.fail(name, "written "+known)
			}
		}
	}
	for _, name := range []string{"$ref", "$dynamicRef"} {
		if ref, ok := k.m[name].(string); ok {
			targets, err := k.c.refs.targets(ref)
			if err == nil && len(targets) > 1 {
				err = fmt.Errorf("%.80q is there twice", ref)
			}
			if err != nil {
				k.err = errors.Join(k.err, err)
				return
			}
			n.ref = append(n.ref, k.pointed(targets[0]))
		} else if k.m[name] != nil {
			k.fail(name, "a text")
		}
	}
	if k.c.draft7 && k.m["$ref"] != nil {
		return // what stands beside it does not count
	}
	k.values(n)
	k.arrays(n)
	k.objects(n)
	n.allOf, n.anyOf, n.oneOf = k.list("allOf"), k.list("anyOf"), k.list("oneOf")
	n.not, n.when = k.sub("not"), k.sub("if")
	if n.when != nil {
		n.then, n.or = k.sub("then"), k.sub("else")
	}
}

func (k *keywordsOf) values(n *node) {
	switch v := k.m["type"].(type) {
	case nil:
	case string:
		n.types = []string{v}
	case []any:
		for _, t := range v {
			s, _ := t.(string)
			n.types = append(n.types, s)
		}
	default:
		k.fail("type", "a name or a list of names")
	}
	for _, t := range n.types {
		if !slices.Contains([]string{"null", "boolean", "object", "array", "number", "integer", "string"}, t) {
			k.fail("type", "one of null, boolean, object, array, number, integer and string")
		}
	}
	if format, ok := k.m["format"].(string); ok {
		n.width = widthOf(format)
	}
	if v, ok := k.m["enum"]; ok {
		list, ok := v.([]any)
		if !ok {
			k.fail("enum", "a list")
		}
		n.hasAny, n.enum, n.shown = true, map[string]bool{}, show(v)
		for _, e := range list {
			n.enum[canonical(e)] = true
		}
	}
	if v, ok := k.m["const"]; ok {
		s := canonical(v)
		n.constant, n.shownAs = &s, show(v)
	}
	n.minimum, n.maximum = k.number("minimum"), k.number("maximum")
	n.above, n.below, n.multiple = k.number("exclusiveMinimum"), k.number("exclusiveMaximum"), k.number("multipleOf")
	if m := n.multiple; m != nil && (m.sign() <= 0 || len(m.digits) > maxDigits) {
		k.fail("multipleOf", fmt.Sprintf("more than 0, with at most %d digits", maxDigits))
	}
	n.minLength, n.maxLength = k.count("minLength"), k.count("maxLength")
	if v, ok := k.m["pattern"]; ok {
		s, ok := v.(string)
		if !ok {
			k.fail("pattern", "a text")
		}
		n.pattern = k.regexp("pattern", s)
	}
}

func (k *keywordsOf) arrays(n *node) {
	n.minItems, n.maxItems = k.count("minItems"), k.count("maxItems")
	n.unique = k.m["uniqueItems"] == true
	n.contains = k.sub("contains")
	if !k.c.draft7 {
		n.minContains, n.maxContains = k.count("minContains"), k.count("maxContains")
		n.otherItems = k.sub("unevaluatedItems")
		k.c.s.collect = k.c.s.collect || n.otherItems != nil
	}
	if _, list := k.m["items"].([]any); list { // of draft 7, and taken as it is meant
		n.prefix, n.items = k.list("items"), k.sub("additionalItems")
		return
	}
	n.prefix, n.items = k.list("prefixItems"), k.sub("items")
}

func (k *keywordsOf) objects(n *node) {
	n.minProperties, n.maxProperty = k.count("minProperties"), k.count("maxProperties")
	n.additional, n.names = k.sub("additionalProperties"), k.sub("propertyNames")
	n.properties = k.named("properties")
	for expr, sub := range k.named("patternProperties") {
		if re := k.regexp("patternProperties", expr); re != nil {
			n.patterns = append(n.patterns, patternOf{re, sub})
		}
	}
	n.required = k.texts("required", k.m["required"])
	n.needs, n.dependent = map[string][]string{}, map[string]*node{}
	for name, v := range k.object("dependencies") { // of draft 7, and taken as it is meant
		if _, list := v.([]any); list {
			n.needs[name] = k.texts("dependencies", v)
		} else {
			n.dependent[name] = k.pointed(k.at + "/dependencies/" + escape(name))
		}
	}
	if k.c.draft7 {
		return
	}
	maps.Copy(n.dependent, k.named("dependentSchemas"))
	for name, v := range k.object("dependentRequired") {
		n.needs[name] = append(n.needs[name], k.texts("dependentRequired", v)...)
	}
	n.others = k.sub("unevaluatedProperties")
	k.c.s.collect = k.c.s.collect || n.others != nil
}

func (k *keywordsOf) object(name string) map[string]any {
	m, ok := k.m[name].(map[string]any)
	if !ok && k.m[name] != nil {
		k.fail(name, "an object")
	}
	return m
}

func (k *keywordsOf) pointed(at string) *node {
	n, err := k.c.node(at)
	if err != nil && k.err == nil {
		k.err = err
	}
	return n
}

func (k *keywordsOf) sub(name string) *node {
	if _, ok := k.m[name]; !ok {
		return nil
	}
	return k.pointed(k.at + "/" + name)
}

func (k *keywordsOf) list(name string) (all []*node) {
	v, ok := k.m[name]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		k.fail(name, "a list of schemas")
	}
	for i := range list {
		all = append(all, k.pointed(fmt.Sprintf("%s/%s/%d", k.at, name, i)))
	}
	return all
}

func (k *keywordsOf) named(name string) map[string]*node {
	v, ok := k.m[name]
	if !ok {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		k.fail(name, "an object of schemas")
	}
	all := map[string]*node{}
	for key := range m {
		all[key] = k.pointed(k.at + "/" + name + "/" + escape(key))
	}
	return all
}

func (k *keywordsOf) texts(name string, v any) (all []string) {
	list, ok := v.([]any)
	if !ok && v != nil {
		k.fail(name, "a list of texts")
	}
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			k.fail(name, "a list of texts")
		}
		all = append(all, s)
	}
	return all
}

func (k *keywordsOf) number(name string) *bound {
	v, ok := k.m[name]
	if !ok {
		return nil
	}
	s, _ := v.(json.Number)
	n, ok := parseNumber(string(s))
	if s == "" || !ok {
		k.fail(name, "a number")
		return nil
	}
	return &bound{n, show(v)}
}

// count reads a number of things; -1 if the keyword is absent.
func (k *keywordsOf) count(name string) int {
	b := k.number(name)
	if b == nil {
		return -1
	}
	if !b.isInteger() || b.sign() < 0 || b.exp > 9 {
		k.fail(name, "a whole number from 0 to 999999999")
		return -1
	}
	n := 0
	for i := range int(b.exp) {
		n *= 10
		if i < len(b.digits) {
			n += int(b.digits[i] - '0')
		}
	}
	return n
}

func (k *keywordsOf) regexp(name, expr string) *pattern {
	p, err := compilePattern(expr)
	if err != nil {
		if k.err == nil {
			k.err = fmt.Errorf("#%.80s: %s: %w", k.at, name, err)
		}
		return nil
	}
	k.c.patternSize += p.size
	return p
}
