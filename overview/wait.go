package overview

import (
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
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
	f.Now = waitLine(g)
	return nil
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
