package graph

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Overwrite sets a field of a node's state to a value that stands whatever the
// rule of the field's part says: a max may fall, an append part may lose or
// change elements. field points to it, as in
//
//	err := graph.Overwrite(ctx, &s.Messages, s.Messages[len(s.Messages)-10:])
//
// What other nodes of the step wrote in the part does not count then. Two nodes
// that overwrite it with different values are a [MergeError]. The last call for
// a field counts, and so does what the node does to the field behind it.
//
// It is for the code of a node, which is given ctx, and not for goroutines beside
// each other. [posthouse.ErrInvalid] if field is no part of the state that the
// node was given, [posthouse.ErrClosed] once the node has returned.
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
