package engine

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/story"
)

type contextKey int

const (
	keyTask contextKey = iota
	keyScope
	keyOrder
	keyDrain
	keyClock
	keyHorizon
	keyPrincipal
	keySender
	keyUse
	keyTrace
)

// With returns a context that carries the task to [From]. It is called once.
func (t *Task) With(ctx context.Context) context.Context {
	t.around = ctx
	return (*taskContext)(t)
}

// A taskContext is a task as the context of its code, so that a node that records nothing
// allocates no context. It answers like the context around, except for keyTask.
type taskContext Task

func (c *taskContext) Deadline() (time.Time, bool) { return c.around.Deadline() }
func (c *taskContext) Done() <-chan struct{}       { return c.around.Done() }
func (c *taskContext) Err() error                  { return c.around.Err() }

func (c *taskContext) Value(key any) any {
	switch key {
	case keyTask:
		return (*Task)(c)
	case commit.Behalf{}:
		return commit.Actor(c)
	}
	return c.around.Value(key)
}

// From returns the task that a model put into ctx.
func From(ctx context.Context) (*Task, bool) {
	t, ok := ctx.Value(keyTask).(*Task)
	return t, ok
}

// TaskOf is [From] for code that needs a task. Outside of a task it returns
// [posthouse.ErrInvalid] with the name of the called function.
func TaskOf(ctx context.Context, what string) (*Task, error) {
	if t, ok := From(ctx); ok {
		return t, nil
	}
	return nil, &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "context", Message: "of " + what + " carries no task",
		Hint: "call it below a node, flow or handler, with the context it was given",
	}
}

// A scope is the step or call that a context is for.
type scope struct {
	task       *Task
	name       string // in full, with the scopes around it
	occurrence uint32
	outer      string          // the name of the outermost of them
	attempt    int             // of the step, from 1
	under      posthouse.ID    // the gate of a use, if it is not the first that the step acts under
	notes      *story.Notebook // of the attempt; nil outside of the attempts of steps
}

// scopeOf returns the scope of the task that ctx is in, nil outside of a scope.
func (t *Task) scopeOf(ctx context.Context) *scope {
	if sc, _ := ctx.Value(keyScope).(*scope); sc != nil && sc.task == t {
		return sc
	}
	return nil
}

// Scope returns the context for the body of a call. Steps and questions below it are
// named under the call ("call>name"), because a replay that has the call's result does
// not ask for them. [Task.Do] does this for its function. A model that uses
// [Records.Recorded] and [Records.Hold] does it itself, with the record of Recorded.
func (t *Task) Scope(ctx context.Context, name string, occurrence uint32) context.Context {
	return t.inside(ctx, name, occurrence, 1, nil)
}

// inside is Scope of one attempt. Without notes of its own it has those around it.
func (t *Task) inside(ctx context.Context, name string, occurrence uint32, attempt int, notes *story.Notebook) context.Context {
	outer, under := name, posthouse.ID("")
	if sc := t.scopeOf(ctx); sc != nil {
		outer, under, notes = sc.outer, sc.under, cmp.Or(notes, sc.notes)
	}
	return context.WithValue(ctx, keyScope, &scope{t, name, occurrence, outer, attempt, under, notes})
}

// Scoped returns the name under which a call of name below ctx is recorded: what
// a model passes to [Records.Recorded].
func (t *Task) Scoped(ctx context.Context, name string) string {
	if sc := t.scopeOf(ctx); sc != nil {
		return replay.CallName(sc.name, sc.occurrence) + replay.Nested + name
	}
	return name
}

// StepKey returns thread/task/name/occurrence of the step whose function ctx was given
// to. It is the same at each attempt, and no other step's. From the second generation on
// the thread is followed by @generation, since a released thread acts again under its
// name. A branch other than main adds ~branch: a fork acts again. A branch that began after
// another of the thread was deleted adds ~branch@entry, the entry of that removal, since it
// may have the deleted one's name. In the names of thread and branch @ and ~ are escaped, too. A use of a grant under another decision than the
// step's first adds that decision's gate.
func StepKey(ctx context.Context) (string, bool) {
	sc, ok := ctx.Value(keyScope).(*scope)
	if !ok {
		return "", false
	}
	thread := keyName(sc.task.session.Thread())
	if g := sc.task.session.Lease().Generation(); g > 1 {
		thread += "@" + strconv.FormatUint(uint64(g), 10)
	}
	b, birth := sc.task.session.Branch(), sc.task.session.Birth()
	if b != posthouse.MainBranch || birth != 0 {
		thread += "~" + keyName(b)
	}
	if birth != 0 {
		thread += "@" + strconv.FormatUint(birth, 10)
	}
	key := thread + "/" + sc.task.Key() + "/" + sc.name + "/" + strconv.Itoa(int(sc.occurrence))
	if sc.under != "" {
		key += "/" + string(sc.under)
	}
	return key, true
}

// keyName returns a name as it stands in a step's key.
func keyName(name string) string {
	return strings.NewReplacer("@", "%40", "~", "%7E").Replace(posthouse.EscapeName(name))
}

// An order says what the places of steps mean to a replay, if not everything.
type order int

const (
	unordered order = iota + 1
	beside
)

// Unordered returns a context below which steps may run at once. No order is
// expected of them, nor of any step of the execution after them.
func Unordered(ctx context.Context) context.Context {
	return context.WithValue(ctx, keyOrder, unordered)
}

// Beside returns a context for steps that run beside each other: see [Task.Call]. They
// are begun one after another, in the same order each time.
func Beside(ctx context.Context) context.Context {
	return context.WithValue(ctx, keyOrder, beside)
}

// WithDrain returns a context that asks its programs to stop between two
// nodes once drain is closed.
func WithDrain(ctx context.Context, drain <-chan struct{}) context.Context {
	return context.WithValue(ctx, keyDrain, drain)
}

// Draining reports whether a program should stop before its next node. Models ask before
// each node. The branch keeps its status running; its next holder goes on from its head.
func Draining(ctx context.Context) bool { return Closed(DrainOf(ctx)) }

// Closed reports whether a channel without values, such as DrainOf's, is
// closed.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// DrainOf returns the channel of [WithDrain], nil outside of it.
func DrainOf(ctx context.Context) <-chan struct{} {
	drain, _ := ctx.Value(keyDrain).(<-chan struct{})
	return drain
}
