package posthouse

import (
	"context"
	"errors"
	"time"
)

// AskAgainOptions say who has a question asked again. Nil is the zero value.
type AskAgainOptions struct {
	By string // who wants it asked; on the new checkpoint's record
}

// AskAgain asks a people's question again that nobody answered: one whose deadline
// passed, or that was withdrawn. The new gate shows the same, under a new id and
// with as much time as the old one had.
//
// While the checkpoint that waited is its branch's head, the question is asked in
// place, by a child of that checkpoint, and Supersedes names the old gate. A branch
// that has gone on, and a session's question, are not undone: the gate's checkpoint
// is forked onto a new branch, which waits there with the question open again.
//
// [ErrNotFound]; [ErrInvalid] for a gate that asks no people; [ErrConflict] for one
// that is open, or that another gate replaced (Error.Gate); [ErrDecided] for one
// that a person or a policy decided; and the errors of [Ledger.Commit] and
// [Ledger.Fork].
func (l *Ledger) AskAgain(ctx context.Context, gate ID, o *AskAgainOptions) (*Gate, error) {
	if o == nil {
		o = &AskAgainOptions{}
	}
	if err := CheckPerson("by", o.By); err != nil {
		return nil, err
	}
	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	if g.lapsed(l.Now()) {
		if _, err = l.Expire(ctx, gate); err != nil && !errors.Is(err, ErrDecided) {
			return nil, err
		}
		if g, err = l.Gate(ctx, gate); err != nil {
			return nil, err
		}
	}
	if err := g.mayAskAgain(); err != nil {
		return nil, err
	}
	for o, err := range l.Gates(ctx, GateQuery{Thread: g.Thread}) {
		if err == nil && o.Supersedes == g.ID {
			return nil, g.replaced(o.ID)
		}
	}
	for try := 0; ; try++ {
		again, err := l.askInPlace(ctx, g, o.By)
		if again != nil || err != nil && (!errors.Is(err, ErrConflict) || try == maxRetries) {
			return again, err
		}
		if err == nil {
			return l.askOnFork(ctx, g, o.By)
		}
	}
}

// MayAskAgain returns why [Ledger.AskAgain] would refuse a gate, as far as the gate
// itself says; nil if it would not.
func (g *Gate) MayAskAgain(now time.Time) error {
	if g.lapsed(now) {
		return nil
	}
	return g.mayAskAgain()
}

// lapsed reports whether a gate's deadline passed, and nothing is on record of that.
func (g *Gate) lapsed(now time.Time) bool {
	return g.Decision == nil && g.AsksPeople() && !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt)
}

// mayAskAgain returns why a question is not to be asked again.
func (g *Gate) mayAskAgain() error {
	switch d := g.Decision; {
	case !g.AsksPeople():
		return invalid("gate", "%s waits for a %s and asks nobody", g.ID, g.Kind)
	case d == nil:
		return &Error{
			Code: CodeConflict, Message: "gate " + string(g.ID) + " is open", Hint: "decide it: posthouse approve " + string(g.ID),
		}
	case d.Successor != "":
		return g.replaced(d.Successor)
	case d.Verdict != Expire && !g.Withdrawn():
		return &Error{
			Code: CodeDecided, Decision: d, Message: "gate " + string(g.ID) + " was decided: " + string(d.Verdict) + " by " + d.By,
			Hint: "the decision stands; replay the checkpoint " + string(g.Checkpoint) + " to ask again in a fork",
		}
	}
	return nil
}

func (g *Gate) replaced(by ID) error {
	return &Error{
		Code: CodeConflict, Gate: by, Message: "gate " + string(g.ID) + " was asked again", Hint: "look at gate " + string(by) + ", which asks in its place",
	}
}

// askInPlace opens the question at its branch's head, if that is still the
// checkpoint that waited with it; nil if the branch has gone on.
func (l *Ledger) askInPlace(ctx context.Context, g *Gate, by string) (*Gate, error) {
	info, err := l.Thread(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	head, _ := info.Branch(g.Branch)
	if head.Head != g.Checkpoint || g.Kind == GateSession {
		return nil, nil
	}
	c, err := l.get(ctx, g.Checkpoint)
	if err != nil {
		return nil, err
	}
	again := *g.clone()
	again.ID, again.Supersedes, again.Decision, again.Origin = "", g.ID, nil, ""
	again.renew(l.Now())
	done, err := l.Commit(ctx, &Draft{
		Thread: g.Thread, Branch: g.Branch, Head: &head.Head, KeepOpen: true, Gates: []Gate{again},
		Checkpoint: c.next(KindWait, StatusWaiting, by),
	})
	if err != nil {
		return nil, err
	}
	return &done.Gates[0], nil
}

// askOnFork opens the question on a new branch.
func (l *Ledger) askOnFork(ctx context.Context, g *Gate, by string) (*Gate, error) {
	f, err := l.Fork(ctx, g.Checkpoint, &ForkOptions{By: by})
	if err != nil {
		return nil, err
	}
	content := g.Content()
	for _, id := range f.Gates {
		again, err := l.Gate(ctx, id)
		if err != nil {
			return nil, err
		}
		if again.Name == g.Name && again.Task == g.Task && again.Occurrence == g.Occurrence && again.Content() == content {
			return again, nil
		}
	}
	return nil, &Error{
		Code: CodeConflict, Head: f.ID, Message: "the fork " + string(f.ID) + " of checkpoint " + string(g.Checkpoint) + " does not ask it",
		Hint: "resume the branch " + f.Branch + ", and see what it asks",
	}
}
