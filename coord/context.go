package coord

import (
	"context"

	"github.com/posthouse/posthouse"
)

type contextKey struct{}

// A frame is the place in a run that a context belongs to.
type frame struct {
	run   *run
	agent string       // the agent being called, "" in the handler
	cause posthouse.ID // the event that what happens now follows from

	done *completion // only in the context of the Record that may checkpoint it
}

// A completion is an agent's result that is not on record yet. It goes into the entry of
// the checkpoint that its event becomes, or into the next one.
type completion struct {
	step  posthouse.Step
	fail  bool // the agent failed: recorded only if the handler goes on
	taken bool
}

func (f *frame) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, f)
}

func frameFrom(ctx context.Context) *frame {
	f, _ := ctx.Value(contextKey{}).(*frame)
	return f
}

// handlerFrame is frameFrom, with an error outside of a coordinator.
func handlerFrame(ctx context.Context) (*frame, error) {
	if f := frameFrom(ctx); f != nil {
		return f, nil
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "ctx", Message: "is not from a coordinator's handler or an agent it called",
		Hint: "pass on the ctx that the handler was given",
	}
}
