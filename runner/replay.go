package runner

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A ReplayChecker is a program that knows what it would refuse to run. Graphs and flows are.
type ReplayChecker interface {
	// CheckReplay returns why a run that begins at a checkpoint would be refused before it
	// executes anything, nil if it would not. It writes nothing.
	CheckReplay(ctx context.Context, c *posthouse.Checkpoint) error
}

// A StateChecker is a program that knows the parts of its state. Graphs and flows are.
type StateChecker interface {
	// CheckState returns what is wrong with parts that somebody gives for the state of c.
	CheckState(c *posthouse.Checkpoint, changed posthouse.State) error
}

// CheckState returns what is wrong with parts that somebody gives for the state of a
// checkpoint: a part that its program does not know, or a value that does not fit. Of a
// program that is not one of this runner's nothing is known, so nothing is wrong.
func (r *Runner) CheckState(c *posthouse.Checkpoint, changed posthouse.State) error {
	check, ok := r.programs[c.Graph].(StateChecker)
	if !ok {
		return nil
	}
	return engine.Guard(func() error { return check.CheckState(c, changed) })
}

// KnowsState reports whether the program of a checkpoint is one of this runner's and knows the
// parts of its state. CheckState then judges them.
func (r *Runner) KnowsState(c *posthouse.Checkpoint) bool {
	_, ok := r.programs[c.Graph].(StateChecker)
	return ok
}

// CheckReplay returns why a run that begins at a checkpoint would be refused here: ask before
// you fork, so that a refused run leaves no branch. c may be the checkpoint that a fork would
// make. [posthouse.ErrUnsupported] if its program is not one of this runner's.
func (r *Runner) CheckReplay(ctx context.Context, c *posthouse.Checkpoint) error {
	p := r.programs[c.Graph]
	if p == nil {
		return r.foreign(c.Graph, c.Thread)
	}
	check, ok := p.(ReplayChecker)
	if !ok {
		return nil
	}
	return engine.Guard(func() error { return check.CheckReplay(ctx, c) })
}

func (r *Runner) foreign(program, thread string) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "program \"" + program + "\" of thread " + thread + " is not one that runs here",
		Hint: "resume it where the program is registered",
	}
}
