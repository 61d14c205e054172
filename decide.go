package posthouse

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Gate returns a gate, with its decision if it has one. [ErrNotFound].
func (l *Core) Gate(ctx context.Context, id ID) (g *Gate, err error) {
	err = l.at(ctx, id, func(_ *logReader, ref Ref) error {
		if g, err = l.reader(ctx, ref.Thread).gateAt(id, ref.Seq); err != nil || g.Decision != nil || g.Quorum == nil && len(g.Assignees) == 0 {
			return err
		}
		return l.trailOf(ctx, g)
	})
	return g, err
}

// trailOf adds the votes and assignments of an open gate.
func (l *Core) trailOf(ctx context.Context, g *Gate) error {
	t, err := l.Thread(ctx, g.Thread)
	if err != nil {
		return err
	}
	for _, w := range t.Waiting {
		if w.ID == g.ID {
			return l.reader(ctx, g.Thread).follow(g, w.Trail)
		}
	}
	return corrupt("the summary of thread %q does not hold the open gate %s", g.Thread, g.ID)
}

// waitingGate reads a gate that a summary has.
func (r *logReader) waitingGate(w *WaitingGate) (*Gate, error) {
	g, err := r.gateAt(w.ID, w.Seq)
	if err == nil && g.Decision == nil {
		err = r.follow(g, w.Trail)
	}
	return g, err
}

// gateAt reads a gate from where the index has it: its own entry, or the entry
// of its decision, which says where the gate is.
func (r *logReader) gateAt(id ID, seq uint64) (*Gate, error) {
	e, err := r.entry(seq, true)
	if err != nil {
		return nil, err
	}
	d, at, err := decisionIn(e, id)
	if err != nil {
		return nil, err
	}
	if d != nil && at != e.Seq {
		if e, err = r.entry(at, true); err != nil {
			return nil, err
		}
	}
	for i := range e.recs {
		if g := e.recs[i].Gate; g != nil && g.ID == id {
			gate, err := r.gate(e, i)
			if err == nil {
				gate.Decision = d
			}
			if err == nil && d != nil {
				err = r.follow(gate, d.Trail)
			}
			return gate, err
		}
	}
	if d != nil {
		return nil, corrupt("entry %d of thread %q does not hold gate %s", e.Seq, r.thread, id)
	}
	return nil, notFound("gate", id)
}

// decisionIn returns the gate's decision, if the entry holds it, and the entry
// that holds the gate.
func decisionIn(e *readEntry, gate ID) (*Decision, uint64, error) {
	for i := range e.recs {
		if rec := &e.recs[i]; rec.Decision != nil && rec.Decision.Gate == gate {
			d, err := readDecisionBody(&e.Entry, rec, e.Bodies[i])
			return d, rec.Decision.GateSeq, err
		}
	}
	return nil, 0, nil
}

// gate reads a gate's record; one that went with its checkpoint is not there.
func (r *logReader) gate(e *readEntry, i int) (*Gate, error) {
	rec, lost := &e.recs[i], absent{}
	if lost.note(&e.Entry, i, rec) {
		if err := r.account(lost); err != nil {
			return nil, err
		}
		return nil, notFound("gate", rec.Gate.ID)
	}
	return readGateBody(&e.Entry, rec, e.Bodies[i])
}

// Decide records the one decision of a gate and makes its branch runnable, or
// done if the gate is a session's ([GateSession]), in one commit. It returns the
// gate with the decision. It fails with [ErrDecided] or [ErrExpired],
// Error.Decision being the first decision, with [ErrForbidden] where the gate,
// its requester rule or the policy says no, and with [ErrConflict] if d.Shown is
// not what the gate's checkpoint is.
// d.By and d.Verdict are required; d.By is a person's ([CheckDecider]), but that
// "posthouse" withdraws a question by Cancel. d.At is set here.
//
// On a gate with a [Quorum] this is one vote: the gate comes back without a
// Decision until the rule is met. [ErrVoted] for a second one by the same
// person. Cancel is no vote and decides at once.
func (l *Ledger) Decide(ctx context.Context, gate ID, d Decision) (*Gate, error) {
	if err := l.checkDecision(&d); err != nil {
		return nil, err
	}
	return l.decide(ctx, gate, func(a *appending, g *Gate) (*Decision, error) {
		if !g.ExpiresAt.IsZero() && !a.at.Before(g.ExpiresAt) && d.Verdict != Cancel {
			return expired(g), nil
		}
		if _, err := a.escalate(g); err != nil {
			return nil, err
		}
		one := d
		if err := l.mayDecide(g, &one, a.at); err != nil {
			return nil, err
		}
		if g.Quorum != nil && one.Verdict != Cancel {
			return a.vote(g, &one)
		}
		return &one, nil
	})
}

