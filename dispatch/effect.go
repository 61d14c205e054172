package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/tasklog"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// maxMoves bounds how often an effect's record is read again because the log went on.
const maxMoves = 100

// maxBegun bounds how often one claim begins an effect. A handler that runs to its end does once.
const maxBegun = 20

// effects begin and end by what is on record of them.
type effects struct {
	ledger *ledger.Ledger
	core   *core.Core
	log    *tasklog.Log
	claims *claims.Claims
}

// An effect is what a call is about a handler's effect, with what is on record of it.
type effect struct {
	*effects
	claim  *claims.Claim
	worker string
	task   license.Task
	state  *license.State
	tail   uint64 // the last entry that was read
}

// read reads what is on record of an effect of a claim's handler.
func (f *effects) read(ctx context.Context, c *claims.Claim, worker string, u *handler.Use) (*effect, error) {
	info, err := f.ledger.Thread(ctx, c.Gate.Thread)
	if err != nil {
		return nil, err
	}
	e := &effect{effects: f, claim: c, worker: worker, tail: info.Tail.Seq}
	e.task, err = f.log.Licensed(ctx, c.Gate)
	if err != nil {
		return nil, err
	}
	e.state = e.task.State(u)
	return e, nil
}

// change calls try with what is on record, again if the log went on before its records were
// there. An error that says that the task is over means that the claim is lost.
func (f *effects) change(ctx context.Context, id task.ClaimID, u *handler.Use, try func(*effect) error) error {
	for range maxMoves {
		c, slot, err := f.claims.Find(ctx, id)
		if err != nil {
			return err
		}
		e, err := f.read(ctx, c, slot.Worker, u)
		if err != nil {
			return err
		}
		err = try(e)
		if !errors.Is(err, commit.ErrMoved) {
			return err
		}
	}
	return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "thread " + string(id.Gate) + " is written to all the time", Hint: "try again"}
}

// put puts records on record, unless the log went on since it was read.
func (e *effect) put(ctx context.Context, steps []posthouse.Step) error {
	err := e.claim.Steps().RecordUse(ctx, e.core, commit.RefOf(e.claim.Gate), e.tail, steps)
	if isOver(err) {
		e.claims.Forget(e.claim)
		return claims.Lost(e.claim.ID)
	}
	return err
}

// mark returns a record of an attempt that this claim makes.
func (e *effect) mark(what string, n uint32, class posthouse.Effect, grant posthouse.ID, nonce, failed string) (posthouse.Step, error) {
	c := e.claim.Gate.Call
	u := commit.HandlerUse{
		UseRecord: commit.UseRecord{Gate: e.claim.Gate.ID, Call: c.ID, Worker: WorkerPrefix + e.worker, Attempt: c.Attempt},
		Fence:     e.claim.ID.Fence, Nonce: nonce, Error: failed,
	}
	return u.Step(e.state.Effect, what, n, class, grant)
}

// own reports whether this claim began the newest attempt, and by which call.
func (e *effect) own() (nonce string, mine bool, err error) {
	s := e.state.Newest()
	if s == nil {
		return "", false, nil
	}
	u, err := commit.ReadHandlerUse(s.Value.Data)
	return u.Nonce, err == nil && u.Gate == e.claim.Gate.ID && u.Fence == e.claim.ID.Fence, err
}

// key is that of the use: of the first decision here under which it may have happened. A use that
// began on another branch or in the original of a copy is another one, with a key of its own.
func (e *effect) key(ctx context.Context, under posthouse.ID) (string, error) {
	for i := len(e.state.Undone); i < len(e.state.Begun); i++ {
		g, err := e.task.Under(ctx, e.state.Begun[i].Grant)
		if err != nil {
			return "", err
		}
		if g != nil && g.Decision != nil && license.Here(g, e.task.Thread, e.task.Branch) == nil {
			under = g.ID
			break
		}
	}
	return e.keyUnder(under), nil
}

func (e *effect) keyUnder(gate posthouse.ID) string {
	return string(gate) + "/" + e.claim.Gate.Task + "/" + e.state.Effect
}

