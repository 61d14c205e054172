package overview

import (
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// waits returns the oldest gate that no person decides, or nil.
func (r *reader) waits() *posthouse.WaitingGate {
	i := slices.IndexFunc(r.t.Waiting, func(w posthouse.WaitingGate) bool { return !posthouse.AsksPeople(w.Kind) })
	if i < 0 {
		return nil
	}
	return &r.t.Waiting[i]
}

// wait says what a thread waits for that no person decides.
func (r *reader) wait(f *Face) error {
	w := r.waits()
	if f.Now != "" || w == nil {
		return nil
	}
	g, err := r.log().GateAt(w.ID, w.Seq)
	if err != nil {
		return unlessUnread(err)
	}
	if b, _ := r.t.Branch(w.Branch); g.DelaysStart() && b.Seq != w.Seq { // the branch has gone on since
		return nil
	}
	f.Now = r.heldBack(g, w.Seq)
	if f.Now == "" {
		f.Now = waitLine(g)
	}
	return nil
}

// heldBack is one line on a task that no worker is given before a time: it is paused, by whom, or its
// next attempt is not due yet. It is "" for another gate. The entry of the gate, which was read
// already, says who opened it in place of another.
func (r *reader) heldBack(g *posthouse.Gate, seq uint64) string {
	if g.Call == nil || !r.l.Now().Before(g.Call.NotBefore) {
		return ""
	}
	at := g.Call.NotBefore.UTC().Format(time.RFC3339)
	by, operator := r.replacedBy(g, seq)
	switch {
	case g.Call.Paused != "":
		by += " (" + g.Call.Paused + ")"
	case !operator && g.Call.Failure != "":
		return "the next attempt of task " + g.Call.Task + " at " + at
	case !operator:
		return ""
	}
	return "task " + g.Call.Task + " is paused" + by + " until " + at
}

// replacedBy returns who opened a task's gate in place of another, as in " by olga", and whether that was
// an operator who paused it.
func (r *reader) replacedBy(g *posthouse.Gate, seq uint64) (by string, operator bool) {
	e, err := r.log().Entry(seq, true)
	if err != nil {
		return "", false
	}
	for i := range e.Recs {
		if e.Recs[i].Decision == nil || e.Recs[i].Decision.Gate != g.Supersedes || len(e.Bodies[i]) == 0 {
			continue
		}
		d, err := threadlog.ReadDecisionBody(&e.Entry, &e.Recs[i], e.Bodies[i])
		if err == nil {
			return " by " + d.By, d.Reason == text.Paused && !strings.HasPrefix(d.By, "worker:")
		}
	}
	return "", false
}

// waitLine is one line on a gate that no person decides: what it waits for, and until when.
func waitLine(g *posthouse.Gate) string {
	at := ""
	if !g.ExpiresAt.IsZero() {
		at = g.ExpiresAt.UTC().Format(time.RFC3339)
	}
	line := ""
	switch g.Kind {
	case posthouse.GateTimer:
		switch {
		case g.DelaysStart():
			return "starts at " + at
		case g.Text != "":
			return firstLine(g.Text) + " at " + at
		}
		return "sleeps until " + at
	case posthouse.GateSignal:
		line = "waits for the signal " + g.Signal
	case posthouse.GateThread:
		return strings.TrimSpace("waits for the thread " + g.Text) // ExpiresAt is when it looks again
	case posthouse.GateTask:
		if g.Call == nil {
			return ""
		}
		line = "waits for a worker for " + g.Call.Task
	default:
		return ""
	}
	if at != "" {
		line += " until " + at
	}
	return line
}
