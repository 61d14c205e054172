package worker

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
)

// Handle has fn handle the tasks of a name. The input is decoded from JSON, where one that
// does not fit fails the task for good; what fn returns completes the task, unless fn gave
// another verdict through t. An error fails the attempt ([Permanent], [RetryAfter]). If the task acts
// under a grant, its outcome is unknown then, unless the error says that nothing happened
// (gate.NotDone): people are asked before it runs again.
func Handle[In, Out any](w *Worker, name string, fn func(t Task, in In) (Out, error)) {
	w.HandleFunc(name, func(t Task) error {
		var in In
		if err := json.Unmarshal(t.Input(), &in); err != nil {
			return effect.MarkNotDone(Permanent(posthouse.Invalid("input", "of task %s does not fit a %s: %v", name, reflect.TypeFor[In](), err)))
		}
		out, err := fn(t, in)
		if err != nil {
			return err
		}
		b, err := json.Marshal(out) // as the type says, also of bytes: the caller reads the same type
		if err != nil {
			return posthouse.Invalid("output", "does not encode: %v", err)
		}
		if err := t.Complete(json.RawMessage(b)); !errors.Is(err, ErrSecondVerdict) {
			return err
		}
		return nil
	})
}

// Save keeps v as JSON for the next attempt or iteration; see [CheckpointTask].
func Save[T any](t CheckpointTask, v T) error {
	b, err := json.Marshal(v)
	if err != nil {
		return posthouse.Invalid("state", "does not encode: %v", err)
	}
	return t.Checkpoint(b)
}

// Load returns what [Save] kept last, and whether there was anything.
// [posthouse.ErrInvalid] for what does not fit a T.
func Load[T any](t CheckpointTask) (v T, ok bool, err error) {
	b, err := t.LoadCheckpoint()
	if err != nil || b == nil {
		return v, false, err
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, false, posthouse.Invalid("state", "does not fit a %s: %v", reflect.TypeFor[T](), err)
	}
	return v, true, nil
}
