package graph

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A rule says how the changes of a part are found.
type rule uint8

const (
	byBits  rule = iota // no maps, slices, pointers or interfaces: the same bits are the same value
	byBytes             // encoded after each node; changed if the bytes are
	byTail              // append: only elements behind the known ones are encoded
)

// A field is one part of the state.
type field struct {
	part  string // its name
	name  string // of the Go field, for messages
	index []int  // through embedded structs
	typ   reflect.Type
	rule  rule
	merge mergeRule
	fn    func(base reflect.Value, writes []reflect.Value) (reflect.Value, error) // mergeCustom

	loose bool         // it holds interfaces: what is in them is known by its encoding only
	slice reflect.Type // byTail: the slice behind the field
	deep  bool         // byTail: elements hold more than their own bits
}

// part returns a part's field by its name, nil if there is none.
func (p *plan) part(name string) *field {
	for i := range p.fields {
		if p.fields[i].part == name {
			return &p.fields[i]
		}
	}
	return nil
}

// A plan says how a state type becomes parts. It is made once, by New.
type plan struct {
	typ     reflect.Type
	fields  []field
	carried [][]int // fields tagged "-": handed from node to node, never stored
}

const tagKey = "posthouse"

// newPlan returns the plan and everything that is wrong with the type.
func newPlan(t reflect.Type, codec posthouse.Codec) (*plan, []string) {
	if t.Kind() != reflect.Struct {
		return nil, []string{fmt.Sprintf("the state is a %s; it must be a struct whose exported fields are the parts", t)}
	}
	b := &planner{plan: plan{typ: t}, strict: codec.Name() == posthouse.JSON.Name()}
	b.addStruct(t, nil)
	return &b.plan, b.problems
}

type planner struct {
	plan
	strict   bool // the codec is JSON: what it cannot encode is known
	problems []string
}

func (b *planner) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

func (b *planner) addStruct(t reflect.Type, path []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), path...), i)
		tag, tagged := f.Tag.Lookup(tagKey)
		switch {
		case tag == "-":
			if f.IsExported() {
				b.carried = append(b.carried, index)
			}
		case f.Anonymous && !tagged && promotes(f.Type):
			b.addStruct(f.Type, index)
		case f.Anonymous && !tagged && f.Type.Kind() == reflect.Pointer:
			b.problem("the embedded pointer %s is not a part: embed the struct itself, or name the field", f.Name)
		case f.Name == "_":
		case !f.IsExported():
			b.problem("the field %s is unexported and would be lost: export it, or tag it `posthouse:\"-\"`", f.Name)
		default:
			b.addField(f, index, tag)
		}
	}
}

// promotes reports whether an embedded type's fields become parts of their own.
func promotes(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || encodesItself(t) || isLog(t) {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return true
		}
	}
	return false
}

func (b *planner) addField(f reflect.StructField, index []int, tag string) {
	p := field{part: f.Name, name: f.Name, index: index, typ: f.Type, rule: byBytes, merge: mergeReplace, loose: engine.HoldsInterface(f.Type)}
	appends := isLog(f.Type)
	for word := range strings.SplitSeq(tag, ",") {
		name, isName := strings.CutPrefix(word, "name=")
		switch {
		case isName:
			p.part = name
		case word == "append":
			appends = true
		case slices.Contains(mergeRules, mergeRule(word)):
			p.merge = mergeRule(word)
		case word != "":
			b.problem("the field %s has the tag %q; known are append, %s, name=... and -", f.Name, word, ruleNames())
		}
	}
	if p.part == "" || len(p.part) > posthouse.MaxID || strings.HasPrefix(p.part, "$") {
		b.problem("the field %s has the part name %.40q: 1 to %d bytes that do not begin with $", f.Name, p.part, posthouse.MaxID)
	}
	for _, other := range b.fields {
		if other.part == p.part {
			b.problem("the fields %s and %s are both the part %s: give one a name by `posthouse:\"name=...\"`", other.name, f.Name, p.part)
		}
	}
	if f.Type == reflect.TypeFor[Mean]() && p.merge == mergeReplace {
		p.merge = mergeMean
	}
	if needs, ok := p.merge.fits(f.Type); !ok {
		b.problem("the field %s is a %s and cannot be tagged %s, which needs %s", f.Name, f.Type, p.merge, needs)
	}
	switch {
	case appends && p.merge != mergeReplace:
		b.problem("the field %s is tagged append and %s: an append part has its own way to merge", f.Name, p.merge)
	case appends:
		b.appendRule(&p)
	case isFlat(f.Type):
		p.rule = byBits
	}
	if b.strict {
		b.checkJSON(p.name, p.typ, map[reflect.Type]bool{})
	}
	b.fields = append(b.fields, p)
}

