package graph

import (
	"fmt"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// send encodes an input, so that it can be stored and every attempt of the task
// gets a value of its own.
func (a *topology[S]) send(what, from string, s *Send) (frontier.Target, error) {
	n := a.nodes[s.Node]
	switch {
	case n == nil:
		return frontier.Target{}, posthouse.Invalid("route", "the %s %q sends to %q, which is not a node of graph %q", what, from, s.Node, a.name)
	case n.input == nil:
		return frontier.Target{}, posthouse.Invalid("route", "the %s %q sends to %q, which takes no input: add it by graph.Task", what, from, s.Node)
	}
	if t := reflect.TypeOf(s.Input); t != n.input && !(n.input.Kind() == reflect.Interface && (t == nil || t.Implements(n.input))) {
		return frontier.Target{}, posthouse.Invalid("route", "the %s %q sends task %q a %v; it takes a %s", what, from, s.Node, t, n.input)
	}
	if s.Timeout < 0 || s.IdleTimeout < 0 {
		return frontier.Target{}, posthouse.Invalid("route", "the %s %q sends task %q a time limit that is negative", what, from, s.Node)
	}
	v, err := posthouse.Encode(a.codec, s.Input)
	if err != nil {
		return frontier.Target{}, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "route", Err: err,
			Message: fmt.Sprintf("the input that the %s %q sends to %q cannot be stored", what, from, s.Node),
		}
	}
	return frontier.Target{Node: s.Node, Input: &v, Timeout: s.Timeout, IdleTimeout: s.IdleTimeout}, nil
}

// A decoder reads what a task was sent into a pointer.
type decoder func(ptr any) error

// noInput is the decoder of a node that was sent nothing.
func noInput(any) error { return posthouse.Invalid("input", "was not sent") }

// received returns the decoder of a target's input.
func (a *topology[S]) received(t *frontier.Target) decoder {
	return func(ptr any) error {
		if err := state.Unmarshal(a.codec, *t.Input, ptr); err != nil {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "input", Err: err,
				Message: fmt.Sprintf("of task %q does not fit a %s", t.Node, reflect.TypeOf(ptr).Elem()),
				Hint:    "give the input the type it had when it was sent, or move the thread with UpdateOptions.Goto",
			}
		}
		return nil
	}
}
