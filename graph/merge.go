package graph

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A mergeRule says what becomes of a part that the tasks of a step wrote, be they
// one or many. Those that are not sent an input began with the same base, which
// counts once; the others began with nothing.
type mergeRule string

// The rules that a tag can name. An append part has its own.
const (
	mergeReplace mergeRule = "replace" // two different values are an error
	mergeKeys    mergeRule = "merge"   // a map, key by key
	mergeSum     mergeRule = "sum"
	mergeMax     mergeRule = "max" // a base that was never anything but zero is none: the first write sets
	mergeMin     mergeRule = "min"
	mergeMean    mergeRule = "avg" // of a Mean
	mergeFirst   mergeRule = "first"
	mergeLast    mergeRule = "last"
	mergeLongest mergeRule = "longest"
	mergeSet     mergeRule = "set"
	mergeCustom  mergeRule = "function"
)

var mergeRules = []mergeRule{
	mergeReplace, mergeKeys, mergeSum, mergeMax, mergeMin, mergeMean, mergeFirst, mergeLast, mergeLongest, mergeSet,
}

// A merger is a function registered by [Merge].
type merger struct {
	field string
	typ   reflect.Type
	fn    func(base reflect.Value, writes []reflect.Value) (reflect.Value, error)
}

// Merge has fn merge a field of the state, given by its Go name, that one or
// more of a step's tasks wrote: base is what they began with, writes is what
// each left, in the order of the tasks, those that did not change it left out.
// T is the field's type. fn must depend on nothing else; an error fails the run
// with a [MergeError]. It is called for one write as for many, so that a result
// does not depend on which nodes run beside each other; see [Overwrite].
func Merge[S, T any](g *Graph[S], field string, fn func(base T, writes []T) (T, error)) {
	m := merger{field: field, typ: reflect.TypeFor[T]()}
	if fn != nil {
		m.fn = func(base reflect.Value, writes []reflect.Value) (reflect.Value, error) {
			in := make([]T, len(writes))
			for i, w := range writes {
				in[i], _ = w.Interface().(T) // not of a nil interface, which T may be
			}
			before, _ := base.Interface().(T)
			out, err := fn(before, in)
			return reflect.ValueOf(&out).Elem(), err
		}
	}
	g.merges = append(g.merges, m)
}

// fits reports whether a rule can merge values of a type, and if not what it
// needs.
func (r mergeRule) fits(t reflect.Type) (needs string, ok bool) {
	switch r {
	case mergeKeys:
		return "a map", t.Kind() == reflect.Map
	case mergeSum:
		return "a number", isNumber(t)
	case mergeMax, mergeMin:
		return "a number, a text or a time.Time", isNumber(t) || t.Kind() == reflect.String || t == typeTime
	case mergeMean:
		return "a graph.Mean", t == reflect.TypeFor[Mean]()
	case mergeLongest:
		return "a text, a slice or a map", t.Kind() == reflect.String || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	case mergeSet:
		return "a slice, or a map whose values say nothing (bool or struct{})",
			t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 ||
				t.Kind() == reflect.Map && (t.Elem().Kind() == reflect.Bool || t.Elem().Kind() == reflect.Struct && t.Elem().NumField() == 0)
	}
	return "", true
}

func isNumber(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 }

// A written value is what one task left in a part.
type written struct {
	task  string // for messages
	value reflect.Value
	base  reflect.Value // what the task began with
	empty bool          // it began with nothing
	over  bool          // it overrules the rule, see [Overwrite]
}

