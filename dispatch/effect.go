package dispatch

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/claims"
	"github.com/posthouse/posthouse/dispatch/internal/tasklog"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task"
)

// maxMoves bounds how often an effect's record is read again because the log went on.
const maxMoves = 100

// effects begin and end by what is on record of them.
type effects struct {
	ledger *ledger.Ledger
	core   *commit.Committer
	log    *tasklog.Log
	claims *claims.Claims
}

// An attempt is what a call is about a handler's effect, with what is on record of it.
type attempt struct {
	*effects
	claim  *claims.Claim
	worker string
	task   license.Task
	state  *license.State
	tail   uint64 // the last entry that was read
}

// read reads what is on record of an effect of a claim's handler.
func (f *effects) read(ctx context.Context, c *claims.Claim, worker string, u *handler.Use) (*attempt, error) {
	info, err := f.ledger.Thread(ctx, c.Gate.Thread)
	if err != nil {
		return nil, err
	}
	e := &attempt{effects: f, claim: c, worker: worker, tail: info.Tail.Seq}
	e.task, err = f.log.Licensed(ctx, c.Gate)
	if err != nil {
		return nil, err
	}
	e.state = e.task.State(u)
	return e, nil
}

// change calls try with what is on record, again if the log went on before its records were
// there. An error that says that the task is over means that the claim is lost.
func (f *effects) change(ctx context.Context, id task.ClaimID, u *handler.Use, try func(*attempt) error) error {
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
func (e *attempt) put(ctx context.Context, steps []posthouse.Step) error {
	err := e.claim.Steps().RecordUse(ctx, e.core, commit.RefOf(e.claim.Gate), e.tail, steps)
	if isOver(err) {
		e.claims.Forget(e.claim)
		return claims.Lost(e.claim.ID)
	}
	return err
}

// mark returns a record of an attempt that this claim makes.
func (e *attempt) mark(what string, n uint32, class posthouse.Effect, grant posthouse.ID, nonce, failed string) (posthouse.Step, error) {
	c := e.claim.Gate.Call
	u := commit.HandlerUse{
		UseRecord: commit.UseRecord{Gate: e.claim.Gate.ID, Call: c.ID, Worker: WorkerPrefix + e.worker, Attempt: c.Attempt},
		Fence:     e.claim.ID.Fence, Nonce: nonce, Error: failed,
	}
	return u.Step(e.state.Effect, what, n, class, grant)
}

// own reports whether this claim began the newest attempt, and by which call.
func (e *attempt) own() (nonce string, mine bool, err error) {
	s := e.state.Newest()
	if s == nil {
		return "", false, nil
	}
	u, err := commit.ReadHandlerUse(s.Value.Data)
	return u.Nonce, err == nil && u.Gate == e.claim.Gate.ID && u.Fence == e.claim.ID.Fence, err
}

// key is that of the use: of the first decision here under which it may have happened. A use that
// began on another branch or in the original of a copy is another one, with a key of its own.
func (e *attempt) key(ctx context.Context, under posthouse.ID) (string, error) {
	open, _ := e.state.Use.Open()
	for i := open; i < len(e.state.Begun); i++ {
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

func (e *attempt) keyUnder(gate posthouse.ID) string {
	return string(gate) + "/" + e.claim.Gate.Task + "/" + e.state.Effect
}
