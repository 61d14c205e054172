package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/ledger"
)

// A Task is one execution of a node, flow or handler: what it has on record,
// what it holds back, and what it asks. It travels in the context and is safe
// for concurrent use.
type Task struct {
	session *session.Session
	key     TaskKey
	around  context.Context // what the context of its code is made of; nil until then
	before  func(context.Context) error
	active  func()          // called at each sign of activity
	onStep  func(StepEvent) // reports what becomes of its steps
	steps   *StepDefaults   // may be nil
	closed  atomic.Bool     // the execution is over

	recording sync.Mutex // held by the call that records its result; before mu

	mu     sync.Mutex
	local  any         // the model's own
	replay *replay.Log // nil: nothing is on record
	state  atomic.Pointer[taskState]
}

// A taskState counts what the code of an execution has done. It is nil until the first step
// or question, which most code never reaches. The task's mutex guards it; that it is nil may
// be seen without.
type taskState struct {
	steps     map[string]uint32    // calls, by name
	asks      map[string]uint32    // questions, by name; those for people by what they show, too
	groups    map[string]uint32    // new groups of decisions, by name
	running   string               // the step that runs its function now, if its order counts
	failures  []*failedCall        // calls that failed and are not on record
	known     []*failedCall        // those on record, with what followed them
	acted     map[*failedCall]bool // those that a question of this run follows
	calls     uint32               // steps, waits and questions that began
	disorder  error                // once an order broke: what every later step returns
	held      []posthouse.Step
	notes     *story.Notebook // from outside of steps
	questions []posthouse.Gate
	open      []*posthouse.Gate
	opened    bool // some of open are on record without a checkpoint that keeps them
	inner     []*Task
	repeats   bool // one of its steps may be attempted again
}

// TaskWithKey starts an execution under a name. [session.Session.Key] stays the same while the
// node waits, fails and runs again. A model uses a name of its own where an execution
// spans checkpoints, or a node runs more than once in a step. The name must be unique in
// the thread, except among executions that continue each other. Fresh promises that
// nothing is on record under it, and saves a read.
func TaskWithKey(ctx context.Context, s *session.Session, key string, fresh bool) (*Task, error) {
	k := TaskKey{Label: key}
	if fresh {
		return &Task{session: s, key: k}, nil
	}
	return NewTask(ctx, s, k)
}

// NewTask starts an execution that may have something on record.
func NewTask(ctx context.Context, s *session.Session, key TaskKey) (*Task, error) {
	t := &Task{session: s, key: key}
	recorded, err := s.Record().Execution(ctx, &t.key)
	if err == nil {
		t.replay = replay.New(recorded, s.Branch())
	}
	return t, err
}

// made returns what the code of the execution did so far. Callers hold t.mu.
func (t *Task) made() *taskState {
	m := t.state.Load()
	if m == nil {
		m = &taskState{}
		t.state.Store(m)
	}
	return m
}

// Gates returns what the execution asks and waits for.
func (t *Task) Gates() Gates { return Gates{t} }

// Records returns what the execution has on record, and what it holds back.
func (t *Task) Records() Records { return Records{t} }

// Close ends the execution and drops what SetLocal kept. Later steps and questions, of
// goroutines that its code started, are [posthouse.ErrClosed].
func (t *Task) Close() {
	t.closed.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.local = nil
}

// Closed reports whether the execution is over.
func (t *Task) Closed() bool { return t.closed.Load() }

// SetLocal keeps what a model has for the code of the execution. It is called
// before that code runs, while no other goroutine has t.
func (t *Task) SetLocal(v any) { t.local = v }

// Local returns what SetLocal kept, nil for nothing and once the execution is
// over.
func (t *Task) Local() any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.local
}

func closedError(what, name, task string) error {
	return &posthouse.Error{
		Code: posthouse.CodeClosed, Message: what + " " + strconv.Quote(name) + " came after " + task + " had returned or was given up",
		Hint: "wait for goroutines before the node returns, and stop when its context ends",
	}
}

// StepDefaults hold for steps that say nothing themselves.
type StepDefaults struct {
	Retry   Retry
	Timeout time.Duration // of one attempt; 0: no limit
}

// Steps sets the defaults of the execution's steps.
func (t *Task) Steps(d *StepDefaults) { t.steps = d }

// StepDefaults returns the defaults of a step begun with ctx. A step within another has
// no defaults: the outer one has them.
func (t *Task) StepDefaults(ctx context.Context) StepDefaults {
	if t.steps == nil || t.scopeOf(ctx) != nil {
		return StepDefaults{}
	}
	return *t.steps
}

