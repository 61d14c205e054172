package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// fingerprint is a short stable hash of the graph's shape: its nodes, what they
// are sent, where they lead, and the parts of its state with their types. The
// order in which they were added does not count, nor does what the functions
// do.
func fingerprint[S any](a *App[S]) string {
	lines := []string{"start " + leads(a.start), "codec " + a.codec.Name()}
	for _, n := range a.order {
		line := "node " + marked(n.name) + " " + leads(n.ways)
		if n.sub != nil {
			line += n.sub.shape()
		}
		lines = append(lines, line)
		if n.join != nil {
			lines = append(lines, "join "+marked(n.name)+" "+strings.Join(slices.Sorted(slices.Values(each(n.join.from, marked))), "|"))
		}
		if n.input != nil {
			lines = append(lines, "input "+marked(n.name)+" "+shape(n.input, nil))
		}
		if n.opt.Defer {
			lines = append(lines, "defer "+marked(n.name))
		}
	}
	for i := range a.plan.fields {
		f := &a.plan.fields[i]
		kind := shape(f.valueType(), nil)
		if f.rule == byTail {
			kind = "append " + kind
		}
		if f.merge != mergeReplace {
			kind += " " + string(f.merge)
		}
		lines = append(lines, "part "+f.part+" "+kind)
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, l := range lines {
		fmt.Fprintf(h, "%d:%s", len(l), l)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// marked quotes a name that could be taken for more than one word.
func marked(name string) string {
	if posthouse.ID(name).Validate() == nil {
		return name
	}
	return strconv.Quote(name)
}

// shape describes what a type's encoding holds. Names of types do not count,
// but of those that encode themselves.
func shape(t reflect.Type, outer []reflect.Type) string {
	if i := slices.Index(outer, t); i >= 0 {
		return fmt.Sprint("^", len(outer)-i)
	}
	if encodesItself(t) {
		return t.String()
	}
	in := append(outer, t)
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + shape(t.Elem(), in)
	case reflect.Slice:
		return "[]" + shape(t.Elem(), in)
	case reflect.Array:
		return fmt.Sprint("[", t.Len(), "]", shape(t.Elem(), in))
	case reflect.Map:
		return "map[" + shape(t.Key(), in) + "]" + shape(t.Elem(), in)
	case reflect.Struct:
		var fields []string
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() || f.Anonymous {
				fields = append(fields, f.Name+" "+shape(f.Type, in)+" "+f.Tag.Get("json"))
			}
		}
		return "{" + strings.Join(fields, ";") + "}"
	}
	return t.Kind().String()
}
