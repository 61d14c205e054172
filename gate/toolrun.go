package gate

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine"
)

// A toolRun is the run of a tool under the n-th answer to a call. A run after which the tool said that
// nothing happened leaves the answer to the next one.
type toolRun struct {
	task    *engine.Task
	tool    string
	n       uint32
	key     string
	attempt int // how many before it are on record as not done
}

// A runEnd is on record of a run that ended with an error.
type runEnd struct {
	NotDone bool   `json:"notDone,omitempty"` // the tool's word
	Error   string `json:"error,omitempty"`
}

// open finds the next run under the answer. If one has begun, and its tool did not say that nothing
// happened, the answer is used up: note says what became of it.
func (r *toolRun) open(ctx context.Context) (open bool, note string, err error) {
	for ; ; r.attempt++ {
		if _, begun := r.task.Records().Earlier(ctx, r.runs(), r.n, r.name()); !begun {
			return true, "", nil
		}
		if err := r.begin(ctx); err != nil { // counted among the calls of this execution
			return false, "", err
		}
		v, ended := r.task.Records().Earlier(ctx, r.ends(), r.n, r.name())
		if !ended {
			return false, "it may have been done: a run of it began, and how that ended is not known", nil
		}
		end, err := posthouse.Decode[runEnd](v)
		if err == nil {
			err = r.note(ctx, end)
		}
		if err != nil {
			return false, "", err
		}
		if !end.NotDone {
			return false, "it may have been done: a run of it ended with the error " + strconv.Quote(end.Error), nil
		}
	}
}

// begin puts on record that the run begins.
func (r *toolRun) begin(ctx context.Context) error {
	return r.record(ctx, r.runs(), posthouse.EffectHuman, true)
}

// ended puts on record with which error the run ended, and returns it.
func (r *toolRun) ended(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, posthouse.ErrWaiting) {
		return err // its result is on record with the step around it; what waits has not ended
	}
	return cmp.Or(r.note(context.WithoutCancel(ctx), runEnd{NotDone: effect.IsNotDone(err), Error: clip(err.Error())}), err)
}

// note is pure: a failed step within the tool is made again as if nothing was recorded after it.
func (r *toolRun) note(ctx context.Context, end runEnd) error {
	return r.record(ctx, r.ends(), posthouse.EffectPure, end)
}

func (r *toolRun) record(ctx context.Context, group string, class posthouse.Effect, v any) error {
	_, err := r.task.Records().Decided(ctx, group, r.n, r.name(), class, func(context.Context) (posthouse.Value, error) {
		return posthouse.Encode(nil, v)
	})
	return err
}

func (r *toolRun) runs() string { return "run:" + r.tool }
func (r *toolRun) ends() string { return "ran:" + r.tool }

// name tells the runs of a call apart.
func (r *toolRun) name() string {
	if r.attempt == 0 {
		return r.key
	}
	return r.key + "-" + strconv.Itoa(r.attempt)
}