// Expire records that a gate's deadline passed. [ErrConflict] if it has not,
// [ErrDecided] if the gate was decided before.
func (l *Core) Expire(ctx context.Context, gate ID) (*Gate, error) {
	g, err := l.decide(ctx, gate, func(a *appending, g *Gate) (*Decision, error) {
		if g.ExpiresAt.IsZero() || a.at.Before(g.ExpiresAt) {
			return nil, &Error{Code: CodeConflict, Message: "gate " + string(gate) + " has not expired yet"}
		}
		return expired(g), nil
	})
	if e, ok := err.(*Error); ok && e.Code == CodeExpired && g != nil {
		return g, nil
	}
	return g, err
}

func expired(g *Gate) *Decision {
	return &Decision{Verdict: Expire, By: byLedger, Reason: "no decision by " + g.ExpiresAt.Format(time.RFC3339)}
}

// decide appends what choose makes of an open gate, its decision or a vote, and
// tells of it.
func (l *Core) decide(ctx context.Context, id ID, choose func(*appending, *Gate) (*Decision, error)) (*Gate, error) {
	var vote *Decision
	var coordination string
	g, err := l.assign(ctx, id, func(a *appending, g *Gate) error {
		coordination = a.t.info.coordination()
		before := len(g.Votes)
		d, err := choose(a, g)
		if vote = nil; len(g.Votes) > before {
			vote = &g.Votes[before]
		}
		if err != nil || d == nil {
			return err
		}
		d.Gate, d.At, d.Trail = id, toMillis(a.at), g.trail
		if len(a.records) > 0 {
			d.Trail = a.seq // its vote, or an escalation
		}
		a.decision(d, g.Seq)
		c := *d
		g.Decision = &c
		return nil
	})
	if err == nil && vote != nil {
		l.observeVoted(g, vote, coordination)
	}
	if err != nil || g.Decision == nil {
		return g, err
	}
	l.observeDecided(g, coordination)
	if g.Decision.Verdict == Expire {
		return g, &Error{
			Code: CodeExpired, Decision: g.Decision,
			Message: "gate " + string(id) + " expired at " + g.ExpiresAt.Format(time.RFC3339), Hint: "ask again",
		}
	}
	return g, nil
}

// waitingGate reads a gate that waits. The entry that asks is kept: it may ask
// many questions, which are decided one by one.
func (a *appending) waitingGate(w *WaitingGate) (*Gate, error) {
	r := a.l.reader(a.ctx, a.t.name)
	if e := a.t.asks; e != nil && e.Seq == w.Seq {
		r.have[e.Seq] = e
	}
	g, err := r.waitingGate(w)
	if e := r.have[w.Seq]; err == nil && e != nil && e.bodies && e.size() <= maxCached {
		a.t.asks = e
	}
	return g, err
}

// openGate returns the gate if it waits, else the error that says what became
// of it.
func (a *appending) openGate(id ID) (*Gate, error) {
	for _, w := range a.t.info.Waiting {
		if w.ID == id {
			return a.waitingGate(&w)
		}
	}
	g, err := a.l.Gate(a.ctx, id)
	if err != nil {
		return nil, err
	}
	if g.Decision == nil {
		return nil, notFound("open gate", id)
	}
	e := &Error{
		Code: CodeDecided, Decision: g.Decision,
		Message: "gate " + string(id) + " was decided before: " + string(g.Decision.Verdict) + " by " + g.Decision.By,
		Hint:    "the first decision stands; a fork asks again",
	}
	if g.Decision.Verdict == Expire {
		e.Code, e.Message = CodeExpired, "gate "+string(id)+" expired at "+g.ExpiresAt.Format(time.RFC3339)
		e.Hint = "ask it again (posthouse ask-again " + string(id) + ")"
	}
	if next := a.askedAgain(g); next != "" {
		e.Code, e.Gate = CodeConflict, next
		e.Message = "gate " + string(id) + " was " + superseded
		e.Hint = "look at gate " + string(next) + ", which asks in its place, and decide that one"
	}
	return nil, e
}

