package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/runs"
)

// Use returns what is on record of the effect, with what this run has recorded.
func (e *Effect) Use() *effect.Use {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	return e.read()
}

// read is Use for callers that hold t.mu.
func (e *Effect) read() *effect.Use {
	t := e.call.task
	u := t.replay.Effect(e.call.label()).At(t.session.Ledger().Now())
	if e.reply != nil {
		u.Replied(e.reply)
	}
	return u
}

// State returns how far the effect has come. An attempt that an earlier run began has no end that
// anybody will see. A use that waits on another branch or in another thread goes on there: here
// nothing of it has begun.
func (e *Effect) State(ctx context.Context) (effect.State, *effect.Use, error) {
	u := e.Use()
	s := u.State()
	if s == effect.Begun {
		s = effect.Next(s, effect.Lost)
	}
	if s != effect.Waiting && (s != effect.NotDone || !u.HasOpen()) {
		return s, u, nil
	}
	under, err := e.call.task.session.Gate(ctx, e.Under())
	if errors.Is(err, posthouse.ErrNotFound) {
		return effect.Next(s, effect.Lost), u, nil
	}
	if err == nil && !e.isHere(under) {
		s = effect.Licensed
	}
	return s, u, err
}

// isHere reports whether a gate is of the branch that runs, and no copy.
func (e *Effect) isHere(g *posthouse.Gate) bool {
	s := e.call.task.session
	return g.Origin == "" && g.Thread == s.Thread() && g.Branch == s.Branch()
}

// isAlive reports whether the program learns from a task's gate what became of it: it is open,
// or has the word of the task's worker.
func isAlive(g *posthouse.Gate) bool {
	d := g.Decision
	return d == nil || d.Verdict == posthouse.Respond || d.Verdict == commit.Parked || d.Verdict == posthouse.Reject && !d.Unknown
}

// saidNotDone reports whether the worker that had a task of the use said that nothing happened.
// Earlier versions took each error for that word.
func (e *Effect) saidNotDone(g *posthouse.Gate) bool {
	return !g.Decision.Unknown && e.Use().SaidNotDone(g.ID)
}

// gates returns the newest gate of each wait and question within the use. Callers hold t.mu.
func (e *Effect) gates() []*posthouse.Gate { return e.call.task.replay.Within(e.call.within("")) }

// Acted reports whether results of steps or tasks within the use are on record, also of an
// earlier decision or another branch.
func (e *Effect) Acted() bool {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.read().Acted() {
		return true
	}
	for _, g := range e.gates() {
		if g.Call != nil && g.Decision != nil && g.Decision.Verdict == posthouse.Respond {
			return true
		}
	}
	return false
}

// Wait makes what the use waits for what the execution waits for, and returns
// [posthouse.ErrWaiting]. Nothing of its function runs.
func (e *Effect) Wait() error {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made().open = append(t.made().open, t.replay.WaitWithin(e.call.within(""))...)
	return posthouse.ErrWaiting
}

// GoOn puts on record that the use runs again, under the decision that it was released under,
// which it returns. Nothing is checked again: it has begun.
func (e *Effect) GoOn(ctx context.Context) error {
	under, err := e.call.task.session.Gate(ctx, e.Under())
	if err != nil {
		return err
	}
	if err := e.call.recordAttempt(ctx, effect.RecordBegins, uint32(e.Use().Attempts()), under.ID, Attempt{}); err != nil {
		return err
	}
	e.call.opt.Grant, e.under = under.ID, under
	return nil
}

// Again forgets what the function of the use asked for: it runs once more.
func (e *Effect) Again() { e.call.task.rewind(e.call.within("")) }

// Park puts on record that the use waits for something, with the checkpoint that opens it, and
// reports whether it does. The use is then not over, whatever its function returned.
func (e *Effect) Park(ctx context.Context) (bool, error) {
	t := e.call.task
	prefix := e.call.within("")
	t.mu.Lock()
	asks, open := false, false
	for i := range t.made().questions {
		asks = asks || strings.HasPrefix(t.made().questions[i].Name, prefix)
	}
	for _, g := range t.made().open {
		open = open || strings.HasPrefix(g.Name, prefix)
	}
	t.mu.Unlock()
	if !asks && !open {
		return false, nil
	}
	newest := uint32(e.Use().Attempts() - 1)
	if !asks { // there may be no checkpoint
		return true, e.call.recordAttempt(context.WithoutCancel(ctx), effect.RecordParks, newest, e.under.ID, Attempt{})
	}
	v, err := json.Marshal(Attempt{})
	if err != nil {
		return true, err
	}
	t.Records().Hold(posthouse.Step{
		Name: e.call.within(effect.RecordParks), Occurrence: newest, Effect: e.call.opt.Effect, Grant: e.under.ID,
		Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: v},
	})
	return true, nil
}