// mayCall refuses a call if its attempt has ended, or after too many calls of its claim. A repeated
// call that comes late begins no other attempt.
func (e *effect) mayCall(nonce string) error {
	n := 0
	for i := range e.state.Begun {
		u, err := commit.ReadHandlerUse(e.state.Begun[i].Value.Data)
		if err != nil || u.Gate != e.claim.Gate.ID || u.Fence != e.claim.ID.Fence {
			continue
		}
		if n++; u.Nonce == nonce && (i < len(e.state.Undone) || i < len(e.state.Begun)-1) {
			return &posthouse.Error{
				Code: posthouse.CodeForbidden, Field: "nonce", Message: "the attempt that this call began has ended",
				Hint: "a further attempt is another call: give it a nonce of its own",
			}
		}
	}
	if n >= maxBegun && !e.state.IsOpen() {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "effect", Message: fmt.Sprintf("began %d times in this attempt of the task, which is the limit", n),
			Hint: "give the task's verdict: its next attempt may begin it",
		}
	}
	return nil
}

// Begin implements [task.Engine].
func (d *Dispatcher) Begin(ctx context.Context, id task.ClaimID, b task.Beginning) (out *task.Begun, err error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	err = d.effects.change(ctx, id, (*handler.Use)(&b.Use), func(e *effect) (err error) {
		out, err = e.begin(ctx, &b)
		return err
	})
	return out, err
}

func (e *effect) begin(ctx context.Context, b *task.Beginning) (*task.Begun, error) {
	if e.state.Result != nil {
		return e.result(ctx, b)
	}
	if err := e.mayCall(b.Nonce); err != nil {
		return nil, err
	}
	nonce, mine, err := e.own()
	if err != nil {
		return nil, err
	}
	if mine && e.state.IsOpen() {
		if nonce != b.Nonce {
			return nil, &posthouse.Error{
				Code: posthouse.CodeForbidden, Field: "nonce", Message: "effect " + b.Use.Name + " was begun by another call of this claim, which has not ended",
				Hint: "wait for that call: one use of a grant has one attempt at a time",
			}
		}
		under, err := e.task.Under(ctx, e.state.Newest().Grant)
		if err != nil || under == nil {
			return nil, errors.Join(err, claims.Lost(e.claim.ID))
		}
		key, err := e.key(ctx, under.ID)
		if err != nil {
			return nil, err
		}
		return &task.Begun{Begins: true, Gate: under, Key: key}, nil
	}
	return e.beginAttempt(ctx, b)
}

// result returns the recorded result of an effect, unless it ran on other content than the grant
// licenses.
func (e *effect) result(ctx context.Context, b *task.Beginning) (*task.Begun, error) {
	ran := e.state.Result.Grant
	if ran != "" && ran != b.Use.Grant {
		now, err := e.task.Grant(b.Use.Grant)
		if err != nil {
			return nil, err
		}
		before, err := e.task.Under(ctx, ran)
		if err != nil {
			return nil, err
		}
		if before != nil && before.Decision != nil && !license.SameContent(before, now) {
			return nil, license.Conflict(b.Use.Name, before, now.ID)
		}
	}
	return &task.Begun{Result: &e.state.Result.Value}, nil
}

// errFindOut says that the handler is to find out what became of an attempt.
var errFindOut = errors.New("find out")

// beginAttempt finds out whether an effect without a result may run. It records what is known of
// earlier attempts, and that this one begins.
func (e *effect) beginAttempt(ctx context.Context, b *task.Beginning) (*task.Begun, error) {
	asks := &task.Begun{}
	var reconcile func(*posthouse.Gate, int) (bool, error)
	if b.Reconciles {
		reconcile = func(under *posthouse.Gate, attempt int) (bool, error) {
			if b.Found == nil || b.Found.Attempt != attempt {
				asks.Gate, asks.Unknown = under, attempt
				return false, errFindOut
			}
			return b.Found.Done, nil
		}
	}
	s, err := e.task.Resolve(ctx, e.task.Recorded(e.state.Effect), (*handler.Use)(&b.Use), reconcile)
	switch {
	case errors.Is(err, errFindOut):
		return asks, nil
	case errors.Is(err, posthouse.ErrWaiting):
		return &task.Begun{Waits: true}, nil
	case err != nil:
		return nil, err
	case s.Before != nil:
		return e.happened(ctx, b, s)
	case b.Look, b.Passed != "" && b.Passed != s.Under.ID:
		return &task.Begun{Gate: s.Under}, nil
	}
	uses, by, err := ledger.UsesOfEdit(ctx, e.ledger, s.Under)
	if err != nil {
		return nil, err
	}
	if by != "" {
		return nil, license.Replaced(s.Under, by)
	}
	begun, undone := uint32(len(e.state.Begun)), uint32(len(e.state.Undone))
	if err := license.MayBegin(s.Under, uses, e.claim.Gate.Task, e.state.Effect, begun); err != nil {
		return nil, err
	}
	class := posthouse.EffectExternal
	if b.Use.Idempotent {
		class = posthouse.EffectWrite
	}
	var steps []posthouse.Step
	add := func(what string, n uint32, grant posthouse.ID) {
		var step posthouse.Step
		if err == nil {
			step, err = e.mark(what, n, class, grant, b.Nonce, "")
			steps = append(steps, step)
		}
	}
	key := e.keyUnder(s.Under.ID)
	if !s.Undone {
		key, err = e.key(ctx, s.Under.ID)
	} else {
		for ; undone < begun; undone++ {
			add(handler.UseFailed, undone, e.state.Begun[undone].Grant)
		}
	}
	add(handler.UseReleased, begun, s.Under.ID)
	add(handler.UseClaimed, uint32(e.tail+1), s.Under.ID)
	if err == nil {
		err = e.put(ctx, steps)
	}
	if err != nil {
		return nil, err
	}
	return &task.Begun{Begins: true, Gate: s.Under, Key: key}, nil
}

