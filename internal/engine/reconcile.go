package engine

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/internal/license"
)

// ReconcileLater puts on record that the outcome of the newest attempt is unknown, and the timer of
// the program's next look at it. said is why the last look told nothing, nil if it found that
// nothing happened. It returns [posthouse.ErrWaiting].
func (e *Effect) ReconcileLater(ctx context.Context, wait time.Duration, said, cause error) error {
	mark, err := e.unknownMark(cause)
	if err != nil {
		return err
	}
	u, t := e.Use(), e.call.task
	g := posthouse.Gate{
		Name: effect.ReconcileName(u.Attempts(), len(u.Reconciles())), Kind: posthouse.GateTimer, Note: effect.NotFound,
		ExpiresAt: session.RoundUp(t.session.Ledger().Now().Add(wait)), Text: "the program looks again whether " + e.call.name + " was done",
	}
	if said != nil {
		g.Note = license.Clip("cannot tell: " + said.Error())
	}
	return t.Gates().open(context.WithoutCancel(t.Scope(ctx, e.call.name, e.call.occurrence)), g, mark)
}

// AwaitReconcile returns [posthouse.ErrWaiting] until the program is to look again.
func (e *Effect) AwaitReconcile(ctx context.Context, timer posthouse.ID) error {
	t := e.call.task
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range e.gates() {
		if g.ID == timer {
			_, err := t.decidedGate(ctx, g)
			if h := t.session.Head(); errors.Is(err, posthouse.ErrWaiting) && h != nil && g.Seq > h.Seq {
				t.made().opened = true
			}
			return err
		}
	}
	return posthouse.NotFound("gate", timer)
}

// StopReconcile withdraws the timer of the program's next look at the effect, if there is one.
func (e *Effect) StopReconcile(ctx context.Context) error {
	t := e.call.task
	t.mu.Lock()
	var open []posthouse.ID
	for _, c := range e.read().Reconciles() {
		for _, g := range e.gates() {
			if g.ID == c.Gate && g.Decision == nil {
				open = append(open, g.ID)
			}
		}
	}
	t.mu.Unlock()
	for _, id := range open {
		g, err := commit.Decide(ctx, t.session.Ledger().Core(), commit.GateRef{Gate: id, Thread: t.session.Thread()}, func(*core.Tx, *posthouse.Gate) (*posthouse.Decision, error) {
			return &posthouse.Decision{Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: "people have said what became of it"}, nil
		})
		if errors.Is(err, posthouse.ErrDecided) || errors.Is(err, posthouse.ErrExpired) {
			continue
		}
		if err != nil {
			return t.session.Unanswered(err)
		}
		t.mu.Lock()
		t.replay.SetGate(g)
		t.mu.Unlock()
	}
	return nil
}

// Answer decides the question about the effect by what the program's reconciliation found. If
// somebody else has answered it since, that answer counts: the execution waits, and runs again.
func (e *Effect) Answer(ctx context.Context, asked posthouse.ID, d posthouse.Decision) error {
	t := e.call.task
	d.By = effect.ReconcileActor
	if err := t.mayAct(ctx); err != nil {
		return err
	}
	g, err := t.session.Gate(ctx, asked)
	if err != nil {
		return err
	}
	decided, err := commit.Decide(ctx, t.session.Ledger().Core(), commit.RefOf(g), func(*core.Tx, *posthouse.Gate) (*posthouse.Decision, error) {
		own := d
		return &own, nil
	})
	if errors.Is(err, posthouse.ErrDecided) {
		return t.Gates().Await(ctx, asked)
	}
	if err != nil {
		return t.session.Unanswered(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.replay.QuestionOf(asked); q != nil {
		q.SetLast(decided)
	}
	return nil
}
