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
	"github.com/posthouse/posthouse/ledger"
)

// A Task is one execution of a node, flow or handler: what it has on record,
// what it holds back, and what it asks. It travels in the context and is safe
// for concurrent use.
type Task struct {
	session *Session
	key     TaskKey
	around  context.Context // what its code's context is made of; nil until then
	before  func(context.Context) error
	active  func()          // called whenever the execution shows that it lives
	onStep  func(StepEvent) // what becomes of its steps
	steps   *StepDefaults   // nil: none
	closed  atomic.Bool     // the execution is over

	recording sync.Mutex // held by the call that records its result; before mu

	mu     sync.Mutex
	local  any     // the model's own
	replay *replay // nil: nothing is on record
	state  atomic.Pointer[taskState]
}

// A taskState is what the code of an execution did so far. Most take no step and ask
// nothing: they have none. Its fields are the task's mutex's.
type taskState struct {
	steps     map[string]uint32 // calls, by name
	asks      map[string]uint32 // questions, by name, those for people by what they show, too
	groups    map[string]uint32 // decisions of packages that are new, by group
	running   string            // the step whose function runs now, if its order counts
	survived  []posthouse.Step  // failed calls that the next recorded step follows
	waitsIn   []occurrence      // those of them that failed because something in them waits
	disorder  error             // once an order broke: what every later step returns
	held      []posthouse.Step
	questions []posthouse.Gate
	open      []*posthouse.Gate
	inner     []*Task
	repeats   bool // a step of it may be tried again
}

// stateToChange returns what the execution made, to add to it. Callers hold t.mu.
func (t *Task) stateToChange() *taskState {
	m := t.state.Load()
	if m == nil {
		m = &taskState{}
		t.state.Store(m)
	}
	return m
}

// noState is what an execution made that has no made. It is not written to.
var noState taskState

// currentState returns what the execution made, to read. Callers hold t.mu.
func (t *Task) currentState() *taskState {
	if m := t.state.Load(); m != nil {
		return m
	}
	return &noState
}

// Gates returns what the execution asks and waits for.
func (t *Task) Gates() Gates { return Gates{t} }

// Records returns what the execution has on record, and what it holds back.
func (t *Task) Records() Records { return Records{t} }

// Close ends the execution: steps and questions that code of it still comes
// with, from a goroutine it left behind, are [posthouse.ErrClosed]. What
// SetLocal kept is let go.
func (t *Task) Close() {
	t.closed.Store(true)
	t.SetLocal(nil)
}

// Closed reports whether the execution is over.
func (t *Task) Closed() bool { return t.closed.Load() }

// SetLocal keeps what a model has for the code of the execution. It is called
// before that code runs.
func (t *Task) SetLocal(v any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.local = v
}

// Local returns what SetLocal kept, nil for nothing and once the execution is
// over.
func (t *Task) Local() any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.local
}

func (t *Task) closedError(what, name string) error {
	return &posthouse.Error{
		Code: posthouse.CodeClosed, Message: what + " " + strconv.Quote(name) + " came after " + t.Key() + " had returned or was given up",
		Hint: "wait for goroutines before the node returns, and stop when its context ends",
	}
}

// StepDefaults are of steps that say nothing themselves.
type StepDefaults struct {
	Retry   Retry
	Timeout time.Duration // of one attempt; 0: none
}

// Steps sets the defaults of the execution's steps.
func (t *Task) Steps(d *StepDefaults) { t.steps = d }

// StepDefaults returns those of a step begun with ctx: a step within another has
// none, since that one has them.
func (t *Task) StepDefaults(ctx context.Context) StepDefaults {
	if sc, ok := ctx.Value(keyScope).(*scope); t.steps == nil || ok && sc.task == t {
		return StepDefaults{}
	}
	return *t.steps
}

// Fresh reports whether nothing is on record of the execution.
func (t *Task) Fresh() bool { return t.replay == nil }

// Heartbeat tells that the execution lives, and so do those around it.
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
	m := t.stateToChange()
	m.inner = append(m.inner, inner)
}

// Key returns the name of the execution, as in "7/approve".
func (t *Task) Key() string { return t.key.String() }

// Session returns the session that runs the task.
func (t *Task) Session() *Session { return t.session }

// Before has fn called before the function of each step that is not on record,
// for a model that holds back what must be durable before the step acts. Its
// error is returned in place of the step's result.
func (t *Task) Before(fn func(context.Context) error) { t.before = fn }

// Replaying reports whether a call or question of an earlier execution has yet
// to be asked for again. It is false from the first one that is not on record.
func (v Records) Replaying() bool {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replay != nil && t.replay.left > 0
}

// Secure makes sure that no other process runs the thread, before something
// acts that is not a [Task.Do]: where others could, and the session has not
// committed anything yet, its claim is put on record. [posthouse.ErrBusy] or
// [posthouse.ErrConflict] if somebody was faster; then the session is over.
func (t *Task) Secure(ctx context.Context) error { return t.session.persistClaim(ctx) }

// recordStep commits the result of a call with everything that goes before it.
func (t *Task) recordStep(ctx context.Context, c *call, s posthouse.Step) error {
	return t.recordWith(c, func(before []posthouse.Step) (bool, error) {
		s.Task, s.Name, s.Occurrence = t.Key(), c.name, c.occurrence
		steps := append(before, s)
		_, err := t.session.Commit(ctx, &ledger.Draft{Steps: steps})
		kept := err == nil
		if errors.Is(err, posthouse.ErrCancelled) { // it was done before the request was heard
			_, late := t.session.Commit(ctx, &ledger.Draft{Steps: steps, Late: true})
			kept = late == nil
		}
		if kept {
			t.mu.Lock()
			t.rememberResult(c, s)
			t.mu.Unlock()
		}
		return kept, err
	})
}

