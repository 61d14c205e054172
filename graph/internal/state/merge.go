package state

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

// A Rule says what becomes of a part that one or more tasks of a step wrote. Tasks
// without an input began with the same base, which counts once; those that were sent
// an input began with nothing.
type Rule string

// The rules that a tag can name. An append part has its own.
const (
	Replace Rule = "replace" // two different values are an error
	Keys    Rule = "merge"   // a map, key by key
	Sum     Rule = "sum"
	Max     Rule = "max" // a base that was always zero does not count: the first write sets
	Min     Rule = "min"
	Mean    Rule = "avg" // of a Mean
	First   Rule = "first"
	Last    Rule = "last"
	Longest Rule = "longest"
	Set     Rule = "set"
	Custom  Rule = "function"
)

var ruleTags = []Rule{
	Replace, Keys, Sum, Max, Min, Mean, First, Last, Longest, Set,
}

// A Merger is a function that merges a field, for the rule Custom.
type Merger struct {
	Field string // the Go name
	Type  reflect.Type
	Func  func(base reflect.Value, writes []reflect.Value) (reflect.Value, error)
}

// A Conflict says that tasks of one step left values in a part that its rule does not merge.
type Conflict struct {
	Graph, Part string
	Key         string   // of a map with the rule merge; otherwise ""
	Nodes       []string // the tasks that disagree
	Err         error    // what a merge function returned; nil if two values differ
}

// differ is the error of two tasks that left different values.
type differ struct {
	key   string // of a map; otherwise ""
	tasks [2]string
}

func (d *differ) Error() string { return d.tasks[0] + " and " + d.tasks[1] + " left different values" }

