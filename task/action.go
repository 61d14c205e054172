package task

import (
	"strings"

	"github.com/posthouse/posthouse"
)

// An Action is what a verdict does with its task.
type Action string

// The actions.
const (
	Complete      Action = "complete"       // it is done; Output is its result
	Fail          Action = "fail"           // this attempt failed; another is made after a backoff, if one is left
	FailPermanent Action = "fail-permanent" // it failed, and no other attempt would help
	RetryAfter    Action = "retry-after"    // as Fail, and the next attempt begins after Delay
	Unknown       Action = "unknown"        // as Fail, and the worker says that an effect under a grant may have happened
	Pause         Action = "pause"          // it goes on after Delay; this counts as no attempt
	Continue      Action = "continue"       // another iteration begins, with Output
	Await         Action = "await"          // it goes on when Waits are over; this counts as no attempt
	Abandon       Action = "interrupt"      // the worker stops; the attempt counts as not made
)

// actionRules says which fields of a [Verdict] go with an action.
type actionRules struct {
	action                             Action
	output, reason, delay, name, waits bool
	notDone                            bool
}

var actions = [...]actionRules{
	{action: Complete, output: true},
	{action: Fail, reason: true, notDone: true},
	{action: FailPermanent, reason: true, notDone: true},
	{action: RetryAfter, reason: true, delay: true, notDone: true},
	{action: Unknown, reason: true},
	{action: Pause, delay: true, name: true},
	{action: Continue, output: true},
	{action: Await, waits: true},
	{action: Abandon},
}

// Actions returns all actions. Engines, workers and the documentation of calls know them all.
func Actions() []Action { return actionsIf(func(*actionRules) bool { return true }) }

func actionsIf(fits func(*actionRules) bool) (list []Action) {
	for i := range actions {
		if fits(&actions[i]) {
			list = append(list, actions[i].action)
		}
	}
	return list
}

// rules returns those of an action; of an unknown one they are empty.
func (a Action) rules() *actionRules {
	for i := range actions {
		if actions[i].action == a {
			return &actions[i]
		}
	}
	return &actionRules{}
}

// misplaced is the error of a field that does not go with the verdict's action, but with those
// that fit. goes is the verb of the field.
func (v *Verdict) misplaced(field, goes string, fits func(*actionRules) bool) error {
	return posthouse.Invalid(field, "%s with %s, not with %s", goes, join(actionsIf(fits), " and "), v.Action)
}

// join lists actions in a sentence. last stands before the last one, and commas before the others.
func join(list []Action, last string) string {
	var b strings.Builder
	for i, a := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			b.WriteString(last)
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(a))
	}
	return b.String()
}
