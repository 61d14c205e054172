package state

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/jsontype"
)

// Options say how a schema stores states, and which types mean something to it.
type Options struct {
	Graph string // the graph's name, for errors
	Codec posthouse.Codec
	Check bool // compare append parts in full after every change

	IsLog func(reflect.Type) bool // reports a struct of one slice that only grows
	Mean  reflect.Type            // a struct of a sum (float64) and a count (int64), for the rule avg

	Conflict func(*Conflict) error // the error of a merge
}

// A Schema says how a state type becomes parts. It is made once, and safe for
// concurrent use.
type Schema struct {
	Options
	Type   reflect.Type // of the state, a struct
	Fields []Field

	carried [][]int // fields tagged "-": passed from node to node, never stored
}

// Part returns the field of a part by its name, or nil.
func (p *Schema) Part(name string) *Field {
	for i := range p.Fields {
		if p.Fields[i].Part == name {
			return &p.Fields[i]
		}
	}
	return nil
}

const tagKey = "posthouse"

// NewSchema returns the schema of a type and everything that is wrong with it.
func NewSchema(t reflect.Type, o Options) (*Schema, []string) {
	if t.Kind() != reflect.Struct {
		return nil, []string{fmt.Sprintf("the state is a %s; it must be a struct whose exported fields are the parts", t)}
	}
	b := &builder{Schema: Schema{Options: o, Type: t}}
	b.addStruct(t, nil)
	return &b.Schema, b.problems
}

// A builder makes a schema and notes what is wrong with the type.
type builder struct {
	Schema
	problems []string
}

func (b *builder) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

func (b *builder) addStruct(t reflect.Type, path []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), path...), i)
		tag, tagged := f.Tag.Lookup(tagKey)
		switch {
		case tag == "-":
			if f.IsExported() {
				b.carried = append(b.carried, index)
			}
		case f.Anonymous && !tagged && b.promotes(f.Type):
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
func (b *builder) promotes(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || encodesItself(t) || b.IsLog(t) {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return true
		}
	}
	return false
}

func (b *builder) addField(f reflect.StructField, index []int, tag string) {
	p := Field{Part: f.Name, Name: f.Name, Type: f.Type, Merge: Replace, index: index, encoding: byBytes, loose: jsontype.HoldsInterface(f.Type), list: list{inLog: b.IsLog(f.Type)}}
	appends := p.list.inLog
	for word := range strings.SplitSeq(tag, ",") {
		name, isName := strings.CutPrefix(word, "name=")
		switch {
		case isName:
			p.Part = name
		case word == "append":
			appends = true
		case slices.Contains(ruleTags, Rule(word)):
			p.Merge = Rule(word)
		case word != "":
			b.problem("the field %s has the tag %q; known are append, %s, name=... and -", f.Name, word, ruleNames())
		}
	}
	if p.Part == "" || len(p.Part) > posthouse.MaxID || strings.HasPrefix(p.Part, "$") {
		b.problem("the field %s has the part name %.40q: 1 to %d bytes that do not begin with $", f.Name, p.Part, posthouse.MaxID)
	}
	for _, other := range b.Fields {
		if other.Part == p.Part {
			b.problem("the fields %s and %s are both the part %s: give one a name by `posthouse:\"name=...\"`", other.Name, f.Name, p.Part)
		}
	}
	if f.Type == b.Mean && p.Merge == Replace {
		p.Merge = Mean
	}
	if needs, ok := p.Merge.fits(f.Type, b.Mean); !ok {
		b.problem("the field %s is a %s and cannot be tagged %s, which needs %s", f.Name, f.Type, p.Merge, needs)
	}
	switch {
	case appends && p.Merge != Replace:
		b.problem("the field %s is tagged append and %s: an append part has its own way to merge", f.Name, p.Merge)
	case appends:
		b.appendRule(&p)
	case isFlat(f.Type):
		p.encoding = byBits
	}
	of := p.Type
	if p.encoding == byAppend {
		of = p.list.slice.Elem()
	}
	p.faithful = isFaithful(b.Codec, of)
	if b.Codec.Name() == posthouse.JSON.Name() { // another codec does not say what it cannot encode
		b.checkJSON(p.Name, p.Type, map[reflect.Type]bool{})
	}
	b.Fields = append(b.Fields, p)
}

func ruleNames() string {
	names := make([]string, len(ruleTags))
	for i, r := range ruleTags {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// Register takes merge functions, of fields by their Go names, and reports what is
// wrong with them.
func (p *Schema) Register(ms []Merger, problem func(format string, args ...any)) {
	for i := range ms {
		m := &ms[i]
		at := slices.IndexFunc(p.Fields, func(f Field) bool { return f.Name == m.Field })
		switch {
		case m.Func == nil:
			problem("the merge of field %s has no function", m.Field)
		case at < 0:
			problem("a merge function is given for the field %q, which the state does not have", m.Field)
		case p.Fields[at].Type != m.Type:
			problem("the merge of field %s takes a %s; the field is a %s", m.Field, m.Type, p.Fields[at].Type)
		case p.Fields[at].encoding == byAppend:
			problem("the field %s is an append part, which has its own way to merge", m.Field)
		case p.Fields[at].Merge != Replace:
			problem("the field %s is merged twice: by %s and by a function", m.Field, p.Fields[at].Merge)
		default:
			p.Fields[at].Merge, p.Fields[at].fn = Custom, m.Func
		}
	}
}

func (b *builder) appendRule(p *Field) {
	p.encoding, p.list.slice = byAppend, p.Type
	if p.list.inLog {
		p.list.slice = p.Type.Field(0).Type
	}
	switch {
	case p.list.slice.Kind() != reflect.Slice:
		b.problem("the field %s is a %s: only a slice or a graph.Log can be tagged append", p.Name, p.Type)
		p.encoding = byBytes
		return
	case p.list.slice.Elem().Kind() == reflect.Uint8:
		b.problem("the field %s is a %s, which is encoded as one text: it cannot be tagged append", p.Name, p.Type)
	case !p.list.inLog && encodesItself(p.Type):
		b.problem("the field %s is a %s, which encodes itself: its elements cannot be appended one by one", p.Name, p.Type)
	}
	p.list.deep = !isFlat(p.list.slice.Elem())
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

// isFlat reports whether the bits of a value say all of it. Text counts as such,
// since it cannot change in place.
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
func (b *builder) checkJSON(path string, t reflect.Type, seen map[reflect.Type]bool) {
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
		k := t.Key()
		plain := k.Kind() == reflect.String || k.Kind() >= reflect.Int && k.Kind() <= reflect.Uint64
		if !plain && (!k.Implements(typeText) || !reflect.PointerTo(k).Implements(typeTextOut)) {
			b.problem("%s is a %s, whose keys cannot be stored", path, t)
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