// fits reports whether a rule can merge values of a type, and if not what it
// needs.
func (r Rule) fits(t, mean reflect.Type) (needs string, ok bool) {
	switch r {
	case Keys:
		return "a map", t.Kind() == reflect.Map
	case Sum:
		return "a number", isNumber(t)
	case Max, Min:
		return "a number, a text or a time.Time", isNumber(t) || t.Kind() == reflect.String || t == typeTime
	case Mean:
		return "a graph.Mean", t == mean
	case Longest:
		return "a text, a slice or a map", t.Kind() == reflect.String || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	case Set:
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
	over  bool          // it overrules the rule, see [Live.Overwrite]
}

// combine returns what becomes of a part. There is at least one write; absent says
// that the base was never on record.
func (f *Field) combine(base reflect.Value, absent bool, writes []written) (v reflect.Value, err error) {
	if len(writes) == 1 && !writes[0].empty && !f.Merge.reduces() {
		return writes[0].value, nil // exact: a sum of floats would not be
	}
	values := make([]reflect.Value, len(writes))
	for i := range writes {
		values[i] = writes[i].value
	}
	switch f.Merge {
	case First:
		if !base.IsZero() {
			return base, nil
		}
		return values[0], nil
	case Last:
		return values[len(values)-1], nil
	case Keys:
		return f.combineKeys(base, writes)
	case Sum:
		return sum(base, writes)
	case Mean:
		return combineMeans(base, writes), nil
	case Max, Min, Longest:
		return f.choose(base, absent, values), nil
	case Set:
		return union(base, values), nil
	case Custom:
		err = engine.Guard(func() error { v, err = f.fn(base, values); return err })
		return v, err
	}
	return f.agreed(writes)
}

// agreed returns the value that all writes have; it is an error if they differ.
func (f *Field) agreed(writes []written) (v reflect.Value, err error) {
	for i := range writes[1:] {
		if !reflect.DeepEqual(writes[0].value.Interface(), writes[i+1].value.Interface()) {
			return v, &differ{tasks: [2]string{writes[0].task, writes[i+1].task}}
		}
	}
	return writes[0].value, nil
}

// reduces reports whether the rule may change what a single task of a step wrote.
func (r Rule) reduces() bool {
	switch r {
	case First, Max, Min, Longest, Set, Custom:
		return true
	}
	return false
}

// combineKeys applies to the base what each task did to its keys.
func (f *Field) combineKeys(base reflect.Value, writes []written) (reflect.Value, error) {
	out := reflect.MakeMap(f.Type)
	for it := base.MapRange(); it.Next(); {
		out.SetMapIndex(it.Key(), it.Value())
	}
	by := map[any]written{}
	change := func(task string, k, v reflect.Value) error {
		key := k.Interface()
		if w, ok := by[key]; ok && (w.value.IsValid() != v.IsValid() || v.IsValid() && !reflect.DeepEqual(w.value.Interface(), v.Interface())) {
			return &differ{fmt.Sprint(key), [2]string{w.task, task}}
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

// A mean is Options.Mean as it is laid out.
type mean struct {
	sum   float64
	count int64
}

func meanOf(v reflect.Value) mean { return mean{v.Field(0).Float(), v.Field(1).Int()} }

// combineMeans adds to the base what each task added to it.
func combineMeans(base reflect.Value, writes []written) reflect.Value {
	m := meanOf(base)
	for _, w := range writes {
		x, b := meanOf(w.value), meanOf(w.base)
		m.sum, m.count = m.sum+x.sum-b.sum, m.count+x.count-b.count
	}
	out := reflect.New(base.Type()).Elem()
	out.Field(0).SetFloat(m.sum)
	out.Field(1).SetInt(m.count)
	return out
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
func (f *Field) choose(base reflect.Value, absent bool, values []reflect.Value) reflect.Value {
	best := base
	if f.Merge != Longest && absent {
		best = values[0] // nothing was there to compare with
	}
	for _, v := range values {
		c := compareValues(f.Merge, v, best)
		if f.Merge == Min && c < 0 || f.Merge != Min && c > 0 {
			best = v
		}
	}
	return best
}

func compareValues(r Rule, a, b reflect.Value) int {
	switch {
	case r == Longest:
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

// A Result is what a task of a step wrote.
type Result struct {
	Task   string // for messages
	Empty  bool   // it began with an empty state, since it was sent an input
	Writes []Write
}

// Merge merges what the tasks of a step wrote into the state. If a rule does not
// merge two writes, Options.Conflict makes the error.
func (l *Live) Merge(done []Result) error {
	for i := range l.parts {
		q := &l.parts[i]
		ws, err := q.writtenBy(done, l.schema.Codec)
		if err != nil {
			return err
		}
		if len(ws) == 0 {
			continue
		}
		if over := slices.DeleteFunc(slices.Clone(ws), func(w written) bool { return !w.over }); len(over) > 0 {
			v, err := q.agreed(over)
			if err != nil {
				return l.schema.conflict(q, over, err)
			}
			q.overwrite(v)
			continue
		}
		if q.encoding == byAppend {
			q.appended.fresh = q.appended.slice.Len()
			for _, w := range ws {
				q.appended.slice.Set(reflect.AppendSlice(q.appended.slice, w.value))
			}
			continue
		}
		v, err := q.combine(q.now, q.absent(), ws)
		if err != nil {
			return l.schema.conflict(q, ws, err)
		}
		q.now.Set(v)
	}
	return nil
}

func (q *part) writtenBy(done []Result, codec posthouse.Codec) (ws []written, err error) {
	for i := range done {
		r := &done[i]
		for j := range r.Writes {
			w := &r.Writes[j]
			if w.Field != q.Field {
				continue
			}
			v := reflect.New(q.Field.stored())
			if err := Unmarshal(codec, w.Value(), v.Interface()); err != nil {
				return nil, encodeError(q.Field, err)
			}
			base := q.now
			if r.Empty {
				base = reflect.Zero(q.Type)
			}
			ws = append(ws, written{r.Task, v.Elem(), base, r.Empty, w.Over})
		}
	}
	return ws, nil
}

// conflict returns the error of a merge of a part.
func (p *Schema) conflict(q *part, ws []written, err error) error {
	c := &Conflict{Graph: p.Graph, Part: q.Part}
	if d, ok := err.(*differ); ok {
		c.Key, c.Nodes = d.key, d.tasks[:]
		return p.Options.Conflict(c)
	}
	c.Err = err
	for _, w := range ws {
		c.Nodes = append(c.Nodes, w.task)
	}
	return p.Options.Conflict(c)
}
