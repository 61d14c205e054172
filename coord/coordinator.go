package coord

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/front"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// A Handler answers a request by calling agents. After a question or a crash it is
// executed again from its start, and agents that answered answer from the record. So it
// must call in the same order for the same answers, and what acts on the world belongs
// in an agent or a step.
//
// It returns nil when the request is answered, an error that wraps
// [posthouse.ErrWaiting] (from gate.Ask, or handed on from an agent) to park it,
// and any other error when it failed.
type Handler func(ctx context.Context, message string, fleet *Fleet, session *Session) error

// Options refine a coordinator. Nil is the zero value.
type Options struct {
	Description string
	Journal     Journal // takes the events; default [Discard]

	// Parked makes a text to stream once a request's questions are on record,
	// when its ids are known. Default: no text.
	Parked func(Reply) string

	Questions []runs.Question // that the coordinator says it asks, for lists of programs; default: no questions
}

// A Coordinator takes requests and answers them with a fleet of agents. Each request is a
// thread of its own, or continues one that has ended. All have the coordinator's name as
// their coordination. Name and Advance make it a program for package runner.
type Coordinator struct {
	ledger   *ledger.Ledger
	instance string // see posthouse.Gate.Instance
	name     string
	fleet    *Fleet
	handler  Handler
	opt      Options
}

// New returns a coordinator. Ledger, fleet and handler are required; the name
// is one of [posthouse.ValidateName]. [posthouse.ErrInvalid].
func New(l *ledger.Ledger, name string, f *Fleet, h Handler, o *Options) (*Coordinator, error) {
	if err := posthouse.ValidateName("name", name); err != nil {
		return nil, err
	}
	switch {
	case l == nil:
		return nil, posthouse.Invalid("ledger", "is required")
	case f == nil:
		return nil, posthouse.Invalid("fleet", "is required")
	case h == nil:
		return nil, posthouse.Invalid("handler", "is required")
	}
	c := &Coordinator{ledger: l, instance: string(l.Core().NewID()), name: name, fleet: f, handler: h}
	if o != nil {
		c.opt = *o
	}
	if c.opt.Journal == nil {
		c.opt.Journal = Discard{}
	}
	if err := front.CheckQuestions(c.opt.Questions); err != nil {
		return nil, err
	}
	return c, nil
}

// Name returns the coordinator's name: the coordination of its requests.
func (c *Coordinator) Name() string { return c.name }

// Description returns Options.Description.
func (c *Coordinator) Description() string { return c.opt.Description }

// Fleet returns the agents.
func (c *Coordinator) Fleet() *Fleet { return c.fleet }

// Limits of a request.
const (
	MaxMessage = 1 << 20 // bytes
	MaxLabels  = 15      // the sixteenth names the event
)

// labelEvent is the label by which a checkpoint names the event it was made of.
const labelEvent = "event"

// HandleOptions refine a request. Nil is the zero value.
type HandleOptions struct {
	Thread string            // default: a new one; one that exists must have ended
	By     string            // who asks
	Labels map[string]string // of all the request's checkpoints; at most [MaxLabels]
	Stream func(Frame) error // who is connected; see [NewSession]
	Handle *Handle           // cancels the request while this call runs it

	// StartAt is when the request is begun; zero: at once. Until then it is on record and waits, and
	// Handle returns that. The runner of any process begins it. See [runs.CheckStartAt].
	StartAt time.Time

	// Withdraw cancels a request of the thread that waits, with the questions that it asks, and
	// takes this one in its place. Without it a thread that has something to finish refuses.
	Withdraw bool
}

// A request is recorded as the first step of its execution.
type request struct {
	Message string            `json:"message"`
	Event   posthouse.ID      `json:"event"` // its CoordinationStarted
	By      string            `json:"by,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`

	Requesters []posthouse.Requester `json:"requesters,omitempty"` // of the program that sent it
	Trace      string                `json:"trace,omitempty"`      // the trace context that it is in

	begin bool // put it on record, and leave it to a runner
}

