package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/failure"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/runs"
)

// A Work is a step's function.
type Work func(context.Context) (posthouse.Value, error)

// StepOptions refine a step. The zero value runs it once.
type StepOptions struct {
	Effect posthouse.Effect
	Retry  Retry
	Grant  posthouse.ID // the gate that licensed it; see [Call.Effect]

	// Grouped says that the code which began the call gets its error later: see
	// [Call.Receive].
	Grouped bool
}

// A Call is one use of a step: the n-th of its name in one execution.
type Call struct {
	task *Task
	call
	opt StepOptions

	licensed bool // it acts under a grant
	acts     bool // the use of its grant is on record: the lease's end does not stop it
	told     tale
}

// A tale is what goes on record of a call's attempt beside its result.
type tale struct {
	began     time.Time // as it is reported
	started   time.Time
	attempts  int             // with the one that is made
	lastError string          // of the attempt before
	notes     *story.Notebook // of the attempt
}

// Do returns the recorded result of the next occurrence of name. If there is no recorded
// result it runs fn and commits its result, in an entry of its own with the held records,
// before it returns. An error of fn is returned and not recorded. Errors before fn runs are
// those of [Task.PersistClaim], of a cancelled context, and [OrderError] for a replay in
// another order.
//
// The name is 1 to 200 bytes of UTF-8 without control characters and '>'.
func (t *Task) Do(ctx context.Context, name string, effect posthouse.Effect, fn func(context.Context) (posthouse.Value, error)) (posthouse.Value, error) {
	c, err := t.Call(ctx, name, StepOptions{Effect: effect})
	if err != nil {
		return posthouse.Value{}, err
	}
	return c.Run(ctx, fn)
}

// Call counts one use of a step and finds its result. A call that is not on
// record must be Run. Below [Beside] it may run beside others.
func (t *Task) Call(ctx context.Context, name string, o StepOptions) (*Call, error) {
	c := &Call{task: t, opt: o}
	c.grouped, c.after.reads = o.Grouped, isRead(o.Effect)
	if err := t.beginCall(ctx, name, false, &c.call); err != nil {
		return nil, err
	}
	if o.Retry.Retries() > 0 && c.recorded == nil && c.failure == nil {
		if err := checkLength("step", c.within(attemptName)); err != nil {
			t.endCall(&c.call, err)
			return nil, err
		}
	}
	return c, nil
}

// Recorded returns the result that is on record, if any.
func (c *Call) Recorded() (posthouse.Value, bool) {
	if c.recorded == nil {
		return posthouse.Value{}, false
	}
	return c.recorded.Value, true
}

// Run is the rest of [Task.Do].
func (c *Call) Run(ctx context.Context, fn Work) (_ posthouse.Value, err error) {
	if c.recorded != nil {
		return c.recorded.Value, nil
	}
	if c.failure != nil {
		return posthouse.Value{}, c.failedBefore()
	}
	t := c.task
	defer func() { t.endCall(&c.call, err) }()
	if err := context.Cause(ctx); err != nil {
		return posthouse.Value{}, err
	}
	if c.opt.Effect == posthouse.EffectExternal && !c.licensed && t.session.Ledger().Core().Rules.RequireGrants {
		return posthouse.Value{}, posthouse.NeedsGrant(c.name)
	}
	if err := t.mayAct(ctx); err != nil {
		return posthouse.Value{}, err
	}
	c.acted = true
	defer func() {
		if c.acts {
			t.session.Lease().EffectEnded(ctx)
		}
	}()
	v, err := c.perform(ctx, fn)
	if err != nil {
		c.waits = errors.Is(err, posthouse.ErrWaiting)
		if !c.waits {
			c.keepNotes(err)
		}
		return posthouse.Value{}, err
	}
	if v.Codec == threadlog.CodecFailed {
		return posthouse.Value{}, posthouse.Invalid("codec", "name %s is reserved", threadlog.CodecFailed)
	}
	if err := t.recordStep(ctx, &c.call, posthouse.Step{Effect: c.opt.Effect, Grant: c.opt.Grant, Value: v, Story: c.story(nil)}); err != nil {
		return posthouse.Value{}, err
	}
	return v, nil
}

