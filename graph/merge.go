package graph

import (
	"reflect"

	"github.com/posthouse/posthouse/graph/internal/state"
)

// Merge has fn merge a field of the state, given by its Go name, that one or
// more of a step's tasks wrote: base is what they began with, writes is what
// each left, in the order of the tasks, those that did not change it left out.
// T is the field's type. fn must depend on nothing else; an error fails the run
// with a [MergeError]. It is called for one write as for many, so that a result
// does not depend on which nodes run beside each other; see [Overwrite].
func Merge[S, T any](g *Graph[S], field string, fn func(base T, writes []T) (T, error)) {
	m := state.Merger{Field: field, Type: reflect.TypeFor[T]()}
	if fn != nil {
		m.Func = func(base reflect.Value, writes []reflect.Value) (reflect.Value, error) {
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

// mergeError returns the error of merging what tasks of a graph wrote.
func mergeError(graph string, err error) error {
	if c, ok := err.(*state.Conflict); ok {
		return &MergeError{Graph: graph, Part: c.Part, Key: c.Key, Nodes: c.Tasks, Err: c.Err}
	}
	return err
}

// merge merges what the tasks of a step wrote into a state. names, if not nil, are
// what the tasks are called.
func merge[S any](into *state.Live[S], graph string, done []*outcome[S], names []string) error {
	results := make([]state.Result, len(done))
	for i, o := range done {
		results[i] = state.Result{Task: o.task.title(), Empty: o.task.Input != nil, Writes: o.writes}
		if names != nil {
			results[i].Task = names[i]
		}
	}
	return mergeError(graph, into.Merge(results))
}

// branchOf returns the state that a task of a step with others works on: one of
// its own, which is empty if it was sent an input.
func branchOf[S any](live *state.Live[S], schema *state.Schema, t *task[S]) (*state.Live[S], error) {
	if t.Input != nil {
		return state.New[S](schema), nil
	}
	return live.Branch()
}