// Context returns the context for the function of the use: tasks that are opened below it are
// of the use, and [StepKey] is the use's. An attempt that repeats one of unknown outcome has its
// key. An attempt on another branch, or in the original of a copy, is another use.
func (e *Effect) Context(ctx context.Context) (context.Context, error) {
	first, u := e.under.ID, e.Use()
	begun, _ := u.Open()
	for i := begun; i+1 < u.Attempts(); i++ {
		g, err := e.call.task.session.Gate(ctx, u.Grant(i))
		if err == nil && e.isHere(g) {
			first = g.ID
			break
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return nil, err
		}
	}
	ctx = context.WithValue(ctx, keyUse, e)
	if sc := e.call.task.scopeOf(ctx); sc != nil && u.Grant(0) != first { // else the key of earlier versions
		own := *sc
		own.under = first
		ctx = context.WithValue(ctx, keyScope, &own)
	}
	e.key, _ = StepKey(ctx)
	e.lapsed.Store(false)
	return ctx, nil
}

// useOf returns the use that runs its function with ctx, nil outside of a use.
func (t *Task) useOf(ctx context.Context) *Effect {
	if e, _ := ctx.Value(keyUse).(*Effect); e != nil && e.call.task == t {
		return e
	}
	return nil
}

// reopens reports whether a task on record does not count any more for the use that runs: it
// was handed out under another decision, was settled as not done, or was taken back by an engine
// while its decision holds.
//
// One that is complete stays, unless its output does not fit and people had it done again.
func (e *Effect) reopens(ctx context.Context, g *posthouse.Gate, as commit.Output) bool {
	d := g.Decision
	if d == nil || d.Verdict == posthouse.Respond && (as.Misfit(d.Value) == "" || e.Use().Settled() <= d.Seq) {
		return false
	}
	if d.Verdict == posthouse.Respond {
		return true
	}
	t := e.call.task
	if g.Call.Grant != "" && g.Call.Grant != e.under.ID || g.Branch != t.session.Branch() {
		return true
	}
	t.mu.Lock()
	u := e.read()
	t.mu.Unlock()
	claimed := u.HasClaim(g.Call.ID)
	if !isAlive(g) && u.Settled() > d.Seq {
		return true
	}
	return isTakenBack(g) && !claimed && (g.Call.Grant == "" || e.Holds == nil || e.Holds(ctx, e.under) == nil)
}

// Lapsed reports whether the function found that a task was taken back before a worker had it,
// because the decision holds no more. The effect is then asked for again, also where other parts
// of it have acted.
func (e *Effect) Lapsed() bool { return e.lapsed.Load() }

// isTakenBack reports whether an engine withdrew a task before a worker had it.
func isTakenBack(g *posthouse.Gate) bool {
	d := g.Decision
	return d != nil && d.Verdict == posthouse.Cancel && d.By == posthouse.RuntimeActor && d.Successor == ""
}

// goesOn returns the call of a task that an engine took back, if it goes on where it was: with its
// attempts, and its key. It is nil for one that begins.
func (e *Effect) goesOn(g *posthouse.Gate) *posthouse.TaskCall {
	if !isTakenBack(g) || g.Call.Grant != e.under.ID || g.Branch != e.call.task.session.Branch() {
		return nil
	}
	c := *g.Call
	c.Checks, c.Checked = e.Checks, e.Checks
	return &c
}

// open fills in what a task's call says of the use. The first task of a use has its key.
func (e *Effect) open(name string, c *posthouse.TaskCall) {
	c.Grant, c.Use, c.Effect, c.Checks = e.under.ID, e.call.label(), e.call.opt.Effect, e.Checks
	c.Key = e.key
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	others := func(g *posthouse.Gate) bool { return g.Call != nil && g.Name != name }
	for _, g := range e.gates() {
		if others(g) {
			c.Key += "/" + strings.TrimPrefix(name, e.call.within(""))
			return
		}
	}
	for i := range t.made().questions {
		if g := &t.made().questions[i]; strings.HasPrefix(g.Name, e.call.within("")) && others(g) {
			c.Key += "/" + strings.TrimPrefix(name, e.call.within(""))
			return
		}
	}
}

// unfit returns the error of a task that is complete with what the program cannot read: the effect
// happened, or not, and people are asked, with what its worker said.
func (e *Effect) unfit(g *posthouse.Gate, why string) error {
	t := e.call.task
	t.mu.Lock()
	e.reply = effect.NewReply(g, g.Decision.By, g.Decision.Value, why)
	t.mu.Unlock()
	return &runs.RemoteError{
		Task: g.Call.Task, Gate: g.ID, Worker: g.Decision.By, Attempts: g.Call.Attempt, Reason: "its output does not fit: " + why, Unknown: true,
	}
}

// unknown returns the error of a task that ended while a worker may have acted, nil if its
// worker said that it did not, or never had it.
func (e *Effect) unknown(g *posthouse.Gate) error {
	d := g.Decision
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	if !d.Unknown && ((d.Verdict != posthouse.Expire && d.Verdict != posthouse.Cancel) || !e.read().HasClaim(g.Call.ID)) {
		return nil
	}
	return &runs.RemoteError{Task: g.Call.Task, Gate: g.ID, Worker: d.By, Attempts: g.Call.Attempt, Reason: d.Reason, Unknown: true}
}
