package demo

import (
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/ledger"
)

// TestTheWeekHasOneOfEach: every status, state and kind of event that pages have a look for is there.
func TestTheWeekHasOneOfEach(t *testing.T) {
	l := filled(t, noon, 1, ledger.Options{})
	seen := map[string]int{}
	threads := 0
	for in, err := range l.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		threads++
		seen["status "+string(in.Status)]++
		for name, is := range map[string]bool{
			"a fork": len(in.Branches) > 1, "a released version": in.Releases > 0, "a hold": in.Hold.By != "",
		} {
			if is {
				seen[name]++
			}
		}
		look(t, l, in.Thread, seen)
	}
	questions := map[string]bool{}
	for g, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		questions[g.Name] = true
		seen["open question"]++
		if left := g.ExpiresAt.Sub(noon); left > 0 && left < hour {
			seen["deadline within the hour"]++
		}
	}
	for _, want := range []string{
		"status ", "status running", "status waiting", "status ready", "status interrupted", "status done", "status failed", "status cancelled",
		"gate open", "gate decided", "gate expired", "gate withdrawn", "gate of kind timer", "gate of kind signal", "gate of kind task", "gate of kind outcome",
		"verdict approve", "verdict reject", "verdict edit", "verdict respond", "verdict expire", "verdict cancel",
		"grant proposed", "grant decided", "grant released", "grant executed", "grant unknown", "failed effect",
		"a superseded gate", "a vote", "a delegation", "an escalation", "a quorum", "a second attempt", "a model", "a line",
		"a fork", "a fork of another thread", "a released version", "a hold", "a label", "a signal", "deadline within the hour",
	} {
		if seen[want] == 0 {
			t.Errorf("the week has no %q", want)
		}
	}
	if open := seen["open question"]; threads < 40 || threads > 70 || open < 12 || open > 25 || len(questions) < 5 {
		t.Errorf("the week has %d threads and %d open questions of %d names", threads, open, len(questions))
	}
}

// look counts what a thread's log has.
func look(t *testing.T, l *ledger.Ledger, thread string, seen map[string]int) {
	t.Helper()
	count := func(name string, is bool) {
		if is {
			seen[name]++
		}
	}
	for e, err := range l.Log(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range e.Events {
			if c := event.Checkpoint; c != nil {
				count("a label", len(c.Labels) > 0)
				count("a fork of another thread", c.Source != nil && c.Source.Thread != "" && c.Source.Thread != thread)
			}
			count("a signal", event.Signal != nil)
			count("a vote", event.Vote != nil)
			if a := event.Assignment; a != nil {
				count("a delegation", !a.Escalation)
				count("an escalation", a.Escalation)
			}
			if event.Kind == posthouse.RecordGate {
				lookAtGate(t, l, event.Gate.ID, seen)
			}
			count("a second attempt", event.LastError != "")
			count("a model", slices.ContainsFunc(event.Notes, func(n posthouse.Note) bool { return n.Model != "" && n.Cost != "" && n.OutputTokens > 0 }))
			count("a line", slices.ContainsFunc(event.Notes, func(n posthouse.Note) bool { return n.Line != "" }))
		}
	}
}

// lookAtGate counts what became of a gate.
func lookAtGate(t *testing.T, l *ledger.Ledger, id posthouse.ID, seen map[string]int) {
	t.Helper()
	grant, err := ledger.ReadGrant(t.Context(), l, id)
	if err != nil {
		t.Fatal(err)
	}
	g := grant.Gate
	seen["gate of kind "+g.Kind]++
	seen["gate "+string(inbox.StateOf(g))]++
	if g.Uses > 0 {
		seen["grant "+string(grant.Status)]++
	}
	for name, is := range map[string]bool{
		"a superseded gate": g.Supersedes != "", "a quorum": g.Quorum != nil,
		"failed effect": slices.ContainsFunc(grant.Uses, func(u grants.Use) bool { return u.Failed > 0 }),
	} {
		if is {
			seen[name]++
		}
	}
	if g.Decision != nil {
		seen["verdict "+string(g.Decision.Verdict)]++
	}
}
