package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/runs"
)

// A UseState says how far the use of a grant has come, on record.
type UseState int

// The states of a use.
const (
	UseFresh     UseState = iota // nothing of it has begun here, or it is known not to have acted
	UseUnknown                   // it may have acted, and nothing goes on that would tell
	UseWaits                     // it waits, as it did when the execution was parked
	UseGoesOn                    // something that it waited for is over
	UseWithdrawn                 // what it waited for was taken back before a worker had it
)

// State returns how far the use has come, and the number of its newest attempt, from 1. A use
// that began on another branch or in another thread goes on there: here it is fresh.
func (e *Effect) State(ctx context.Context) (UseState, int, error) {
	released, failed := e.countAttempts()
	if released <= failed {
		if e.isClaimed() { // a worker has had a task since then: an earlier version did not wait for it
			return UseUnknown, int(released), nil
		}
		return UseFresh, int(released), nil
	}
	for i := failed; i < released; i++ {
		if !e.isParked(i) {
			return UseUnknown, int(released), nil
		}
	}
	under, err := e.call.task.session.Gate(ctx, e.Under())
	if errors.Is(err, posthouse.ErrNotFound) {
		return UseUnknown, int(released), nil
	}
	if err != nil {
		return UseFresh, 0, err
	}
	if !e.isHere(under) {
		return UseFresh, int(released), nil
	}
	return e.parkedState(released - 1), int(released), nil
}

// isHere reports whether a gate is of the branch that runs, and no copy.
func (e *Effect) isHere(g *posthouse.Gate) bool {
	s := e.call.task.session
	return g.Origin == "" && g.Thread == s.Thread() && g.Branch == s.Branch()
}

func (e *Effect) isParked(attempt uint32) bool {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replay.Result(e.call.within(handler.UseParked), attempt) != nil
}

// parkedState looks at what an attempt waits for.
func (e *Effect) parkedState(attempt uint32) UseState {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	parked := t.replay.Result(e.call.within(handler.UseParked), attempt).Seq
	claimed := e.claimedCalls()
	now := t.session.Ledger().Now()
	var open, news, tasks, withdrawn int
	for _, g := range e.gates() {
		switch d := g.Decision; {
		case d == nil && (g.ExpiresAt.IsZero() || now.Before(g.ExpiresAt)):
			open++
		case d == nil || d.Seq > parked || parked == 0:
			news++
		}
		if g.Call == nil {
			continue
		}
		tasks++
		if !isAlive(g) {
			withdrawn++
			continue
		}
		delete(claimed, g.Call.ID)
	}
	switch {
	case len(claimed) > 0:
		return UseUnknown
	case tasks == withdrawn && open == 0 && !e.acted():
		return UseWithdrawn
	case open > 0 && news == 0 && parked != 0:
		return UseWaits
	}
	return UseGoesOn
}

// isAlive reports whether the program learns from a task's gate what became of it: it is open,
// or has the word of the task's worker.
func isAlive(g *posthouse.Gate) bool {
	d := g.Decision
	return d == nil || d.Verdict == posthouse.Respond || d.Verdict == commit.Parked || d.Verdict == posthouse.Reject && !d.Unknown
}

// claimedCalls returns the tasks of the use that a worker has had without saying that its
// attempt did not act, since the use was last known not to have acted. Callers hold t.mu.
func (e *Effect) claimedCalls() map[posthouse.ID]bool {
	calls := map[posthouse.ID]bool{}
	failed, just := e.lastFailed()
	if just {
		return calls
	}
	undone := map[posthouse.ID]bool{}
	for _, u := range e.workers(handler.UseUndone, failed) {
		undone[u.Gate] = true
	}
	for _, u := range e.workers(handler.UseClaimed, failed) {
		if !undone[u.Gate] {
			calls[u.Call] = true
		}
	}
	return calls
}

// workers returns what is on record of workers that had tasks of the use, after an entry.
// Callers hold t.mu.
func (e *Effect) workers(name string, after uint64) (all []commit.UseRecord) {
	for _, s := range e.call.task.replay.Results(e.call.within(name)) {
		var u commit.UseRecord
		if s.Seq > after && json.Unmarshal(s.Value.Data, &u) == nil {
			all = append(all, u)
		}
	}
	return all
}

