package front

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/engine/stream"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A Front runs the programs of a model for their callers: it claims threads, runs,
// resumes and replays them, and reads what is on record. O are the options of a
// call, In is a run's input, R its result, and C a checkpoint as the model shows it. A
// Front is made with its program and does not change.
type Front[O, In, R, C any] struct {
	Ledger   *ledger.Ledger
	Kind     string        // of the model, as in "graph"
	Name     string        // of the program: threads remember it
	Instance string        // see [posthouse.Gate.Instance]
	Hold     time.Duration // see [session.Options]

	Check    func(o *O, input bool) (Invocation, error)               // what options say, and whether they may
	NewRun   func(s *session.Session, o *O, h *stream.Hub) Run[In, R] // h is nil without a reader
	Snapshot func(c *posthouse.Checkpoint) (*C, error)                // a checkpoint as the model shows it
	Status   func(*R) posthouse.Status                                // of a result
	End      func(ctx context.Context, h *stream.Hub, res *R) error   // reports the end of a run to its reader; nil: the run does so itself

	// Fits returns why a run that begins at a past checkpoint would be refused before it
	// executes anything, nil if it would not.
	Fits func(ctx context.Context, c *posthouse.Checkpoint) error

	// Elsewhere returns the result of a run that another caller is executing under the
	// same id, or nil. Without it a second call with the id waits for the first.
	Elsewhere func(ctx context.Context, thread string, c *Invocation, in *In, busy error) (*R, error)
}

// An Invocation is what the options of all models have in common.
type Invocation struct {
	Branch string
	Run    string // an id of the caller's, which makes the call idempotent
	By     string
	OnBusy runs.OnBusy
	Wait   time.Duration // for the thread
	Modes  []runs.StreamMode

	StartAt time.Time // of an input: when its run starts; zero: at once

	// Withdraw lets an input withdraw a question that people are asked.
	Withdraw bool
}

// Check refuses what no model takes: [posthouse.ErrInvalid].
func (c *Invocation) Check(input bool) error {
	switch {
	case c.OnBusy > runs.Rollback:
		return posthouse.Invalid("OnBusy", "%d is unknown", c.OnBusy)
	case c.Wait < 0:
		return posthouse.Invalid("Wait", "is negative")
	case c.OnBusy > runs.Enqueue && !input:
		return posthouse.Invalid("OnBusy", "cancels another run only to take an input")
	case !c.StartAt.IsZero() && !input:
		return posthouse.Invalid("StartAt", "is of an input, and none is given")
	}
	for _, m := range c.Modes {
		if !slices.Contains(runs.StreamModes(), m) {
			return posthouse.Invalid("Modes", "has %q, which is not a stream mode", string(m))
		}
	}
	return nil
}

// A Run is one call over one branch, as its model runs it.
type Run[In, R any] interface {
	Start(ctx context.Context, in *In) (*R, error) // from a new input
	Resume(ctx context.Context) (*R, error)        // from the head

	Repeated(ctx context.Context, in *In) (*R, error) // the result of the run of this id; nil if the branch does not have it
	RollBack(ctx context.Context) error               // undoes the input of the run that this one displaced
	Cancelled(ctx context.Context) (*R, error)        // ends the branch, as somebody asked
	CancelledLate(ctx context.Context, h *posthouse.Header, parked *R) (*R, error)
	Release(ctx context.Context, res *R, failed error) error // releases the thread of the ended run, if its options say so
}

// Run gives a thread an input and runs it; without an input it resumes.
func (f *Front[O, In, R, C]) Run(ctx context.Context, thread string, in *In, o []O) (*R, error) {
	opt, err := engine.Optional(o)
	if err != nil {
		return nil, err
	}
	return f.Do(ctx, thread, &opt, nil, in)
}

// Do is Run with the hub of a reader; h may be nil.
func (f *Front[O, In, R, C]) Do(ctx context.Context, thread string, o *O, h *stream.Hub, in *In) (*R, error) {
	c, err := f.check(o, in != nil)
	if err != nil {
		return nil, err
	}
	s, err := f.openSession(ctx, thread, &c, in != nil, nil)
	if err == nil {
		return f.drive(ctx, s, f.NewRun(s, o, h), &c, in)
	}
	if f.Elsewhere != nil && in != nil && c.Run != "" && errors.Is(err, posthouse.ErrBusy) {
		if known, other := f.Elsewhere(ctx, cmp.Or(thread, posthouse.DefaultThread), &c, in, err); known != nil || other != nil {
			return known, other
		}
	}
	return nil, err
}

// options returns the checked options of a call.
func (f *Front[O, In, R, C]) options(o []O, input bool) (opt O, c Invocation, err error) {
	opt, err = engine.Optional(o)
	if err == nil {
		c, err = f.check(&opt, input)
	}
	return opt, c, err
}

func (f *Front[O, In, R, C]) check(o *O, input bool) (Invocation, error) {
	c, err := f.Check(o, input)
	if err == nil {
		err = c.Check(input)
	}
	if err == nil {
		err = runs.CheckStartAt("StartAt", c.StartAt, f.Ledger.Now())
	}
	return c, err
}

// CheckReplay returns why a run that begins at a checkpoint would be refused, nil if it would
// not. A refused run is not to leave a branch.
func (f *Front[O, In, R, C]) CheckReplay(ctx context.Context, c *posthouse.Checkpoint) error {
	if err := f.Owns(&c.Header); err != nil || f.Fits == nil {
		return err
	}
	return f.Fits(ctx, c)
}