// Fresh reports whether nothing is on record of the execution.
func (t *Task) Fresh() bool { return t.replay == nil }

// Heartbeat reports activity of the execution and of those around it.
func (t *Task) Heartbeat() {
	if t.active != nil {
		t.active()
	}
	if t.around != nil {
		if outer, ok := From(t.around); ok {
			outer.Heartbeat()
		}
	}
}

// Adopt makes the questions of an execution within t, and what it holds, t's own.
func (t *Task) Adopt(inner *Task) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made().inner = append(t.made().inner, inner)
}

// Key returns the name of the execution, as in "7/approve".
func (t *Task) Key() string { return t.key.String() }

// Session returns the session that runs the task.
func (t *Task) Session() *session.Session { return t.session }

// Before has fn called before the function of each step that is not on record. A model
// makes durable there what it holds back. An error of fn becomes the step's.
func (t *Task) Before(fn func(context.Context) error) { t.before = fn }

// PersistClaim makes sure that no other process runs the thread, before something acts that is
// not a [Task.Do]. Where others could and the session has committed nothing yet, it puts
// the claim on record. [posthouse.ErrBusy] or [posthouse.ErrConflict] if another process
// was faster; then the session is over.
func (t *Task) PersistClaim(ctx context.Context) error { return t.session.Lease().Persist(ctx) }

// mayAct runs what must come before something of the execution acts.
func (t *Task) mayAct(ctx context.Context) error {
	if t.before != nil {
		if err := t.before(ctx); err != nil {
			return err
		}
	}
	return t.PersistClaim(ctx)
}

// recordStep commits the result of a call with everything that goes before it.
func (t *Task) recordStep(ctx context.Context, c *call, s posthouse.Step) error {
	return t.recordWith(c, func(before []posthouse.Step) (bool, error) {
		s.Task, s.Name, s.Occurrence = t.Key(), c.name, c.occurrence
		steps := append(before, s)
		lost := t.losers(c)
		_, err := t.session.Commit(ctx, &ledger.Draft{Steps: steps, Withdraw: lost, WithdrawReason: lostReason})
		kept := err == nil
		if errors.Is(err, posthouse.ErrCancelled) { // it was done before the request arrived
			_, late := t.session.Commit(ctx, &ledger.Draft{Steps: steps, Withdraw: lost, WithdrawReason: lostReason, AfterCancel: true})
			kept = late == nil
		}
		if kept {
			t.rememberResult(s)
			t.forgetWaits(c)
		}
		return kept, err
	})
}

// recordWith has commit record the result of a call after what goes before it. If commit
// fails, that is kept for the next call. One call records at a time: another beside it
// would otherwise come before what goes before both.
func (t *Task) recordWith(c *call, commit func(before []posthouse.Step) (bool, error)) error {
	t.recording.Lock()
	defer t.recording.Unlock()
	t.mu.Lock()
	m := t.made()
	t.holdNotes()
	held := m.held
	m.held = nil
	knows := func(f *failedCall) bool { return slices.Contains(c.after.before, f) }
	taken, marks := m.takeFailures(knows, func(f *failedCall) bool { return f.again && f.received })
	t.mu.Unlock()
	done, err := commit(slices.Concat(held, marks))
	t.mu.Lock()
	defer t.mu.Unlock()
	if !done {
		m.held = append(held, m.held...)
		m.returnFailures(taken)
		return err
	}
	for i := range marks {
		t.rememberFailure(&marks[i])
	}
	if !c.after.reads {
		actsAfter(c.label(), c.after.before)
		actsAfter(c.label(), c.after.known)
	}
	c.done = true
	return err
}

// Waiting reports whether a question of this execution has no decision. A model then
// parks the node even if its code swallowed the error: no gate is passed undecided.
func (t *Task) Waiting() bool {
	m := t.state.Load()
	if m == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(m.questions)+len(m.open) > 0 || slices.ContainsFunc(m.inner, (*Task).Waiting)
}

// decidedGate returns a gate with its decision, or remembers that it is still open.
// Callers hold t.mu.
func (t *Task) decidedGate(ctx context.Context, g *posthouse.Gate) (*posthouse.Gate, error) {
	if g.Decision == nil && !g.ExpiresAt.IsZero() && !t.session.Ledger().Now().Before(g.ExpiresAt) {
		var err error
		g, err = expire(ctx, t.session.Ledger(), g)
		if err != nil {
			return nil, t.session.Unanswered(err)
		}
		t.replay.SetGate(g)
	}
	if g.Decision == nil {
		t.made().open = append(t.made().open, g)
		return nil, posthouse.ErrWaiting
	}
	return g, nil
}
