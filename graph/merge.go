package graph

import (
	"context"
	"fmt"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/state"
	"github.com/posthouse/posthouse/internal/engine"
)

// Merge sets the function that merges a field of the state, given by its Go name. fn is
// called if one or more of a step's tasks wrote the field. base is what they began
// with, writes is what each left, in the order of the tasks, without those that did not
// change it. T is the field's type. fn must depend on nothing else; an error fails the
// run with a [MergeError]. It is called for one write as for many, so that a result does
// not depend on which nodes run beside each other; see [Overwrite].
func Merge[S, T any](g *Graph[S], field string, fn func(base T, writes []T) (T, error)) {
	m := state.Merger{Field: field, Type: reflect.TypeFor[T]()}
	if fn != nil {
		m.Func = func(base reflect.Value, writes []reflect.Value) (reflect.Value, error) {
			in := make([]T, len(writes))
			for i, w := range writes {
				in[i], _ = w.Interface().(T) // T may be an interface, and the value nil
			}
			before, _ := base.Interface().(T)
			out, err := fn(before, in)
			return reflect.ValueOf(&out).Elem(), err
		}
	}
	g.merges = append(g.merges, m)
}

// branchOf returns the state that a task works on beside others. It is empty for a task
// that was sent an input.
func branchOf(live *state.Live, schema *state.Schema, t *task) (*state.Live, error) {
	if t.Input != nil {
		return state.New(schema), nil
	}
	return live.Branch()
}

// Overwrite sets a field of a node's state, whatever the rule of the field's part says.
// A max may fall, an append part may lose or change elements. field points to it, as in
//
//	err := graph.Overwrite(ctx, &s.Messages, s.Messages[len(s.Messages)-10:])
//
// Writes of other nodes of the step to the part do not count then. Two nodes that
// overwrite it with different values are a [MergeError]. The last call for a field
// counts, and so do the node's later changes to the field.
//
// It is for the code of a node, which is given ctx, and must not be called by several
// goroutines at once. [posthouse.ErrInvalid] if field is not a part of the state that
// the node was given, [posthouse.ErrClosed] once the node has returned.
func Overwrite[T any](ctx context.Context, field *T, value T) error {
	t, _ := engine.From(ctx)
	var o overwriter
	if t != nil {
		o, _ = t.Local().(overwriter)
	}
	switch {
	case t != nil && t.Closed():
		return &posthouse.Error{
			Code: posthouse.CodeClosed, Message: "an overwrite came after " + t.Key() + " had returned or was given up",
			Hint: "wait for goroutines before the node returns, and stop when its context ends",
		}
	case o == nil:
		return posthouse.Invalid("ctx", "is not of a node: Overwrite is for the code of a node of a graph")
	case !o.Overwrite(field):
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "field", Message: fmt.Sprintf("a %T does not point to a part of the state of %s", field, t.Key()),
			Hint: "point to a field of the state that the node was given, as in &s.Messages, which is a part of its own",
		}
	}
	*field = value
	return nil
}

// An overwriter is the state of a node that runs.
type overwriter interface {
	Overwrite(field any) bool // false: there is no such part
}

// A Mean is a running average. Values that parallel tasks add are merged exactly,
// each once. The zero Mean is empty.
type Mean struct {
	Sum   float64 `json:"sum"`
	Count int64   `json:"count"`
}

// Add adds a value.
func (m *Mean) Add(v float64) { m.Sum, m.Count = m.Sum+v, m.Count+1 }

// Value returns the average, 0 of nothing.
func (m Mean) Value() float64 {
	if m.Count == 0 {
		return 0
	}
	return m.Sum / float64(m.Count)
}
