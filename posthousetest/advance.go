package posthousetest

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// Advance moves the clock, by no time at all. All that is due on the way happens at its own time,
// in its order: sleeps end, attempts are made again, deadlines pass, people are reminded, questions
// escalate. The programs go on after each.
func (e *Env) Advance(d time.Duration) {
	e.t.Helper()
	if d < 0 {
		e.t.Fatalf("posthousetest: the clock does not go back")
	}
	e.Settle()
	end := e.Now().Add(d)
	for at := (time.Time{}); ; {
		due := e.nextDue(end)
		if due.IsZero() {
			break
		}
		if !due.After(at) {
			e.t.Fatalf("posthousetest: what is due at %s does not happen\n%s", due, e.report(""))
		}
		at = due
		e.clock.reach(due)
		e.Settle()
	}
	e.clock.reach(end)
	e.Settle()
}

// nextDue returns the first time until end at which something is due, zero if there is no such time.
func (e *Env) nextDue(end time.Time) (first time.Time) {
	e.t.Helper()
	take := func(at time.Time) {
		if !at.After(end) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for t, err := range e.now.ledger.Threads(e.ctx, posthouse.ThreadQuery{DueBefore: posthouse.Millis(end.UnixMilli())}) {
		if err != nil {
			e.t.Fatalf("posthousetest: the threads cannot be read: %v", err)
		}
		if t.Due > 0 {
			take(time.UnixMilli(int64(t.Due)))
		}
	}
	for g, err := range e.now.ledger.Gates(e.ctx, ledger.GateQuery{Kind: posthouse.GateTask}) {
		if err != nil {
			e.t.Fatalf("posthousetest: the tasks cannot be read: %v", err)
		}
		if at := g.Call.NotBefore; at.After(e.Now()) && e.handlers[g.Call.Task] != nil {
			take(at)
		}
	}
	return first
}