// combine returns what becomes of a part. writes is not empty, and
// absent says that the base was never on record.
func (f *field) combine(base reflect.Value, absent bool, writes []written) (v reflect.Value, err error) {
	if len(writes) == 1 && !writes[0].empty && !f.merge.weighs() {
		return writes[0].value, nil // exact: a sum of floats would not be
	}
	values := make([]reflect.Value, len(writes))
	for i := range writes {
		values[i] = writes[i].value
	}
	switch f.merge {
	case mergeFirst:
		if !base.IsZero() {
			return base, nil
		}
		return values[0], nil
	case mergeLast:
		return values[len(values)-1], nil
	case mergeKeys:
		return f.combineKeys(base, writes)
	case mergeSum:
		return sum(base, writes)
	case mergeMean:
		m := base.Interface().(Mean)
		for _, w := range writes {
			x, b := w.value.Interface().(Mean), w.base.Interface().(Mean)
			m.Sum, m.Count = m.Sum+x.Sum-b.Sum, m.Count+x.Count-b.Count
		}
		return reflect.ValueOf(m), nil
	case mergeMax, mergeMin, mergeLongest:
		return f.choose(base, absent, values), nil
	case mergeSet:
		return union(base, values), nil
	case mergeCustom:
		err = engine.Guard(func() error { v, err = f.fn(base, values); return err })
		if err != nil {
			return v, &MergeError{Part: f.part, Nodes: tasksOf(writes), Err: err}
		}
		return v, nil
	}
	return f.agreed(writes)
}

// agreed returns the value that all writes have; it is an error if they differ.
func (f *field) agreed(writes []written) (v reflect.Value, err error) {
	for i := range writes[1:] {
		if !reflect.DeepEqual(writes[0].value.Interface(), writes[i+1].value.Interface()) {
			return v, &MergeError{Part: f.part, Nodes: []string{writes[0].task, writes[i+1].task}}
		}
	}
	return writes[0].value, nil
}

// weighs reports whether the rule may leave something else than what a node
// wrote that is alone in its step.
func (r mergeRule) weighs() bool {
	switch r {
	case mergeFirst, mergeMax, mergeMin, mergeLongest, mergeSet, mergeCustom:
		return true
	}
	return false
}

func tasksOf(writes []written) []string {
	names := make([]string, len(writes))
	for i := range writes {
		names[i] = writes[i].task
	}
	return names
}

// combineKeys applies to the base what each task did to its keys.
func (f *field) combineKeys(base reflect.Value, writes []written) (reflect.Value, error) {
	out := reflect.MakeMap(f.typ)
	for it := base.MapRange(); it.Next(); {
		out.SetMapIndex(it.Key(), it.Value())
	}
	by := map[any]written{}
	change := func(task string, k, v reflect.Value) error {
		key := k.Interface()
		if w, ok := by[key]; ok && (w.value.IsValid() != v.IsValid() || v.IsValid() && !reflect.DeepEqual(w.value.Interface(), v.Interface())) {
			return &MergeError{Part: f.part, Key: fmt.Sprint(key), Nodes: []string{w.task, task}}
		}
		by[key] = written{task: task, value: v}
		out.SetMapIndex(k, v) // an invalid value deletes
		return nil
	}
	for _, w := range writes {
		for it := w.value.MapRange(); it.Next(); {
			if b := w.base.MapIndex(it.Key()); b.IsValid() && reflect.DeepEqual(b.Interface(), it.Value().Interface()) {
				continue
			}
			if err := change(w.task, it.Key(), it.Value()); err != nil {
				return out, err
			}
		}
		for it := w.base.MapRange(); it.Next(); {
			if w.value.MapIndex(it.Key()).IsValid() {
				continue
			}
			if err := change(w.task, it.Key(), reflect.Value{}); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// sum adds to the base what each task added to it.
func sum(base reflect.Value, writes []written) (reflect.Value, error) {
	out := reflect.New(base.Type()).Elem()
	over := func() error { return fmt.Errorf("the sum does not fit a %s", base.Type()) }
	switch {
	case base.CanInt():
		n := base.Int()
		for _, w := range writes {
			d := w.value.Int() - w.base.Int()
			m := n + d
			if (d > 0) != (m > n) && d != 0 || out.OverflowInt(m) {
				return out, over()
			}
			n = m
		}
		out.SetInt(n)
	case base.CanUint():
		n := base.Uint()
		for _, w := range writes {
			v, b := w.value.Uint(), w.base.Uint()
			m := n + (v - b)
			if (v > b) != (m > n) && v != b || out.OverflowUint(m) {
				return out, over()
			}
			n = m
		}
		out.SetUint(n)
	default:
		n := base.Float()
		for _, w := range writes {
			n += w.value.Float() - w.base.Float()
		}
		out.SetFloat(n)
	}
	return out, nil
}

// choose returns the greatest, least or longest of the base and the values; of
// equal ones the first.
func (f *field) choose(base reflect.Value, absent bool, values []reflect.Value) reflect.Value {
	best := base
	if f.merge != mergeLongest && absent {
		best = values[0] // nothing was there to compare with
	}
	for _, v := range values {
		c := compareValues(f.merge, v, best)
		if f.merge == mergeMin && c < 0 || f.merge != mergeMin && c > 0 {
			best = v
		}
	}
	return best
}

func compareValues(r mergeRule, a, b reflect.Value) int {
	switch {
	case r == mergeLongest:
		return cmp.Compare(a.Len(), b.Len())
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	case a.Kind() == reflect.String:
		return strings.Compare(a.String(), b.String())
	}
	return a.Interface().(time.Time).Compare(b.Interface().(time.Time))
}

// union returns the base with every element that it lacks, in order.
func union(base reflect.Value, values []reflect.Value) reflect.Value {
	if base.Kind() == reflect.Map {
		out := reflect.MakeMap(base.Type())
		for _, m := range append([]reflect.Value{base}, values...) {
			for it := m.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), it.Value())
			}
		}
		return out
	}
	out := reflect.MakeSlice(base.Type(), 0, base.Len())
	has := map[any]bool{}
	comparable := base.Type().Elem().Comparable()
	known := func(v reflect.Value) bool {
		if comparable && v.Comparable() {
			k := v.Interface()
			was := has[k]
			has[k] = true
			return was
		}
		for i := range out.Len() {
			if reflect.DeepEqual(out.Index(i).Interface(), v.Interface()) {
				return true
			}
		}
		return false
	}
	for _, s := range append([]reflect.Value{base}, values...) {
		for i := range s.Len() {
			if v := s.Index(i); !known(v) {
				out = reflect.Append(out, v)
			}
		}
	}
	return out
}

