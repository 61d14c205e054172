package ledger_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestAskAgainSaysWhy: the reason is a note on the checkpoint that asks again and in the question, in place and on
// a fork, and is no part of what is shown for a decision.
func TestAskAgainSaysWhy(t *testing.T) {
	ctx, l := t.Context(), open(t, nil)
	for _, onFork := range []bool{false, true} {
		thread := map[bool]string{false: "in place", true: "on a fork"}[onFork]
		c := must.Get(l.Commit(ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting}, Gates: []posthouse.Gate{
			{Name: "pay", Text: "Pay?", Note: "the price has moved"}, {Name: "ship", Text: "Ship?", Note: "as ever"},
		}}))(t)
		old := c.Gates[0]
		must.Get(l.Withdraw(ctx, old.ID, ledger.Withdrawal{By: "ann", Operator: true}))(t)
		if onFork {
			must.Get(l.Commit(ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindUpdate, Status: posthouse.StatusDone}}))(t)
		}
		for _, bad := range []string{strings.Repeat("x", posthouse.MaxLine+1), "\xff", "  "} {
			_, err := l.AskAgain(ctx, old.ID, &ledger.AskAgainOptions{By: "bob", Reason: bad})
			if e, ok := errors.AsType[*posthouse.Error](err); !ok || e.Code != posthouse.CodeInvalid || e.Field != "reason" {
				t.Errorf("%s, reason %.10q: %v", thread, bad, err)
			}
		}
		again := must.Get(l.AskAgain(ctx, old.ID, &ledger.AskAgainOptions{By: "bob", Reason: "it was a holiday"}))(t)
		if again.Note != "asked again: it was a holiday" || again.Content() != old.Content() || (again.Branch == "main") == onFork {
			t.Errorf("%s it asks %+v", thread, again)
		}
		var lines []string
		for e, err := range l.Log(ctx, thread, posthouse.Range{From: again.Seq}) {
			must.Do(t, err)
			for _, ev := range e.Events {
				for _, n := range ev.Notes {
					lines = append(lines, ev.Checkpoint.By+": "+n.Line)
				}
				if ev.Gate != nil && ev.Gate.Name == "ship" && ev.Gate.Note != "as ever" {
					t.Errorf("%s the other question has the note %q", thread, ev.Gate.Note)
				}
			}
		}
		if len(lines) != 1 || lines[0] != "bob: it was a holiday" {
			t.Errorf("%s on record is %q", thread, lines)
		}
	}
}
