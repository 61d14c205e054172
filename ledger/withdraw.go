package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// A Withdrawal says who takes a question back, and why.
type Withdrawal struct {
	// By is a requester of the question, the operator, or [posthouse.RuntimeActor] for the program itself.
	By     string
	Actor  string // who sends it, when an operator acts for By
	Reason string // at most 4,000 bytes

	// Operator says that By, or Actor, operates the store. The caller has checked that: the Ledger knows no
	// roles. An operator may withdraw any gate, also a wait that asks no person.
	Operator bool

	Shown posthouse.Hash // of the gate that was looked at; zero: not checked
}

// Withdraw takes a question back, with the verdict [posthouse.Cancel], and makes its branch runnable, in one
// commit. It is no decision: who may decide a gate may not withdraw it for that. A requester of a question to
// people may, an operator, and the program, which is [posthouse.RuntimeActor].
//
// It fails with [posthouse.ErrForbidden] for anybody else, with [posthouse.ErrConflict] if w.Shown is not the hash
// of the gate's entry, and like [Ledger.Decide] for a gate that does not wait. Options.Policy is not asked.
func (l *Ledger) Withdraw(ctx context.Context, gate posthouse.ID, w Withdrawal) (*posthouse.Gate, error) {
	program := w.By == posthouse.RuntimeActor && w.Actor == ""
	if !program {
		if err := posthouse.CheckDecider("by", w.By); err != nil {
			return nil, err
		}
	}
	if err := posthouse.CheckPerson("actor", w.Actor); err != nil {
		return nil, err
	}
	switch {
	case w.Actor != "" && !w.Operator:
		return nil, posthouse.Invalid("actor", "acts for others as an operator only")
	case len(w.Reason) > posthouse.MaxText || !text.IsUTF8(w.Reason):
		return nil, posthouse.Invalid("reason", "must be at most %d bytes of text", posthouse.MaxText)
	}
	return commit.Decide(ctx, l.core, commit.GateRef{Gate: gate}, func(_ *core.Tx, g *posthouse.Gate) (*posthouse.Decision, error) {
		if !program && !w.Operator {
			if err := deciders.MayWithdraw(g, w.By); err != nil {
				return nil, err
			}
		}
		if err := checkShown(g, w.Shown); err != nil {
			return nil, err
		}
		return &posthouse.Decision{Verdict: posthouse.Cancel, By: w.By, Actor: w.Actor, Reason: w.Reason}, nil
	})
}

// checkShown returns why what somebody looked at is not what a gate asks, or nil.
func checkShown(g *posthouse.Gate, shown posthouse.Hash) error {
	if shown.IsZero() || shown == g.Hash {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Message: "what was shown is not what gate " + string(g.ID) + " asks about", Hint: "look at it again, then decide",
	}
}
