package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
)

// handler waits for what the handler of a task waits for. Once all of that is over it hands
// the task out again. So it returns [posthouse.ErrWaiting] until somebody cancels a wait.
func (w *wait) handler(ctx context.Context, have *posthouse.Gate) error {
	var waits []handler.Wait
	if err := json.Unmarshal(have.Decision.Value, &waits); err != nil {
		return posthouse.Corrupt("what gate %s waits for does not parse: %v", have.ID, err)
	}
	p := &pause{task: w.task, within: handler.Within(w.name, w.occurrence, have.Call.Iteration)}
	ctx = w.task.Scope(ctx, p.within, 0)
	waiting := false
	for i := range waits {
		switch err := p.await(ctx, &waits[i]); {
		case errors.Is(err, posthouse.ErrWaiting):
			waiting = true
		case err != nil:
			return err
		}
	}
	if waiting {
		return posthouse.ErrWaiting
	}
	next := *have.Call
	next.Paused, next.NotBefore = "", time.Time{}
	return w.park(posthouse.Gate{Kind: posthouse.GateTask, Call: &next, Payload: have.Payload, ExpiresAt: have.ExpiresAt, Supersedes: have.ID})
}

// A pause is what the handler of a task waits for between two claims of it.
type pause struct {
	task   *Task
	within string // the name under which the handler's waits are on record
}

// await returns nil for a wait that is over, however it ended: the handler finds that.
func (p *pause) await(ctx context.Context, w *handler.Wait) error {
	switch {
	case w.Act != nil:
		return p.use(ctx, w.Act)
	case w.Edited != "":
		return p.edit(ctx, w.Edited, *w.Question)
	case w.Question != nil:
		_, err := p.task.Gates().Ask(ctx, *w.Question)
		return err
	}
	_, err := p.task.Signal(ctx, w.Signal, w.Latch, w.Timeout)
	if errors.Is(err, posthouse.ErrExpired) {
		return nil
	}
	return err
}

// use asks what there is to ask before an effect of a task's handler may run: what became of
// an earlier attempt, or whether its approval still holds. It returns nil once that is over: the
// handler finds it, and its engine judges it again.
func (p *pause) use(ctx context.Context, u *handler.Use) error {
	t := p.task
	s := t.session
	all, err := s.Ledger().Core().Executions(ctx, s.Head())
	if err != nil {
		return s.Unanswered(err)
	}
	have := license.Task{Core: s.Ledger().Core(), Thread: s.Thread(), Branch: s.Branch(), Within: p.within}
	if x := all[t.Key()]; x != nil {
		have.Steps, have.Gates = x.Steps, x.Gates
	}
	if have.State(u).Result != nil {
		return nil
	}
	_, err = have.Resolve(t.Scope(ctx, p.within+replay.Nested+u.Name, u.Occurrence), t.Gates(), u, nil)
	for _, answer := range []error{posthouse.ErrForbidden, posthouse.ErrExpired, posthouse.ErrCancelled, posthouse.ErrNotFound} {
		if errors.Is(err, answer) {
			return nil
		}
	}
	return s.Unanswered(err)
}

// edit asks the question about edited content, unless the decision that edited it is enough
// for that one, too. That is then put on record. The question is a worker's word: the decision
// counts only if its content is the edit, under the same name.
func (p *pause) edit(ctx context.Context, edited posthouse.ID, g posthouse.Gate) error {
	t := p.task
	decided, err := t.session.Gate(ctx, edited)
	if err != nil {
		return err
	}
	settled, replaced, err := t.Gates().OfEdit(ctx, decided)
	if err != nil {
		return err
	}
	if _, before := t.Gates().Asked(ctx, g); !before && settled == nil && !replaced {
		g.RequestedBy = cmp.Or(g.RequestedBy, Sender(ctx))
		carried := license.EditDecided(g, decided)
		why := license.JudgeEdit(t.session.Ledger().Core(), &g, decided)
		if why == nil && (!strings.HasSuffix(decided.Name, replay.Nested+g.Name) || !license.SameContent(&carried, decided)) {
			why = posthouse.Invalid("content", "of question %.40q is not what %s was edited to", g.Name, decided.ID)
		}
		if why == nil {
			_, err := t.Gates().RecordDecided(ctx, carried, nil)
			return err
		}
		g.Note, g.Supersedes = license.ProposedAgain(decided, why), decided.ID
	}
	_, err = t.Gates().Ask(ctx, g)
	return err
}