// askedAgain returns the gate that asks in place of one that does not wait, ""
// if none does: its decision says so, or an open gate does.
func (a *appending) askedAgain(g *Gate) ID {
	if g.Decision.Successor != "" {
		return g.Decision.Successor
	}
	for _, w := range a.t.info.Waiting {
		if !asksPeople(w.Kind) || w.Seq <= g.Seq {
			continue
		}
		if o, err := a.waitingGate(&w); err == nil && o.Supersedes == g.ID {
			return o.ID
		}
	}
	return ""
}

func (l *Core) checkDecision(d *Decision) error {
	if withdraws := d.By == byLedger && d.Verdict == Cancel; !withdraws {
		if err := CheckDecider("by", d.By); err != nil {
			return err
		}
	}
	if err := CheckPerson("actor", d.Actor); err != nil {
		return err
	}
	switch {
	case len(d.Reason) > maxText || !checkUTF8(d.Reason):
		return invalid("reason", "must be at most %d bytes of text", maxText)
	case !slices.Contains(defaultVerdicts, d.Verdict) && d.Verdict != Cancel:
		return invalid("verdict", "%q is not one of approve, reject, edit, respond, cancel", d.Verdict)
	case d.Verdict != Edit && d.Verdict != Respond && len(d.Value) > 0:
		return invalid("value", "goes with edit or respond, not with %s", d.Verdict)
	case (d.Verdict == Edit || d.Verdict == Respond) && len(d.Value) == 0:
		return invalid("value", "is required to %s; null is a value", d.Verdict)
	case len(d.Value) > l.opt.MaxState:
		return tooLarge("value", len(d.Value), l.opt.MaxState)
	}
	if len(d.Value) > 0 {
		d.Value = json.RawMessage(slices.Clone(d.Value))
		return checkStrict("value", d.Value)
	}
	return nil
}

// MayOpen reports, as [ErrUnsupported], that a gate takes a value with a schema and
// this Ledger has no validator to check it with: its decision would fail, maybe a
// week later. [Ledger.Commit] opens no such gate.
func (l *Core) MayOpen(g *Gate) error {
	if l.opt.Validate != nil || len(g.Schema) == 0 || !g.Allows(Edit) && !g.Allows(Respond) {
		return nil
	}
	return unchecked(g)
}

// unchecked is the error of a value that nothing here can check.
func unchecked(g *Gate) error {
	return &Error{
		Code: CodeUnsupported, Field: "schema", Message: "of gate " + cmp.Or(string(g.ID), g.Name) + " cannot be checked by this ledger",
		Hint: "set Options.Validate, for example to gate.Validator()",
	}
}

func (l *Core) mayDecide(g *Gate, d *Decision, at time.Time) error {
	right, _ := g.decider(d.By, at)
	d.For, d.Trail = right.For, 0
	if err := g.mayGive(d, at); err != nil {
		return err
	}
	if !d.Shown.IsZero() && d.Shown != g.Hash {
		return &Error{
			Code: CodeConflict, Message: "what was shown is not what gate " + string(g.ID) + " asks about",
			Hint: "look at it again, then decide",
		}
	}
	if len(g.Schema) > 0 && len(d.Value) > 0 {
		if l.opt.Validate == nil {
			return unchecked(g)
		}
		if err := l.opt.Validate(g.Schema, d.Value); err != nil {
			return &Error{Code: CodeInvalid, Field: "value", Message: "does not satisfy the gate's schema", Err: err}
		}
	}
	if l.opt.Policy != nil {
		return l.opt.Policy(g.clone(), d.clone()) // a policy that changed them would change the record
	}
	return nil
}