// Replay runs again from a past checkpoint, on a new branch. A replay that is refused makes no
// branch.
func (f *Front[O, In, R, C]) Replay(ctx context.Context, checkpoint posthouse.ID, o []O) (*R, error) {
	opt, c, err := f.options(o, false)
	if err != nil {
		return nil, err
	}
	source, err := f.Ledger.Get(ctx, checkpoint)
	if err != nil {
		return nil, err
	}
	if err := f.CheckReplay(ctx, source); err != nil {
		return nil, err
	}
	branch := c.Branch
	c.Branch = source.Branch
	s, err := f.openSession(ctx, source.Thread, &c, false, nil) // first, so that a thread that is busy gets no branch
	if err != nil {
		return nil, err
	}
	if _, err := s.Fork(ctx, checkpoint, &ledger.ForkOptions{Branch: branch, By: c.By}); err != nil {
		return nil, errors.Join(err, s.End(ctx))
	}
	return f.drive(ctx, s, f.NewRun(s, &opt, nil), &c, nil)
}

// openSession claims the thread. place may be nil.
func (f *Front[O, In, R, C]) openSession(ctx context.Context, thread string, c *Invocation, input bool, place *ledger.Ticket) (*session.Session, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s, err := session.Begin(ctx, f.Ledger, session.Options{
		Thread: cmp.Or(thread, posthouse.DefaultThread), Branch: c.Branch, Run: c.Run, By: c.By, Hold: f.Hold, Instance: f.Instance,
		OnBusy: c.OnBusy, Wait: c.Wait, Place: place, NewInput: input, StartAt: c.StartAt,
		Join: input && c.Run != "" && (f.Elsewhere == nil || place != nil || c.OnBusy != runs.Reject),
	})
	if err != nil {
		return nil, err
	}
	if h := s.Head(); h != nil {
		if err := f.Owns(h); err != nil {
			return nil, errors.Join(err, s.End(ctx))
		}
	}
	return s, nil
}

// drive runs one call under its lease. It ends the branch if somebody asks to cancel it.
func (f *Front[O, In, R, C]) drive(ctx context.Context, s *session.Session, r Run[In, R], c *Invocation, in *In) (*R, error) {
	defer s.End(ctx) // for a panic of a codec or an observer
	inner, free := s.Cancellation().Context(ctx)
	var over func(error)
	if f.Ledger.Core().Config.Tracer != nil {
		inner, over = f.traced(inner, s, in == nil)
	}
	res, err := start(inner, s, r, c, in)
	if over != nil {
		over(err)
	}
	free()
	if err != nil && s.Cancellation().Asked() && (s.Err() == nil || errors.Is(s.Err(), posthouse.ErrCancelled)) {
		res, err = r.Cancelled(ctx)
	}
	if e := r.Release(ctx, res, err); e != nil {
		err = errors.Join(err, e)
	}
	if end := s.End(ctx); end != nil {
		return nil, errors.Join(err, end)
	}
	if !s.Cancellation().Asked() || res != nil && isOver(f.Status(res)) {
		return res, err
	}
	h, e := s.Cancellation().FinishLate(ctx)
	switch {
	case e != nil:
		return nil, errors.Join(err, e)
	case h != nil && res != nil && h.Status == posthouse.StatusCancelled:
		return r.CancelledLate(context.WithoutCancel(ctx), h, res)
	}
	return res, err
}

func isOver(s posthouse.Status) bool {
	return s == posthouse.StatusDone || s == posthouse.StatusCancelled
}

func start[In, R any](ctx context.Context, s *session.Session, r Run[In, R], c *Invocation, in *In) (*R, error) {
	if in == nil {
		return resume(ctx, s, r)
	}
	if c.Run != "" {
		if known, err := r.Repeated(ctx, in); known != nil || err != nil {
			return known, err
		}
	}
	if !c.Withdraw {
		if err := checkAsked(ctx, s); err != nil {
			return nil, err
		}
	}
	if c.OnBusy == runs.Rollback && s.Displaced() {
		if err := r.RollBack(ctx); err != nil {
			return nil, err
		}
	}
	if c.StartAt.IsZero() {
		return r.Start(ctx, in)
	}
	if _, err := r.Start(Drained(ctx), in); err != nil {
		return nil, err
	}
	return resume(ctx, s, r)
}

// resume goes on from the head, unless its run waits for its start, or is not to start.
func resume[In, R any](ctx context.Context, s *session.Session, r Run[In, R]) (*R, error) {
	may, err := s.Start(ctx)
	switch {
	case err != nil:
		return nil, err
	case may == session.Refused:
		return r.Cancelled(ctx)
	}
	return r.Resume(ctx)
}

// Stream is Run as the sequence of its notices. An error is the last element, without a notice.
func (f *Front[O, In, R, C]) Stream(ctx context.Context, thread string, in *In, o []O) iter.Seq2[*stream.Notice, error] {
	return func(yield func(*stream.Notice, error) bool) {
		opt, c, err := f.options(o, in != nil)
		if err != nil {
			yield(nil, err)
			return
		}
		stream.Read(ctx, c.Modes, func(ctx context.Context, h *stream.Hub) error {
			res, err := f.Do(ctx, thread, &opt, h, in)
			if err == nil && f.End != nil {
				err = f.End(context.WithoutCancel(ctx), h, res)
			}
			return err
		})(yield)
	}
}