// Handle runs a new request until it is answered, parks or fails. Until its
// first commit (a gate opened, an agent called after another, a step below one,
// the end) the request exists in memory only, and a crash loses it. From then on any
// process can go on with it.
//
// A program that sends a request with its own context (below a node, flow or handler) does so
// for all its requesters.
//
// An error of the handler is returned with a Reply that says where the thread
// stands. With any other error the Reply is nil: [posthouse.ErrTooLarge] beyond
// [MaxMessage], [posthouse.ErrConflict] if the thread has something else to finish,
// [posthouse.ErrBusy] if it is being run, or the save that failed.
//
// Cancelling ctx leaves what is on record to be resumed. The request's Handle and
// [ledger.Ledger.Cancel] end it: Handle then returns [posthouse.ErrCancelled] with a
// Reply, and a request without a completed agent leaves nothing on record.
func (c *Coordinator) Handle(ctx context.Context, message string, o *HandleOptions) (*Reply, error) {
	if o == nil {
		o = &HandleOptions{}
	}
	if err := o.validate(message); err != nil {
		return nil, err
	}
	if err := runs.CheckStartAt("StartAt", o.StartAt, c.ledger.Now()); err != nil {
		return nil, err
	}
	thread := o.Thread
	if thread == "" {
		thread = string(c.ledger.Core().NewID())
	}
	if o.Withdraw {
		if err := c.withdraw(ctx, thread, o.By); err != nil {
			return nil, err
		}
	}
	return c.claim(ctx, session.Options{Thread: thread, StartAt: o.StartAt}, func(s *session.Session) (*Reply, error) {
		if err := c.checkIdle(s.Head()); err != nil {
			return nil, err
		}
		if err := c.closeCancelled(ctx, s); err != nil {
			return nil, err
		}
		later := o.StartAt.After(c.ledger.Now())
		return c.take(ctx, s, &request{Message: message, By: o.By, Labels: o.Labels, begin: later}, o)
	})
}

// take executes a new request.
func (c *Coordinator) take(ctx context.Context, s *session.Session, req *request, o *HandleOptions) (*Reply, error) {
	var err error
	req.Event = c.ledger.Core().NewID()
	req.Requesters, err = engine.RequestersOf(ctx)
	if err != nil {
		return nil, err
	}
	return c.execute(ctx, s, req, o.Stream, o.Handle)
}

// claim calls run while it holds the thread's lease.
func (c *Coordinator) claim(ctx context.Context, o session.Options, run func(*session.Session) (*Reply, error)) (reply *Reply, err error) {
	o.Instance = c.instance
	s, err := session.Begin(ctx, c.ledger, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := s.End(ctx); e != nil {
			err = errors.Join(err, e)
		}
	}()
	return run(s)
}

func (o *HandleOptions) validate(message string) error {
	_, taken := o.Labels[labelEvent]
	switch {
	case !utf8.ValidString(message):
		return posthouse.Invalid("message", "is not valid UTF-8")
	case len(message) > MaxMessage:
		return &posthouse.Error{
			Code: posthouse.CodeTooLarge, Field: "message", Message: fmt.Sprintf("has %d bytes; the limit is %d", len(message), MaxMessage),
		}
	case taken:
		return posthouse.Invalid("labels", "have %q, which is the coordinator's own", labelEvent)
	case len(o.Labels) > MaxLabels:
		return posthouse.Invalid("labels", "are %d; the limit is %d", len(o.Labels), MaxLabels)
	}
	return posthouse.CheckPerson("by", o.By)
}

