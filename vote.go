package posthouse

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// maxTrail bounds the votes and assignments of a gate.
const maxTrail = 1000

// vote records a vote and returns the decision it makes, nil if more are
// needed. d was found to be one that its decider may take.
func (a *appending) vote(g *Gate, d *Decision) (*Decision, error) {
	if err := a.roomFor(g); err != nil {
		return nil, err
	}
	d.Gate, d.At, d.Seq = g.ID, toMillis(a.at), a.seq
	a.add(Record{Kind: RecordVote, Vote: &VoteInfo{
		Gate: g.ID, GateSeq: g.Seq, Prior: g.trail, Verdict: d.Verdict, By: d.By,
	}}, encoded(d))
	a.sign = true
	g.Votes = append(slices.Clip(g.Votes), *d)
	v := g.met(a.at)
	if v == "" {
		a.audience(g)
		return nil, nil
	}
	final := *d
	final.Verdict = v
	return &final, nil
}

// mayGive checks the rules of who may decide a gate at a time, and how. Whether
// it still waits, and what the decision carries, is checked elsewhere.
func (g *Gate) mayGive(d *Decision, at time.Time) error {
	forbidden := func(message, hint string) error {
		return &Error{Code: CodeForbidden, Message: message, Hint: hint}
	}
	withdraws := d.Verdict == Cancel
	_, ok := g.decider(d.By, at)
	switch own := g.Quorum == nil && d.Verdict != Reject && !withdraws; {
	case !g.AsksPeople() && !withdraws:
		return forbidden("gate "+string(g.ID)+" waits for a "+g.Kind+", not for a person", "send the signal, wait, or cancel")
	case !g.Allows(d.Verdict):
		return invalid("verdict", "%q is not among those this gate allows: %v", d.Verdict, g.Verdicts)
	case !ok && !withdraws:
		return g.notAssigned(d.By)
	case own && g.excluded(d.By):
		return forbidden(d.By+" asked for this and cannot approve it", ownRequestHint)
	case own && g.excluded(d.Actor):
		return forbidden(d.Actor+" asked for this and cannot approve it in the name of "+d.By+" either", ownRequestHint)
	case g.Quorum != nil && !withdraws:
		return g.mayVote(d)
	}
	return nil
}

// MayDecide returns why a person may not give an open gate a verdict at a time,
// nil if they may as far as the gate itself says: [ErrInvalid] for a verdict
// that it does not allow, [ErrForbidden] for who is not asked, or has asked, and
// [ErrVoted] for who has voted.
func (g *Gate) MayDecide(name string, v Verdict, at time.Time) error {
	return g.mayGive(&Decision{By: name, Verdict: v}, at)
}

// mayVote is what a quorum asks beyond what any gate does: each person once,
// and not the requester. Who acts for another counts as the person they are.
func (g *Gate) mayVote(d *Decision) error {
	for _, name := range []string{d.By, d.Actor} {
		switch v := g.voted(name); {
		case v != nil:
			return &Error{
				Code: CodeVoted, Decision: v, Message: name + " has voted on gate " + string(g.ID) + " already: " + string(v.Verdict),
				Hint: "somebody else has to vote",
			}
		case name != "" && g.excluded(name):
			return &Error{Code: CodeForbidden, Message: name + " asked for this and has no vote on it", Hint: "cancel it to withdraw it"}
		}
	}
	return nil
}

// A Delegation hands the right to decide a gate to somebody else.
type Delegation struct {
	By     string // who has the right; required
	To     string // who shall have it; required
	Actor  string // who sent it, when an operator acts for By
	Reason string // at most 4,000 bytes
}

func (d *Delegation) validate() error {
	if err := CheckDecider("by", d.By); err != nil {
		return err
	}
	if err := checkPerson("to", d.To, "to whom"); err != nil {
		return err
	}
	if len(d.Reason) > maxText || !checkUTF8(d.Reason) {
		return invalid("reason", "must be at most %d bytes of text", maxText)
	}
	return CheckPerson("actor", d.Actor)
}

// Delegate records that an assignee hands a gate to another, who then decides
// in their place: Decision.For says in whose. The gate is not rewritten. It
// fails with [ErrForbidden] if d.By may not decide the gate or d.To may not be
// given it, with [ErrInvalid] if d.To had the right before (a loop) or has one
// already, or the gate is assigned to nobody, with [ErrVoted] after a vote, and
// like [Ledger.Decide] for a gate that does not wait.
func (l *Ledger) Delegate(ctx context.Context, gate ID, d Delegation) (*Gate, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	return l.assign(ctx, gate, func(a *appending, g *Gate) error {
		if !g.ExpiresAt.IsZero() && !a.at.Before(g.ExpiresAt) {
			return &Error{Code: CodeConflict, Message: "gate " + string(gate) + " has expired", Hint: "nobody can decide it any more"}
		}
		if _, err := a.escalate(g); err != nil {
			return err
		}
		if err := g.mayDelegate(&d, a.at); err != nil {
			return err
		}
		return a.assignment(g, Assignment{By: d.By, Actor: d.Actor, To: []string{d.To}, Reason: d.Reason})
	})
}