// failedBefore returns the recorded error of a call that the program acted after.
func (c *Call) failedBefore() error {
	s := c.failure
	f, err := failure.Decode(replay.StepName(&s.Step), s.Value.Data)
	if err != nil {
		return posthouse.Corrupt("the failure of step %s at entry %d does not decode: %v", replay.StepName(&s.Step), s.Seq, err)
	}
	t := c.task
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.made()
	m.known = append(m.known, &failedCall{
		mark: s.Step, err: f, within: c.name[:len(c.name)-len(c.base)], received: true, at: m.calls,
		behind: c.after.behind,
	})
	return f
}

// attemptName is the name, within the step, under which an attempt that failed
// is on record.
const attemptName = "$attempt"

// An Attempt is the record of an attempt that failed and that another follows.
type Attempt struct {
	Error string           `json:"error"`
	Due   posthouse.Millis `json:"due,omitempty"` // when the next one is; 0: at once
	Story posthouse.Story  `json:"-"`             // of the attempt
}

// perform runs the function, and again while its Retry wants that.
func (c *Call) perform(ctx context.Context, fn Work) (posthouse.Value, error) {
	t := c.task
	if c.opt.Retry.Retries() == 0 {
		var v posthouse.Value
		err := Guard(func() (err error) { v, err = c.attempt(ctx, 1, fn); return err })
		c.reportEnd(ctx, 1, err)
		return v, err
	}
	attempts, due, err := c.recordedAttempts()
	if err != nil {
		return posthouse.Value{}, err
	}
	for {
		if err := c.awaitAttempt(ctx, attempts, due); err != nil {
			return posthouse.Value{}, err
		}
		var v posthouse.Value
		err := Guard(func() (err error) { v, err = c.attempt(ctx, attempts+1, fn); return err })
		if err == nil || !c.wantsRetry(ctx, attempts, err) {
			c.reportEnd(ctx, attempts+1, err)
			return v, err
		}
		a := Attempt{Error: cleanText(err.Error()), Story: c.story(err)}
		due = time.Time{}
		if d := c.opt.Retry.Wait(attempts+1, rand.Float64()); d > 0 {
			due = session.RoundUp(t.session.Ledger().Now().Add(d))
			a.Due = posthouse.Millis(due.UnixMilli())
		}
		if c.failedInside() {
			c.reportEnd(ctx, attempts+1, err)
			return v, err
		}
		if e := c.recordAttempt(ctx, attemptName, uint32(attempts), "", a); e != nil {
			return v, errors.Join(err, e)
		}
		c.told.lastError = a.Error
		attempts++
		c.reportStep(ctx, StepEvent{Kind: runs.EventTaskRetry, Attempt: attempts, Err: err, Due: due})
		t.rewind(c.within(""))
	}
}

func (c *Call) attempt(ctx context.Context, n int, fn Work) (posthouse.Value, error) {
	s := c.task.session
	if err := s.Lease().Confirm(ctx); err != nil {
		return posthouse.Value{}, err
	}
	c.reportStep(ctx, StepEvent{Kind: runs.EventTaskStart, Attempt: n})
	c.told.started, c.told.attempts, c.told.notes = s.Ledger().Now(), n, &story.Notebook{}
	ctx = c.task.inside(ctx, c.name, c.occurrence, n, c.told.notes)
	if s.Ledger().Core().Config.Tracer != nil {
		fn = c.traced(n, fn)
	}
	if c.licensed { // what is around it stops it until its use is on record
		return fn(ctx)
	}
	ctx, over := s.Lease().WhileHeld(ctx)
	v, err := fn(ctx)
	return v, over(err)
}

// wantsRetry reports whether another attempt follows one that failed.
func (c *Call) wantsRetry(ctx context.Context, attempts int, err error) (wanted bool) {
	if attempts >= c.opt.Retry.Retries() || errors.Is(err, posthouse.ErrWaiting) || ctx.Err() != nil || c.task.session.Err() != nil {
		return false
	}
	return Guard(func() error { wanted = c.opt.Retry.Wants(err); return nil }) == nil && wanted
}

// recordedAttempts returns how many attempts failed, and when the next is due. It notes the error
// of the last one.
func (c *Call) recordedAttempts() (attempts int, due time.Time, err error) {
	t := c.task
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made().repeats = true
	n := c.countWithin(attemptName)
	if n == 0 {
		return 0, due, nil
	}
	var a Attempt
	if err := json.Unmarshal(t.replay.Result(c.within(attemptName), n-1).Value.Data, &a); err != nil {
		return 0, due, err
	}
	c.told.lastError = a.Error
	if a.Due != 0 {
		due = time.UnixMilli(int64(a.Due))
	}
	return int(n), due, nil
}