// saidNotDone reports whether the worker that had a task of the use said that nothing happened.
func (e *Effect) saidNotDone(g *posthouse.Gate) bool {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	return !g.Decision.Unknown && slices.ContainsFunc(e.workers(handler.UseUndone, 0), func(u commit.UseRecord) bool { return u.Gate == g.ID && u.NotDone })
}

// lastFailed returns the last entry that says that the use did not act, 0 if there is no such
// entry. Just says that this run has recorded it. Callers hold t.mu.
func (e *Effect) lastFailed() (seq uint64, just bool) {
	n := e.call.countWithin(handler.UseFailed)
	if n == 0 {
		return 0, false
	}
	seq = e.call.task.replay.Result(e.call.within(handler.UseFailed), n-1).Seq
	return seq, seq == 0
}

// acted reports whether steps within the use have results that say more than what was read.
// Callers hold t.mu.
func (e *Effect) acted() bool {
	return e.call.task.replay.Acted(e.call.within(""))
}

// gates returns the newest gate of each wait and question within the use. Callers hold t.mu.
func (e *Effect) gates() []*posthouse.Gate { return e.call.task.replay.Within(e.call.within("")) }

// Acted reports whether results of steps or tasks within the use are on record, also of an
// earlier decision or another branch.
func (e *Effect) Acted() bool {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.acted() {
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
	released, _ := e.countAttempts()
	if err := e.call.recordAttempt(ctx, handler.UseReleased, released, under.ID, Attempt{}); err != nil {
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
	released, _ := e.countAttempts()
	if !asks { // there may be no checkpoint
		return true, e.call.recordAttempt(context.WithoutCancel(ctx), handler.UseParked, released-1, e.under.ID, Attempt{})
	}
	v, err := json.Marshal(Attempt{})
	if err != nil {
		return true, err
	}
	t.Records().Hold(posthouse.Step{
		Name: e.call.within(handler.UseParked), Occurrence: released - 1, Effect: e.call.opt.Effect, Grant: e.under.ID,
		Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: v},
	})
	return true, nil
}

// Context returns the context for the function of the use: tasks that are opened below it are
// of the use, and [StepKey] is the use's. An attempt that repeats one of unknown outcome has its
// key. An attempt on another branch, or in the original of a copy, is another use.
func (e *Effect) Context(ctx context.Context) (context.Context, error) {
	first := e.under.ID
	released, failed := e.countAttempts()
	for i := failed; i+1 < released; i++ {
		g, err := e.call.task.session.Gate(ctx, e.gateOf(i))
		if err == nil && e.isHere(g) {
			first = g.ID
			break
		}
		if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
			return nil, err
		}
	}
	ctx = context.WithValue(ctx, keyUse, e)
	if sc := e.call.task.scopeOf(ctx); sc != nil && e.gateOf(0) != first { // else the key of earlier versions
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
func (e *Effect) reopens(ctx context.Context, g *posthouse.Gate) bool {
	d := g.Decision
	if d == nil || d.Verdict == posthouse.Respond {
		return false
	}
	t := e.call.task
	if g.Call.Grant != "" && g.Call.Grant != e.under.ID || g.Branch != t.session.Branch() {
		return true
	}
	t.mu.Lock()
	seq, just := e.lastFailed()
	claimed := e.claimedCalls()[g.Call.ID]
	t.mu.Unlock()
	if !isAlive(g) && (just || seq > d.Seq) {
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

// isClaimed reports whether a worker has had a task of the use, and has not said that it did not
// act.
func (e *Effect) isClaimed() bool {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(e.claimedCalls()) > 0
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

// unknown returns the error of a task that ended while a worker may have acted, nil if its
// worker said that it did not, or never had it.
func (e *Effect) unknown(g *posthouse.Gate) error {
	d := g.Decision
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	if !d.Unknown && ((d.Verdict != posthouse.Expire && d.Verdict != posthouse.Cancel) || !e.claimedCalls()[g.Call.ID]) {
		return nil
	}
	return &runs.RemoteError{Task: g.Call.Task, Gate: g.ID, Worker: d.By, Attempts: g.Call.Attempt, Reason: d.Reason, Unknown: true}
}