// A write is what a task left in one part, encoded: its whole value, or of an
// append part the new elements.
type write struct {
	field *field
	enc   []byte
	codec string
	over  bool // the whole value, which overrules the rule
}

// mergeAll merges what the tasks of a step wrote into the live state. names, if
// not nil, are what the tasks are called.
func (l *live[S]) mergeAll(a *App[S], done []*outcome[S], names []string) error {
	for i := range l.parts {
		q := &l.parts[i]
		ws, err := writtenIn(q, a.codec, done, names)
		if err != nil {
			return err
		}
		if len(ws) == 0 {
			continue
		}
		if over := slices.DeleteFunc(slices.Clone(ws), func(w written) bool { return !w.over }); len(over) > 0 {
			v, err := q.agreed(over)
			if err != nil {
				return q.failed(a.name, over, err)
			}
			q.overwrite(v)
			l.over = true
			continue
		}
		if q.rule == byTail {
			q.tail.fresh = q.tail.slice.Len()
			for _, w := range ws {
				q.tail.slice.Set(reflect.AppendSlice(q.tail.slice, w.value))
			}
			continue
		}
		v, err := q.combine(q.now, q.absent(), ws)
		if err != nil {
			return q.failed(a.name, ws, err)
		}
		q.now.Set(v)
	}
	return nil
}

// writtenIn decodes what the tasks of a step wrote in a part.
func writtenIn[S any](q *livePart, codec posthouse.Codec, done []*outcome[S], names []string) (ws []written, err error) {
	for j, o := range done {
		for _, w := range o.writes {
			if w.field != q.field {
				continue
			}
			v := reflect.New(q.valueType())
			if err := unmarshal(codec, posthouse.Value{Codec: w.codec, Data: w.enc}, v.Interface()); err != nil {
				return nil, encodeError(q.field, err)
			}
			base, empty := q.now, o.task.input != nil
			if empty {
				base = reflect.Zero(q.typ)
			}
			name := o.task.title()
			if names != nil {
				name = names[j]
			}
			ws = append(ws, written{name, v.Elem(), base, empty, w.over})
		}
	}
	return ws, nil
}

// failed returns the error of a merge of the part.
func (q *livePart) failed(graph string, ws []written, err error) error {
	if m, ok := err.(*MergeError); ok {
		m.Graph = graph
		return m
	}
	return &MergeError{Graph: graph, Part: q.part, Nodes: tasksOf(ws), Err: err}
}