// countWithin returns how many records of a name the call has. Callers hold t.mu.
func (c *Call) countWithin(name string) uint32 { return c.task.replay.Count(c.within(name)) }

// recordAttempt puts what became of an attempt on record, within the call.
func (c *Call) recordAttempt(ctx context.Context, name string, n uint32, grant posthouse.ID, a Attempt) error {
	v, err := json.Marshal(a)
	if err != nil {
		return err
	}
	own := call{name: c.within(name), occurrence: n, after: c.after}
	return c.task.recordStep(ctx, &own, posthouse.Step{
		Effect: c.opt.Effect, Grant: grant, Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: v}, Story: a.Story,
	})
}

// failedInside ends an attempt within which calls may have failed. It reports whether a failure
// there stands: another attempt would end with it.
func (c *Call) failedInside() bool {
	c.task.mu.Lock()
	defer c.task.mu.Unlock()
	return c.task.endFailures(c.within("")) != nil
}

// isRead reports whether a step of a class says no more than what was read or computed.
func isRead(e posthouse.Effect) bool { return e == posthouse.EffectPure || e == posthouse.EffectRead }

// awaitAttempt waits until the next attempt is due: itself if that is soon, and
// otherwise by a timer gate.
func (c *Call) awaitAttempt(ctx context.Context, attempts int, due time.Time) error {
	s := c.task.session
	left := due.Sub(s.Ledger().Now())
	if due.IsZero() || left <= 0 {
		return nil
	}
	if left <= s.HoldFor() {
		if come, err := WaitOrDrain(ctx, s.Ledger(), due); come || err != nil {
			return err
		}
	}
	_, err := c.task.Gates().Ask(c.task.Scope(ctx, c.name, c.occurrence), posthouse.Gate{
		Name: "$retry-" + strconv.Itoa(attempts), Kind: posthouse.GateTimer, ExpiresAt: due, Text: "the next attempt of step " + c.name,
	})
	return err
}

// rewind forgets the calls and questions with names that begin with prefix. Another attempt of
// the step they belong to makes the same again.
func (t *Task) rewind(prefix string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := func(name string, _ uint32) bool { return strings.HasPrefix(name, prefix) }
	m := t.made()
	maps.DeleteFunc(m.steps, mine)
	maps.DeleteFunc(m.asks, mine)
	m.dropAsked(prefix)
	m.known = slices.DeleteFunc(m.known, func(f *failedCall) bool {
		inside := strings.HasPrefix(f.mark.Name, prefix)
		if inside && f.behind != "" {
			s := f.value(f.err)
			t.replay.Remember(&posthouse.StepRecord{Step: s}, f.behind)
		}
		return inside
	})
	m.failures = slices.DeleteFunc(m.failures, func(f *failedCall) bool { return strings.HasPrefix(f.mark.Name, prefix) })
	t.replay.ClearAsked(prefix)
}

// forgetAsked forgets what this run asks within a call that is over.
func (t *Task) forgetAsked(prefix string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made().dropAsked(prefix)
}

// dropAsked drops the questions with names that begin with prefix. Callers hold the task's mutex.
func (m *taskState) dropAsked(prefix string) {
	m.questions = slices.DeleteFunc(m.questions, func(g posthouse.Gate) bool { return strings.HasPrefix(g.Name, prefix) })
	m.open = slices.DeleteFunc(m.open, func(g *posthouse.Gate) bool { return strings.HasPrefix(g.Name, prefix) })
}

// rememberResult lets a later attempt find what was recorded within its step.
func (t *Task) rememberResult(s posthouse.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.made().repeats || !strings.Contains(s.Name, replay.Nested) {
		return
	}
	if t.replay == nil {
		t.replay = replay.Empty()
	}
	t.replay.Remember(&posthouse.StepRecord{Step: s}, "")
}

// cleanText returns an error's text as valid UTF-8 on one line, of at most maxStack bytes.
func cleanText(s string) string {
	s = OneLine(s)
	if len(s) > maxStack {
		s = strings.ToValidUTF8(s[:maxStack], "")
	}
	return s
}
