package flow

import (
	"context"
	"reflect"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/strictjson"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/runs"
)

// RunOptions refine one Run, Resume, Stream, Start or Replay. The zero value is
// useful.
type RunOptions struct {
	Branch string // default main; for Replay the new branch, default fork-1, fork-2, ...

	// Run: the caller's id of this execution, at most 200 bytes, which makes the call
	// idempotent. Default: a new id.
	Run string

	// By is who does this. Run and Replay: the checkpoint says so, and the run acts on
	// their behalf, also when it is resumed. Resume: the run acts for them during this
	// call; default: the input's sender.
	By string

	// Run: a label that groups threads, and is kept. Default: the thread's own id.
	Coordination string

	// Run: labels of the input's checkpoint, by which it is found and kept. At most 16;
	// keys and values have at most 200 bytes.
	Labels map[string]string

	// StartAt is when the run of an input starts; zero: at once. Until then the thread is on record
	// and waits, and the call returns that. The runner of any process starts it. See
	// [runs.CheckStartAt].
	StartAt time.Time

	// Withdraw says that the input may withdraw what people are asked on the branch, and what they
	// decided that has not been acted on. Without it such an input is refused:
	// [posthouse.ErrConflict], with Error.Gates.
	Withdraw bool

	Release *AutoRelease // when the run releases the thread; default Options.Release
	OnBusy  runs.OnBusy  // what to do when another run has the thread; default Reject

	// Wait is how long the call waits for a thread that another run has: with Reject before it fails
	// with [posthouse.ErrBusy], else at most, 0 being without end. A process that was just started
	// takes over from one that is gone if it waits as long as Error.Wait of that error says, a
	// little more than the lease. Default: not at all.
	Wait time.Duration

	Modes []runs.StreamMode // what a stream yields; default StreamValues
}

func (o *RunOptions) check(bool) (front.Invocation, error) {
	c := front.Invocation{Branch: o.Branch, Run: o.Run, By: o.By, OnBusy: o.OnBusy, Wait: o.Wait, Modes: o.Modes, Withdraw: o.Withdraw, StartAt: o.StartAt}
	return c, posthouse.CheckPerson("By", o.By)
}

// Run gives the thread an input and executes the function until it is done or
// parks. The input is on record before the function begins. A thread that has
// ended, failed or waits begins a new execution; what it waited for is cancelled. Where
// people are asked it is refused, unless RunOptions.Withdraw is set.
//
// Where RunOptions.Run names an execution that the branch has already, nothing new
// begins. The newest execution goes on as by [App.Resume]. While another caller runs it,
// Run returns the status running; with OnBusy other than Reject it waits for a run of
// this process. Of an earlier execution it returns the last checkpoint. So a request
// that is sent twice is executed once, and acts for its first sender. With another input
// it is [posthouse.ErrExists].
//
// A run that waits or was cancelled returns no error: see Result.Status. Errors are an
// [Error] (the function failed; the thread can be resumed), [posthouse.ErrBusy] while
// another execution of the thread runs, ctx's error when it ends (the thread can be
// resumed, steps that are done stay done), or the Ledger's: then nothing after the last
// checkpoint or step happened.
func (a *App[In, Out]) Run(ctx context.Context, thread string, in In, o ...RunOptions) (*Result[Out], error) {
	return a.front.Run(ctx, thread, &in, o)
}

// Resume executes the function again, after an answer, a failure or the end of a process.
// Steps on record are not run again. A thread that is done or cancelled returns its
// result; one with open waits keeps waiting. It fails with [posthouse.ErrNotFound] for an
// unknown thread; other errors are those of [App.Run].
func (a *App[In, Out]) Resume(ctx context.Context, thread string, o ...RunOptions) (*Result[Out], error) {
	return a.front.Run(ctx, thread, nil, o)
}

var _ posthouse.Program = (*App[struct{}, struct{}])(nil)

// Advance is Resume for a runner, which knows a [posthouse.Program] only.
func (a *App[In, Out]) Advance(ctx context.Context, thread, branch string) error {
	_, err := a.Resume(ctx, thread, RunOptions{Branch: branch})
	return err
}

// Replay executes the function again from a past checkpoint, on a new branch. Later
// checkpoints stay where they are. Steps recorded after the checkpoint run again;
// questions that were open at it are asked again under new ids.
func (a *App[In, Out]) Replay(ctx context.Context, checkpoint posthouse.ID, o ...RunOptions) (*Result[Out], error) {
	return a.front.Replay(ctx, checkpoint, o)
}

// CheckReplay returns why Replay of a checkpoint would be refused before it runs anything, nil
// if it would not. Servers ask before they fork. It writes nothing.
func (a *App[In, Out]) CheckReplay(ctx context.Context, c *posthouse.Checkpoint) error {
	return a.front.CheckReplay(ctx, c)
}

// CheckState returns what is wrong with parts that somebody gives for the state of a
// checkpoint: a part other than input and output, or a value that does not fit its type.
// Servers ask before they fork.
func (a *App[In, Out]) CheckState(_ *posthouse.Checkpoint, changed posthouse.State) error {
	for name, v := range changed {
		t := reflect.TypeFor[In]()
		switch name {
		case partInput:
		case partOutput:
			t = reflect.TypeFor[Out]()
		default:
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "is no part of the state; there is input, output", Hint: "give one of these parts"}
		}
		if v.Codec != posthouse.JSON.Name() {
			continue
		}
		if path, reason := strictjson.Fit(v.Data, t); reason != "" {
			if path != "" && path[0] != '[' {
				path = "." + path
			}
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: name + path, Message: reason, Hint: "the part is " + strictjson.Describe(t)}
		}
	}
	return nil
}
