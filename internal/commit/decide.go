package commit

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/trace"
)

// Expire records that a gate's deadline passed. [posthouse.ErrConflict] before the
// deadline, [posthouse.ErrDecided] if the gate was decided.
func Expire(ctx context.Context, c *Committer, gate posthouse.ID) (*posthouse.Gate, error) {
	g, err := Decide(ctx, c, GateRef{Gate: gate}, func(tx *core.Tx, g *posthouse.Gate) (*posthouse.Decision, error) {
		if g.ExpiresAt.IsZero() || tx.At.Before(g.ExpiresAt) {
			return nil, &posthouse.Error{Code: posthouse.CodeConflict, Message: "gate " + string(gate) + " has not expired yet"}
		}
		return Expired(g), nil
	})
	if e, ok := err.(*posthouse.Error); ok && e.Code == posthouse.CodeExpired && g != nil {
		return g, nil
	}
	return g, err
}

// Expired returns the decision of a gate after its deadline.
func Expired(g *posthouse.Gate) *posthouse.Decision {
	return &posthouse.Decision{Verdict: posthouse.Expire, By: posthouse.RuntimeActor, Reason: "no decision by " + g.ExpiresAt.Format(time.RFC3339)}
}

// Decide appends what choose makes of an open gate, a decision or a vote, and calls the
// observer.
func Decide(ctx context.Context, l *Committer, at GateRef, choose func(*core.Tx, *posthouse.Gate) (*posthouse.Decision, error)) (*posthouse.Gate, error) {
	var vote *posthouse.Decision
	var coordination string
	id := at.Gate
	g, err := Assign(ctx, l, at, func(tx *core.Tx, g *posthouse.Gate) error {
		coordination = tx.Thread.Info.CoordinationName()
		before := len(g.Votes)
		d, err := choose(tx, g)
		vote = nil
		if len(g.Votes) > before {
			vote = &g.Votes[before]
		}
		if err != nil || d == nil {
			return err
		}
		d.Gate, d.At, d.Trail = id, posthouse.ToMillis(tx.At), g.Record.Trail
		if hasTrail(tx) {
			d.Trail = tx.Seq // its vote, or an escalation
		}
		if err := askEnded(tx, g, d, nil); err != nil {
			return err
		}
		AddDecision(tx, d, g.Seq)
		c := *d
		g.Decision = &c
		return nil
	})
	if err == nil && vote != nil {
		l.Observe.Voted(g, vote, coordination)
	}
	if err != nil || g.Decision == nil {
		return g, err
	}
	l.Observe.Decided(g, coordination)
	if l.Config.Tracer != nil {
		traceDecided(ctx, l, g)
	}
	if g.Decision.Verdict == posthouse.Expire {
		return g, &posthouse.Error{
			Code: posthouse.CodeExpired, Decision: g.Decision,
			Message: "gate " + string(id) + " expired at " + g.ExpiresAt.Format(time.RFC3339), Hint: "ask again",
		}
	}
	return g, nil
}

// traceDecided makes the span of a gate that was decided: from its opening to its decision, in the
// trace of the branch's newest input. A tracer must be there.
func traceDecided(ctx context.Context, c *Committer, g *posthouse.Gate) {
	span := trace.Span{Kind: trace.KindGate, Name: g.Name, Begin: g.CreatedAt, Thread: g.Thread, Branch: g.Branch, Gate: g}
	if at, err := c.Get(ctx, g.Checkpoint); err == nil {
		span.Parent, span.Program, span.Run = at.Traceparent(), at.Graph, at.Run
	}
	_, end := c.Config.Tracer.Start(ctx, &span)
	end(&trace.End{At: g.Decision.At})
}

// openGate returns a gate that waits, or the error that says what became of it.
func openGate(tx *core.Tx, at *GateRef) (*posthouse.Gate, error) {
	id := at.Gate
	for _, w := range tx.Thread.Info.Waiting {
		if w.ID == id {
			return at.waiting(tx, &w)
		}
	}
	g, err := tx.Core.Logs.Gate(tx.Ctx, id)
	if err != nil {
		return nil, err
	}
	if g.Decision == nil {
		return nil, posthouse.NotFound("open gate", id)
	}
	e := &posthouse.Error{
		Code: posthouse.CodeDecided, Decision: g.Decision,
		Message: "gate " + string(id) + " was decided before: " + string(g.Decision.Verdict) + " by " + g.Decision.By,
		Hint:    "the first decision stands; a fork asks again",
	}
	if g.Decision.Verdict == posthouse.Expire {
		e.Code, e.Message = posthouse.CodeExpired, "gate "+string(id)+" expired at "+g.ExpiresAt.Format(time.RFC3339)
		e.Hint = "ask it again (posthouse ask-again " + string(id) + ")"
	}
	if next := askedAgain(tx, g); next != "" {
		e.Code, e.Gate = posthouse.CodeConflict, next
		e.Message = "gate " + string(id) + " was " + superseded
		e.Hint = "look at gate " + string(next) + ", which asks in its place, and decide that one"
	}
	return nil, e
}

// askedAgain returns the gate that replaced one that does not wait, or "". The decision
// names it, or an open gate supersedes this one.
func askedAgain(tx *core.Tx, g *posthouse.Gate) posthouse.ID {
	if g.Decision.Successor != "" {
		return g.Decision.Successor
	}
	for _, w := range tx.Thread.Info.Waiting {
		if !posthouse.AsksPeople(w.Kind) || w.Seq <= g.Seq {
			continue
		}
		if o, err := tx.WaitingGate(&w); err == nil && o.Supersedes == g.ID {
			return o.ID
		}
	}
	return ""
}