// withdraw cancels the request of a thread, if it waits or has yet to act on a decision.
func (c *Coordinator) withdraw(ctx context.Context, thread, by string) error {
	info, err := c.ledger.Thread(ctx, thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	b, ok := info.Branch(posthouse.MainBranch)
	if !ok || info.Graph != c.name || b.Status != posthouse.StatusWaiting && b.Status != posthouse.StatusReady {
		return nil
	}
	_, err = c.ledger.Cancel(ctx, thread, &ledger.CancelOptions{By: by, Head: b.Head, Reason: "another request withdrew it"})
	return err
}

// closeCancelled ends the step of a request that was cancelled. The next request would
// otherwise find what that one has on record, under the same name.
func (c *Coordinator) closeCancelled(ctx context.Context, s *session.Session) error {
	h := s.Head()
	if h == nil || h.Kind != posthouse.KindCancel || h.Graph != c.name {
		return nil
	}
	_, err := s.Commit(ctx, &ledger.Draft{Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusCancelled, Graph: c.name, Node: h.Node, Coordination: h.Coordination,
	}})
	return err
}

// finished reports whether nothing is left to do after the head.
func finished(h *posthouse.Header) bool {
	return h.Status == posthouse.StatusSaved || h.Status == posthouse.StatusDone || h.Status == posthouse.StatusCancelled
}

// checkIdle refuses a request to a thread that has something to finish.
func (c *Coordinator) checkIdle(head *posthouse.Header) error {
	if head == nil {
		return nil
	}
	if err := c.checkOwner(head); err != nil && head.Graph != "" {
		return err
	}
	if finished(head) {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Head: head.ID, Gates: head.Gates,
		Message: fmt.Sprintf("thread %s has a request that is %s", head.Thread, head.Status),
		Hint:    "decide its gate or resume it first, send this request to another thread, or withdraw what it asks (withdraw; posthouse send --withdraw)",
	}
}

func (c *Coordinator) checkOwner(head *posthouse.Header) error {
	if head.Graph == c.name {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Head: head.ID,
		Message: fmt.Sprintf("thread %s belongs to program %q, not to coordinator %q", head.Thread, head.Graph, c.name),
	}
}

// ResumeOptions refine Resume. Nil is the zero value.
type ResumeOptions struct {
	Branch string            // default main
	Stream func(Frame) error // who is connected; see [NewSession]
	Handle *Handle           // cancels the request while this call runs it

	// Wait is how long to wait for a thread that another run has before the call fails with
	// [posthouse.ErrBusy]. Error.Wait of that error says how long is enough if the other's process
	// is gone. Default: not at all.
	Wait time.Duration
}

// Resume goes on with a thread's request: after a decision, a crash, a failure, or on a
// fork. A request that has ended, or that has only open gates, is returned as it is.
// Errors: [posthouse.ErrNotFound], [posthouse.ErrBusy], [posthouse.ErrConflict] if the
// thread is another program's.
func (c *Coordinator) Resume(ctx context.Context, thread string, o *ResumeOptions) (*Reply, error) {
	if o == nil {
		o = &ResumeOptions{}
	}
	if o.Wait < 0 {
		return nil, posthouse.Invalid("Wait", "is negative")
	}
	return c.claim(ctx, session.Options{Thread: thread, Branch: o.Branch, Wait: o.Wait}, func(s *session.Session) (*Reply, error) {
		head := s.Head()
		if head == nil {
			return nil, engine.UnknownThread(thread, s.Branch())
		}
		if err := c.checkOwner(head); err != nil {
			return nil, err
		}
		if finished(head) {
			return &Reply{Thread: thread, Checkpoint: head.ID, Status: head.Status}, nil
		}
		switch may, err := s.Start(ctx); {
		case err != nil:
			return nil, err
		case may == session.Delayed:
			return &Reply{Thread: thread, Checkpoint: head.ID, Status: head.Status, Gate: head.Gates[0], Gates: head.Gates}, nil
		case may == session.Refused:
			h, err := s.Cancellation().Finish(ctx)
			if err != nil {
				return nil, err
			}
			return &Reply{Thread: thread, Checkpoint: h.ID, Status: h.Status}, nil
		}
		return c.execute(ctx, s, nil, o.Stream, o.Handle)
	})
}

