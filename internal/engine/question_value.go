package engine

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
)

// A checkedValue is what the schema of a question said of the value of an earlier decision. A
// schema is code of a stranger: it is asked while the execution is not locked.
type checkedValue struct {
	gate posthouse.ID // that has the decision
	why  error        // it does not count
}

// askedBefore returns the recorded gate of the next question about g's content, nil if it was
// not asked, and the number of that question. Fields of g are filled in as [Gates.Ask] does.
func (t *Task) askedBefore(ctx context.Context, g *posthouse.Gate) (last *posthouse.Gate, n uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	content, err := t.prepareGate(ctx, g)
	if err != nil {
		return nil, 0
	}
	n = t.made().asks[askKey(g, content)]
	if q := t.replay.Question(g, content, n); q != nil {
		last = q.Last()
	}
	return last, n
}

// Expect has decisions of a question checked by the program's own type before they are recorded.
// read returns why the program could not take a value. It may panic: that is an error, too. Fields
// of g are filled in as [Gates.Ask] does.
func (v Gates) Expect(ctx context.Context, g posthouse.Gate, read func(posthouse.Verdict, json.RawMessage) error) {
	t := v.t
	t.mu.Lock()
	_, err := t.prepareGate(ctx, &g)
	t.mu.Unlock()
	if err != nil {
		return // asking reports it
	}
	g.Thread = t.session.Thread()
	t.session.Ledger().Core().Answers.Expect(&g, func(verdict posthouse.Verdict, value json.RawMessage) error {
		return Guard(func() error { return read(verdict, value) })
	})
}

// checkAgain checks the value of the decision that would answer g, where g's schema is another
// than that of the decision's gate. It returns nil where nothing is to be checked.
func (t *Task) checkAgain(ctx context.Context, g posthouse.Gate) *checkedValue {
	if len(g.Schema) == 0 || !g.AsksPeople() {
		return nil
	}
	last, _ := t.askedBefore(ctx, &g)
	if last == nil || commit.SameJSON(g.Schema, last.Schema) {
		return nil
	}
	if last.Decision == nil { // it may be on record by now
		found, err := t.session.Ledger().Gate(ctx, last.ID)
		if err != nil || found.Decision == nil {
			return nil
		}
		last = found
	}
	return &checkedValue{last.ID, t.session.Ledger().Core().Rules.CheckReuse(&g, last)}
}

// counts is [commit.Rules.CheckReuse] of a decision that may have been looked at before.
func (v *checkedValue) counts(r *commit.Rules, g, earlier *posthouse.Gate) error {
	if v != nil && v.gate == earlier.ID {
		return v.why
	}
	return r.CheckReuse(g, earlier)
}
