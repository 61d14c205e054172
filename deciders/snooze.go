package deciders

import (
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// SnoozedUntil returns until when a person hides the gate from their own inbox, zero if they do
// not: it ends with its time, a reminder, an escalation, or the gate.
func SnoozedUntil(g *posthouse.Gate, name string, at time.Time) time.Time {
	for _, n := range slices.Backward(g.Notices) {
		e := g.Escalation
		escalated := e != nil && n.At.Before(e.At) && !at.Before(e.At)
		switch {
		case g.Decision != nil, escalated, n.Kind == posthouse.NoticeReminder, n.Kind == posthouse.NoticeUnsnooze && posthouse.SameName(n.By, name):
			return time.Time{}
		case n.Kind == posthouse.NoticeSnooze && posthouse.SameName(n.By, name) && at.Before(n.Until):
			return n.Until
		case n.Kind == posthouse.NoticeSnooze && posthouse.SameName(n.By, name):
			return time.Time{}
		}
	}
	return time.Time{}
}