// Advance is Resume for a runner. It returns nil for a request that was
// cancelled.
func (c *Coordinator) Advance(ctx context.Context, thread, branch string) error {
	if engine.Draining(ctx) {
		return nil
	}
	_, err := c.Resume(ctx, thread, &ResumeOptions{Branch: branch})
	if errors.Is(err, posthouse.ErrCancelled) {
		return nil
	}
	return err
}

// execute runs the handler: over a new request, or over the one on record.
func (c *Coordinator) execute(ctx context.Context, s *session.Session, req *request, stream func(Frame) error, h *Handle) (reply *Reply, err error) {
	ctx, free := h.bind(ctx)
	ctx, unhook := s.Cancellation().Context(ctx)
	defer func() {
		unhook()
		free()
		h.finish(err)
	}()
	var over func(error) // of the span, if somebody traces
	traces := c.ledger.Core().Config.Tracer != nil
	if traces && req != nil {
		ctx, over = engine.TracedRun(ctx, s, c.name, "")
		req.Trace = engine.TraceToRecord(ctx)
	}
	defer func() {
		if over != nil {
			over(err)
		}
	}()
	r, err := c.startRun(ctx, s, req)
	if err != nil {
		return nil, err
	}
	if traces && req == nil {
		ctx, over = engine.TracedRun(ctx, s, c.name, r.req.Trace)
	}
	r.session = &Session{send: stream, silent: r.task.Records().Replaying}
	r.task.Before(r.beforeStep)
	ctx = (&frame{run: r, cause: r.req.Event}).with(r.task.With(engine.WithPrincipal(ctx, r.req.By)))
	if req != nil {
		e := r.event(CoordinationStarted, "")
		e.ID, e.Text, e.By = req.Event, req.Message, req.By
		if err := r.emit(ctx, e, nil); err != nil {
			return nil, err
		}
	}
	if req != nil && req.begin {
		return r.record(ctx)
	}
	if err := s.Lease().Confirm(ctx); err != nil {
		return nil, err
	}
	failed := engine.Guard(func() error { return c.handler(ctx, r.req.Message, c.fleet, r.session) })
	reply, err = r.commitEnd(ctx, failed)
	if reply != nil {
		r.session.reply(*reply)
	}
	return reply, err
}

// startRun finds the request on record, or prepares its record. One execution spans all
// checkpoints of its request, so the task is named by the step that its end will make.
func (c *Coordinator) startRun(ctx context.Context, s *session.Session, req *request) (*run, error) {
	r := &run{c: c, sess: s, began: c.ledger.Now()}
	step := uint64(1)
	if head := s.Head(); head != nil {
		step = head.Step + 1
		if req == nil {
			r.resumed = head
		}
	}
	var err error
	r.task, err = engine.TaskWithKey(ctx, s, strconv.FormatUint(step, 10)+"/"+posthouse.EscapeName(c.name), req != nil)
	if err != nil {
		return nil, err
	}
	rec, ok := r.task.Records().Recorded(stepRequest)
	switch {
	case ok:
		r.req, err = posthouse.Decode[request](rec.Value)
		s.Record().NoteRequesters(r.req.Requesters)
		return r, err
	case req == nil:
		return nil, &posthouse.Error{
			Code: posthouse.CodeNotFound, Message: "the request of thread " + s.Thread() + " is not on record behind checkpoint " + string(r.resumed.ID),
			Hint: "the thread was changed by hand: send the request anew, to a thread of its own",
		}
	}
	r.req, r.opening = *req, &rec.Step
	s.Record().NoteRequesters(req.Requesters)
	rec.Value, err = posthouse.Encode(nil, r.req)
	if err == nil {
		r.first, err = posthouse.Opaque(nil, RequestState{Request: r.req.Message})
	}
	return r, err
}

// elapsed is the time since then, in whole milliseconds.
func (r *run) elapsed(then time.Time) int64 { return r.c.ledger.Now().Sub(then).Milliseconds() }
