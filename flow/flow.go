package flow

import (
	"cmp"
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A Func is a flow's function. It is executed again from its top whenever the
// thread is resumed. Recorded steps, waits and questions return at once, so it must call
// them in the same order each time.
//
// It returns its output when it is done, an error that wraps
// [posthouse.ErrWaiting] (from gate.Ask, step.Sleep and the like) to park, and
// any other error when it failed.
type Func[In, Out any] func(ctx context.Context, in In) (Out, error)

// A Flow is a named function that can be run over threads.
type Flow[In, Out any] struct {
	name string
	fn   Func[In, Out]
}

// New returns a flow. The name is one of [posthouse.ValidateName]; threads
// remember it. [Flow.Open] says what is wrong with it.
func New[In, Out any](name string, fn Func[In, Out]) *Flow[In, Out] {
	return &Flow[In, Out]{name: name, fn: fn}
}

// Options refine an App. Nil is the zero value.
type Options struct {
	// FewCheckpoints makes no checkpoints of steps: only the input, waits, failures and
	// the end make one. The results of steps are recorded all the same.
	FewCheckpoints bool

	// HoldFor is how long the run itself waits for a sleep or a retry. A later one parks
	// the thread. Default 10 s; negative: not at all.
	HoldFor time.Duration

	Codec   posthouse.Codec // of input and output; default [posthouse.JSON]
	Release AutoRelease     // when a run releases its thread; default never

	// Retry and Timeout, of one attempt, are those of steps that say nothing themselves
	// (step.Options). Steps within steps have neither. Default: one attempt, without a
	// limit.
	Retry   posthouse.RetryPolicy
	RetryOn func(error) bool
	Timeout time.Duration

	Description string          // for people, in lists of programs: what the flow does
	Questions   []runs.Question // that the flow says it asks, for the same lists; default: no questions
}

// DefaultHoldFor stands for Options.HoldFor where it is zero.
const DefaultHoldFor = 10 * time.Second

// Open binds the flow to a Ledger. [posthouse.ErrInvalid].
func (f *Flow[In, Out]) Open(led *ledger.Ledger, o *Options) (*App[In, Out], error) {
	if o == nil {
		o = &Options{}
	}
	if err := posthouse.ValidateName("name", f.name); err != nil {
		return nil, err
	}
	switch {
	case f.fn == nil:
		return nil, posthouse.Invalid("fn", "of flow %q is nil", f.name)
	case led == nil:
		return nil, posthouse.Invalid("ledger", "is required")
	case o.Timeout < 0:
		return nil, posthouse.Invalid("Timeout", "of flow %q is negative", f.name)
	}
	retry := engine.Retry{RetryPolicy: o.Retry, On: o.RetryOn}
	if p := retry.Validate(); p != "" {
		return nil, posthouse.Invalid("Retry", "of flow %q: %s", f.name, p)
	}
	if err := front.CheckQuestions(o.Questions); err != nil {
		return nil, err
	}
	a := &App[In, Out]{ledger: led, name: f.name, node: posthouse.EscapeName(f.name), fn: f.fn, few: o.FewCheckpoints, codec: o.Codec, release: o.Release}
	if a.codec == nil {
		a.codec = posthouse.JSON
	}
	a.steps = engine.StepDefaults{Retry: retry, Timeout: o.Timeout}
	a.about = posthouse.ProgramInfo{Name: f.name, Kind: posthouse.ProgramFlow, Starts: true, Description: o.Description, Questions: front.Questions(o.Questions)}
	a.front = &front.Front[RunOptions, In, Result[Out], Snapshot[In, Out]]{
		Ledger: led, Kind: "flow", Name: f.name, Instance: string(led.Core().NewID()), Hold: max(0, cmp.Or(o.HoldFor, DefaultHoldFor)),
		Check: (*RunOptions).check, NewRun: a.newRun, Snapshot: a.snapshot, Fits: a.fits, End: a.reportEnd, Elsewhere: a.runningElsewhere,
		Status: func(res *Result[Out]) posthouse.Status { return res.Status },
	}
	return a, nil
}

// An App is a flow on a Ledger. It is safe for concurrent use, and holds
// nothing of a thread between calls. Where a method takes the name of a thread,
// "" is [posthouse.DefaultThread].
type App[In, Out any] struct {
	front   *front.Front[RunOptions, In, Result[Out], Snapshot[In, Out]]
	ledger  *ledger.Ledger
	name    string
	node    string // the name as checkpoints have it
	fn      Func[In, Out]
	few     bool
	codec   posthouse.Codec
	steps   engine.StepDefaults
	release AutoRelease
	about   posthouse.ProgramInfo
}

// Name returns the flow's name: what threads say they are run by.
func (a *App[In, Out]) Name() string { return a.name }

// Names of the parts of a thread's state.
const (
	partInput  = "input"
	partOutput = "output"
)

// A Result is where an execution of the function parked or ended.
type Result[Out any] struct {
	Output     Out // what the function returned, if Status is done
	Thread     string
	Branch     string
	Run        string
	Checkpoint posthouse.ID // the branch's head; "" before the first

	// Status is done, waiting or cancelled; running if it was asked to drain, or another
	// caller runs it; ready, failed or interrupted where it was not resumed.
	Status  posthouse.Status
	Waiting []posthouse.Gate // what it waits for, if Status is waiting
	Error   string           // why it failed, if Status is failed

	// Note says which question was open when the function returned an output, and that the
	// output is dropped: no question is passed undecided. Otherwise "".
	Note string

	Release *posthouse.Release // that the run made of the thread at its end, see [AutoRelease]; otherwise nil
}