// recordWith has commit record the result of a call behind what goes before it;
// if it did not, that is kept for the next. One call records at a time: another,
// beside it, would otherwise come before what goes before both.
func (t *Task) recordWith(c *call, commit func(before []posthouse.Step) (bool, error)) error {
	t.recording.Lock()
	defer t.recording.Unlock()
	t.mu.Lock()
	m := t.stateToChange()
	held, survived := m.held, m.survived
	m.held, m.survived = nil, nil
	t.mu.Unlock()
	done, err := commit(slices.Concat(held, survived))
	t.mu.Lock()
	defer t.mu.Unlock()
	if !done {
		m.held, m.survived = append(held, m.held...), append(survived, m.survived...)
		return err
	}
	c.done = true
	return err
}

// Records are the results of an execution: those on record, and those held back
// for the commit that follows them.
type Records struct{ t *Task }

// Recorded counts one call of name and returns its recorded result. If there
// is none, the record it returns still names the call (Task, Name, Occurrence):
// give it an Effect and a Value and pass its Step to [Records.Hold]. Order is not
// checked.
func (v Records) Recorded(name string) (posthouse.StepRecord, bool) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	occ := next(&t.stateToChange().steps, name)
	if r := t.replay.takeRecord(name, occ); r != nil {
		return *r, true
	}
	return posthouse.StepRecord{Step: posthouse.Step{Task: t.Key(), Name: name, Occurrence: occ}}, false
}

// Hold keeps a result that is to be committed together with what follows it:
// the next Do of this task, or whoever takes it by [Records.Held]. Task is filled
// in. Until then it is not on record.
func (v Records) Hold(s posthouse.Step) {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Task = t.Key()
	m := t.stateToChange()
	m.held = append(m.held, s)
}

// Held takes what is held, and where the task waits also that steps before the
// wait failed: the code that went on may take another way next time. Whoever
// commits next for the task adds it to the draft's Steps.
func (v Records) Held() []posthouse.Step {
	t := v.t
	m := t.state.Load()
	if m == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := m.held
	m.held = nil
	if len(m.questions)+len(m.open) > 0 {
		for _, s := range m.survived {
			if !slices.Contains(m.waitsIn, occurrence{s.Name, s.Occurrence}) {
				h = append(h, s)
			}
		}
		m.survived = nil
	}
	for _, in := range m.inner {
		h = append(h, in.Records().Held()...)
	}
	return h
}

// ReturnHeld gives back what Held took, of this task or of those beside it: the
// draft was refused.
func (v Records) ReturnHeld(held []posthouse.Step) {
	t := v.t
	if len(held) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.stateToChange()
	m.held = append(held, m.held...)
}

// decidedGate returns a gate with its decision, or remembers that it is still open.
// Callers hold t.mu.
func (t *Task) decidedGate(ctx context.Context, g *posthouse.Gate) (*posthouse.Gate, error) {
	if g.Decision == nil && !g.ExpiresAt.IsZero() && !t.session.ledger.Now().Before(g.ExpiresAt) {
		var err error
		if g, err = expire(ctx, t.session.ledger, g); err != nil {
			return nil, err
		}
		if k := (occurrence{g.Name, g.Occurrence}); t.replay.gates[k] != nil && t.replay.gates[k].ID == g.ID {
			t.replay.gates[k] = g
		}
	}
	if g.Decision == nil {
		m := t.stateToChange()
		m.open = append(m.open, g)
		return nil, posthouse.ErrWaiting
	}
	return g, nil
}

// Open returns the gates that were asked again and are still undecided. A node
// that waits for these alone needs no new checkpoint.
func (v Gates) Open() []*posthouse.Gate {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.currentState()
	open := slices.Clone(m.open)
	for _, in := range m.inner {
		open = append(open, in.Gates().Open()...)
	}
	return open
}

// Completed returns the name of the outermost step of the execution whose result
// the steps of a draft end with, "" if they do not.
func (v Records) Completed(steps []posthouse.Step) string {
	t := v.t
	if len(steps) == 0 {
		return ""
	}
	if s := &steps[len(steps)-1]; isResult(t.Key(), s) {
		return s.Name
	}
	return ""
}

// Disorder returns the [OrderError] of the execution, also one that its code
// swallowed; and, of code that returned, that a recorded step was not asked for.
func (v Records) Disorder(returned bool) error {
	t := v.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.currentState().disorder; d != nil || !returned || t.replay == nil {
		return d
	}
	for _, s := range t.replay.order {
		switch s.Value.Codec {
		case codecFailed:
			return nil // the code went on differently
		case codecWait:
		default:
			return &OrderError{Thread: t.session.thread, Task: t.Key(), Asked: "(the end)", Recorded: callName(s.Name, s.Occurrence)}
		}
	}
	return nil
}

// Waiting reports whether a question of this execution has no decision. A
// model parks the node then even if its code swallowed the error: no gate is
// passed without a decision.
func (t *Task) Waiting() bool {
	m := t.state.Load()
	if m == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(m.questions)+len(m.open) > 0 || slices.ContainsFunc(m.inner, (*Task).Waiting)
}

// next counts one use of name and returns how many were before it.
func next(counts *map[string]uint32, name string) uint32 {
	if *counts == nil {
		*counts = map[string]uint32{}
	}
	n := (*counts)[name]
	(*counts)[name] = n + 1
	return n
}

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