// happened records the result of an attempt that a person or the handler found out.
func (e *effect) happened(ctx context.Context, b *task.Beginning, s *license.Resolution) (*task.Begun, error) {
	var v posthouse.Value
	if s.Happened != nil {
		v = posthouse.Value{Codec: posthouse.JSON.Name(), Data: s.Happened.Decision.Value}
	} else {
		v = *b.Found.Result
	}
	newest := e.state.Newest()
	step := posthouse.Step{
		Name: e.task.Within + handler.Nested + b.Use.Name, Occurrence: b.Use.Occurrence, Effect: newest.Effect, Grant: s.Before.ID, Value: v,
	}
	if err := e.claim.Steps().FitsUse(&step, e.task.Steps); err != nil {
		return nil, err
	}
	if err := e.put(ctx, []posthouse.Step{step}); err != nil {
		return nil, err
	}
	if s.Other {
		return nil, license.Conflict(b.Use.Name, s.Before, b.Use.Grant)
	}
	return &task.Begun{Result: &v}, nil
}

// End implements [task.Engine].
func (d *Dispatcher) End(ctx context.Context, id task.ClaimID, n task.Ending) error {
	if err := n.Check(); err != nil {
		return err
	}
	return d.effects.change(ctx, id, &handler.Use{Name: n.Name, Occurrence: n.Occurrence}, func(e *effect) error { return e.end(ctx, &n) })
}

func (e *effect) end(ctx context.Context, n *task.Ending) error {
	nonce, mine, err := e.own()
	if err != nil {
		return err
	}
	if !mine || nonce != n.Nonce {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "nonce", Message: "effect " + n.Name + " was not begun by this call of this claim",
			Hint: "begin it first; what an earlier claim began is settled at the next begin",
		}
	}
	s, newest := e.state, e.state.Newest()
	ended := func(same bool) error {
		if same {
			return nil
		}
		return &posthouse.Error{Code: posthouse.CodeExists, Field: "result", Message: "effect " + n.Name + " ended otherwise before", Hint: "the first end counts"}
	}
	switch {
	case s.Result != nil:
		return ended(n.Result != nil && s.Result.Value.Codec == n.Result.Codec && string(s.Result.Value.Data) == string(n.Result.Data))
	case !s.IsOpen():
		return ended(n.Failed != "")
	case n.Failed != "" && len(s.Begun)-len(s.Undone) > 1:
		return nil // an earlier attempt may have acted: this word does not say so of that
	case n.Failed != "":
		failed, err := e.mark(handler.UseFailed, uint32(len(s.Undone)), newest.Effect, newest.Grant, n.Nonce, n.Failed)
		if err != nil {
			return err
		}
		undone, err := e.mark(handler.UseUndone, uint32(e.tail+1), newest.Effect, newest.Grant, n.Nonce, "")
		if err != nil {
			return err
		}
		return e.put(ctx, []posthouse.Step{undone, failed})
	}
	step := posthouse.Step{
		Name: e.task.Within + handler.Nested + n.Name, Occurrence: n.Occurrence, Effect: newest.Effect, Grant: newest.Grant, Value: *n.Result,
	}
	if err := e.claim.Steps().FitsUse(&step, e.task.Steps); err != nil {
		return err
	}
	return e.put(ctx, []posthouse.Step{step})
}