func (g *Gate) mayDelegate(d *Delegation, at time.Time) error {
	if len(g.Assignees) == 0 {
		return invalid("by", "cannot hand on gate %s: it is assigned to nobody, and whoever may decide it can", g.ID)
	}
	have, ok := g.decider(d.By, at)
	switch {
	case !ok:
		return g.notAssigned(d.By)
	case g.Quorum != nil && g.voted(d.By) != nil:
		return &Error{Code: CodeVoted, Decision: g.voted(d.By), Message: d.By + " has voted on gate " + string(g.ID) + " and cannot hand it on"}
	case d.To == d.By, slices.Contains(have.via, d.To):
		return invalid("to", "%s had this right before: it would go in a circle", d.To)
	case g.excluded(d.To):
		return &Error{Code: CodeForbidden, Message: d.To + " asked for this and cannot be given it", Hint: "somebody else has to decide"}
	}
	if _, has := g.decider(d.To, at); has {
		return invalid("to", "%s may decide gate %s already", d.To, g.ID)
	}
	return nil
}

// notAssigned says why a person has no right, and who took it over if they had one.
func (g *Gate) notAssigned(name string) error {
	hint := "ask one of its assignees"
	for _, a := range g.Assignments {
		if a.By == name && !a.Escalation {
			hint = "it was handed to " + a.To[0]
		}
	}
	return &Error{Code: CodeForbidden, Message: name + " is not among those this gate is assigned to", Hint: hint}
}

// Escalate records that a gate's escalation is due, so that its deciders are
// told by the log. The right itself depends on the time alone: a decision
// between the time and the record is taken, and records it first. [ErrConflict]
// before its time; once recorded, it is no error and writes nothing. For a gate
// that does not wait it fails like [Ledger.Decide].
func (l *Core) Escalate(ctx context.Context, gate ID) (*Gate, error) {
	return l.assign(ctx, gate, func(a *appending, g *Gate) error {
		switch done, err := a.escalate(g); {
		case err != nil || done:
			return err
		case g.escalated():
			return errNothing
		}
		return &Error{Code: CodeConflict, Message: "gate " + string(gate) + " has no escalation that is due"}
	})
}

// assign appends what build makes of an open gate and returns it as it is then.
func (l *Core) assign(ctx context.Context, id ID, build func(*appending, *Gate) error) (*Gate, error) {
	ref, err := l.find(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := l.lock(ref.Thread)
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	var g *Gate
	err = l.append(ctx, t, func(a *appending) error {
		if g, err = a.openGate(id); err != nil {
			return err
		}
		return build(a, g)
	})
	if err != nil && !errors.Is(err, errNothing) {
		return nil, err
	}
	return g, nil
}

func (g *Gate) escalated() bool {
	return slices.ContainsFunc(g.Assignments, func(a Assignment) bool { return a.Escalation })
}

// escalate records the gate's escalation if it is due and not on record.
func (a *appending) escalate(g *Gate) (bool, error) {
	e := g.Escalation
	if e == nil || a.at.Before(e.At) || g.escalated() {
		return false, nil
	}
	return true, a.assignment(g, Assignment{
		By: "posthouse", To: e.To, Escalation: true, Replace: e.Replace, Reason: "no decision by " + e.At.Format(time.RFC3339),
	})
}

func (a *appending) assignment(g *Gate, as Assignment) error {
	if err := a.roomFor(g); err != nil {
		return err
	}
	as.Gate, as.At, as.Seq = g.ID, toMillis(a.at), a.seq
	a.add(Record{Kind: RecordAssignment, Assignment: &AssignInfo{
		Gate: g.ID, GateSeq: g.Seq, Prior: g.trail, By: as.By, Escalation: as.Escalation,
	}}, encoded(&as))
	a.sign = true
	g.Assignments = append(slices.Clip(g.Assignments), as)
	a.audience(g)
	return nil
}

func (a *appending) roomFor(g *Gate) error {
	if len(g.Votes)+len(g.Assignments) >= maxTrail {
		return &Error{Code: CodeTooLarge, Field: "gate", Message: "has had " + itoa(maxTrail) + " votes and assignments", Hint: "cancel it and ask again"}
	}
	return nil
}

// encoded is for values whose JSON was validated.
func encoded(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic("posthouse: a record does not encode: " + err.Error())
	}
	return body
}