func ruleNames() string {
	names := make([]string, len(mergeRules))
	for i, r := range mergeRules {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// register takes the merge functions of a graph.
func (p *plan) register(ms []merger, problem func(format string, args ...any)) {
	for i := range ms {
		m := &ms[i]
		at := slices.IndexFunc(p.fields, func(f field) bool { return f.name == m.field })
		switch {
		case m.fn == nil:
			problem("the merge of field %s has no function", m.field)
		case at < 0:
			problem("a merge function is given for the field %q, which the state does not have", m.field)
		case p.fields[at].typ != m.typ:
			problem("the merge of field %s takes a %s; the field is a %s", m.field, m.typ, p.fields[at].typ)
		case p.fields[at].rule == byTail:
			problem("the field %s is an append part, which has its own way to merge", m.field)
		case p.fields[at].merge != mergeReplace:
			problem("the field %s is merged twice: by %s and by a function", m.field, p.fields[at].merge)
		default:
			p.fields[at].merge, p.fields[at].fn = mergeCustom, m.fn
		}
	}
}

func (b *planner) appendRule(p *field) {
	p.rule, p.slice = byTail, p.typ
	if isLog(p.typ) {
		p.slice = p.typ.Field(0).Type
	}
	switch {
	case p.slice.Kind() != reflect.Slice:
		b.problem("the field %s is a %s: only a slice or a graph.Log can be tagged append", p.name, p.typ)
		p.rule = byBytes
		return
	case p.slice.Elem().Kind() == reflect.Uint8:
		b.problem("the field %s is a %s, which is encoded as one text: it cannot be tagged append", p.name, p.typ)
	case !isLog(p.typ) && encodesItself(p.typ):
		b.problem("the field %s is a %s, which encodes itself: its elements cannot be appended one by one", p.name, p.typ)
	}
	p.deep = !isFlat(p.slice.Elem())
}

var (
	typeTime    = reflect.TypeFor[time.Time]()
	typeJSON    = reflect.TypeFor[json.Marshaler]()
	typeText    = reflect.TypeFor[encoding.TextMarshaler]()
	typeTextOut = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// encodesItself reports whether JSON leaves the encoding to the type.
func encodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(typeJSON) || p.Implements(typeText)
}

// isFlat reports whether values of the type are wholly in their own bits, text
// aside, which cannot change in place.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		if t == typeTime {
			return true // its pointer is to a location, which does not change
		}
		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return false
			}
		}
		return true
	case reflect.Array:
		return isFlat(t.Elem())
	case reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	}
	return true
}

// checkJSON finds what encoding/json would refuse, or could not read back.
func (b *planner) checkJSON(path string, t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] || encodesItself(t) {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		b.problem("%s is a %s, which cannot be stored", path, t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			b.problem("%s is a %s: a value read back would not know its type; use a concrete type", path, t)
		}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		b.checkJSON(path, t.Elem(), seen)
	case reflect.Map:
		switch k := t.Key(); k.Kind() {
		case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		default:
			if !k.Implements(typeText) || !reflect.PointerTo(k).Implements(typeTextOut) {
				b.problem("%s is a %s, whose keys cannot be stored", path, t)
			}
		}
		b.checkJSON(path, t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" {
				b.checkJSON(path+"."+f.Name, f.Type, seen)
			}
		}
	}
}
