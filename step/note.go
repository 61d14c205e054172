package step

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/handler"
)

// Note puts something about a step on record, beside its result: the model that it calls, its
// input, tokens and cost, a line for people. In the function of a step it goes on record with the
// result of that step, or with the failure of this attempt. Elsewhere in a program it is the
// program's own, and goes on record with what the program records next; in the handler of a task
// outside of a step it does so with the handler's verdict. It is
// never read by the program: a replay repeats no step, and so no note. A note that is not on record
// when a process dies is lost with what it was about.
//
// A later note adds to those before it. [posthouse.MaxNotes] and [posthouse.MaxNotesSize] bound
// them together.
//
// [posthouse.ErrInvalid] outside of any task, and for a value that cannot be on record,
// [posthouse.ErrTooLarge] over a limit: the error names the field, and nothing is noted.
// [posthouse.ErrClosed] once the step has ended. A program may pass over these errors.
func Note(ctx context.Context, n posthouse.Note) error {
	if h, ok := handler.From(ctx); ok {
		return h.Note(ctx, n)
	}
	t, err := engine.TaskOf(ctx, "note")
	if err != nil {
		return err
	}
	return t.Note(ctx, n)
}
