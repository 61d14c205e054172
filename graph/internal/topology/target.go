package topology

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph/internal/frontier"
	"github.com/posthouse/posthouse/graph/internal/state"
)

// Resolve checks where a route or command leads.
func (a *Graph) Resolve(what, from string, may, to []string, sends []Send) (ts []frontier.Target, err error) {
	allowed := func(name string) error {
		if len(may) > 0 && !slices.Contains(may, name) {
			return posthouse.Invalid("route", "the %s %q leads to %q, which is not among its targets", what, from, name)
		}
		return nil
	}
	for _, name := range to {
		name = a.Real(name)
		n, known := a.Nodes[name]
		switch {
		case !known && name != End:
			return nil, posthouse.Invalid("route", "the %s %q leads to %q, which is not a node of graph %q", what, from, name, a.Title)
		case known && n.Input != nil:
			return nil, posthouse.Invalid("route", "the %s %q leads to task %q without an input: send it one", what, from, name)
		}
		if err := allowed(name); err != nil {
			return nil, err
		}
		if len(to)+len(sends) == 1 {
			return a.To[name], nil
		}
		ts = append(ts, a.To[name]...)
	}
	for i := range sends {
		t, err := a.send(what, from, &sends[i])
		if err == nil {
			err = allowed(t.Node)
		}
		if err != nil {
			return nil, err
		}
		ts = append(ts, t)
	}
	return ts, nil
}

// A Send runs a task with an input of its own, see graph.Send.
type Send struct {
	Node        string
	Input       any
	Timeout     time.Duration
	IdleTimeout time.Duration
}

// send encodes an input. So it can be stored, and every attempt of the task gets a
// value of its own.
func (a *Graph) send(what, from string, s *Send) (frontier.Target, error) {
	n := a.Nodes[s.Node]
	switch {
	case n == nil:
		return frontier.Target{}, posthouse.Invalid("route", "the %s %q sends to %q, which is not a node of graph %q", what, from, s.Node, a.Title)
	case n.Input == nil:
		return frontier.Target{}, posthouse.Invalid("route", "the %s %q sends to %q, which takes no input: add it by graph.Task", what, from, s.Node)
	}
	if t := reflect.TypeOf(s.Input); t != n.Input && !(n.Input.Kind() == reflect.Interface && (t == nil || t.Implements(n.Input))) {
		return frontier.Target{}, posthouse.Invalid("route", "the %s %q sends task %q a %v; it takes a %s", what, from, s.Node, t, n.Input)
	}
	if s.Timeout < 0 || s.IdleTimeout < 0 {
		return frontier.Target{}, posthouse.Invalid("route", "the %s %q sends task %q a time limit that is negative", what, from, s.Node)
	}
	v, err := posthouse.Encode(a.Codec, s.Input)
	if err != nil {
		return frontier.Target{}, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "route", Err: err,
			Message: fmt.Sprintf("the input that the %s %q sends to %q cannot be stored", what, from, s.Node),
		}
	}
	return frontier.Target{Node: s.Node, Input: &v, Timeout: s.Timeout, IdleTimeout: s.IdleTimeout}, nil
}

// A Decoder reads what a task was sent into a pointer.
type Decoder func(ptr any) error

// NoInput is the decoder of a node that was sent nothing.
func NoInput(any) error { return posthouse.Invalid("input", "was not sent") }

// Received returns the decoder of a target's input.
func (a *Graph) Received(t *frontier.Target) Decoder {
	return func(ptr any) error {
		if err := state.Unmarshal(a.Codec, *t.Input, ptr); err != nil {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "input", Err: err,
				Message: fmt.Sprintf("of task %q does not fit a %s", t.Node, reflect.TypeOf(ptr).Elem()),
				Hint:    "give the input the type it had when it was sent, or move the thread with UpdateOptions.Goto",
			}
		}
		return nil
	}
}
