// Package senders says who sent the signals that executions have taken, who answered what they asked
// people, and who changed the threads that they called. They are requesters of what those ask.
package senders

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/requesters"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// Signal is what the name of a wait for a signal begins with, on record.
const Signal = "signal:"

// Records, within a signal that was taken at once, of its sender and of those it was sent for. A
// signal that answered a wait has them in the decision.
const (
	sender = handler.Nested + "$by"
	behalf = handler.Nested + "$behalf"
)

// others is the record, within another one, of requesters that came with it.
const others = handler.Nested + "$requesters"

// Others returns the record of requesters that came with what a call has on record.
func Others(call string, list []posthouse.Requester) (posthouse.Step, error) {
	data, err := json.Marshal(list)
	return posthouse.Step{Name: call + others, Effect: posthouse.EffectRead, Value: posthouse.Value{Codec: "json", Data: data}}, err
}

// anonymous stands for who decided a wait if its signal names no sender, see
// [posthouse.Signal.Decision].
const anonymous = "signal"

// Steps returns the records of who sent a signal that a call takes, nil if the signal does not
// say. call is the call's name in full.
func Steps(task, call string, s *posthouse.Signal) (steps []posthouse.Step, err error) {
	add := func(name string, v any) error {
		data, err := json.Marshal(v)
		steps = append(steps, posthouse.Step{Task: task, Name: call + name, Effect: posthouse.EffectRead, Value: posthouse.Value{Codec: "json", Data: data}})
		return err
	}
	if s.By != "" {
		err = add(sender, s.By)
	}
	if err == nil && len(s.Requesters) > 0 {
		err = add(behalf, s.Requesters)
	}
	return steps, err
}

// Add returns a list with all senders of one more signal, or the list itself if the
// signal names no sender.
func Add(list []posthouse.Requester, signal string, by ...string) []posthouse.Requester {
	for _, name := range by {
		if name != "" && !has(list, signal, name) {
			list = requesters.Add(list, posthouse.Requester{Name: name, How: posthouse.RequestedBySignal, What: []string{signal}})
		}
	}
	return list
}

func has(list []posthouse.Requester, signal, name string) bool {
	return slices.ContainsFunc(list, func(r posthouse.Requester) bool {
		return r.Name == name && r.How == posthouse.RequestedBySignal && slices.Contains(r.What, signal)
	})
}

// Join returns a list with those of another one.
func Join(list, more []posthouse.Requester) []posthouse.Requester {
	for _, r := range more {
		list = requesters.Add(list, r)
	}
	return list
}

// addAnswer adds who answered a question to people, other than one about the outcome of an effect: what they
// said may be part of what is asked next.
func addAnswer(list []posthouse.Requester, g *posthouse.Gate) []posthouse.Requester {
	d := g.Decision
	if d == nil || d.Verdict != posthouse.Respond || !g.AsksPeople() || g.Kind == posthouse.GateOutcome {
		return list
	}
	for _, name := range []string{d.By, d.Actor} {
		if name != "" && name != posthouse.RuntimeActor {
			list = requesters.Add(list, posthouse.Requester{Name: name, How: posthouse.RequestedByAnswer, What: []string{g.Name}})
		}
	}
	return list
}

// Of returns who sent the signals that executions on record have taken, who answered their questions, and
// who came with what the threads that they called came to. [posthouse.ErrCorrupt]
// if a record does not decode.
func Of(executions map[string]*threadlog.Execution) (list []posthouse.Requester, err error) {
	for _, key := range slices.Sorted(maps.Keys(executions)) {
		x := executions[key]
		for i := range x.Steps {
			list, err = addStep(list, &x.Steps[i])
			if err != nil {
				return nil, err
			}
		}
		for _, g := range x.Gates {
			list = addAnswer(list, g)
			// In a thread that a fork began the answer names no entry.
			if d := g.Decision; g.Kind == posthouse.GateSignal && d != nil && d.Verdict == posthouse.Respond {
				if d.By != anonymous {
					list = Add(list, g.Signal, d.By)
				}
				list = Add(list, g.Signal, d.Requesters...)
			}
		}
	}
	return list, nil
}

// addStep adds whom a record names.
func addStep(list []posthouse.Requester, step *posthouse.StepRecord) ([]posthouse.Requester, error) {
	if call, ok := strings.CutSuffix(step.Name, others); ok {
		var more []posthouse.Requester
		if err := json.Unmarshal(step.Value.Data, &more); err != nil {
			return nil, posthouse.Corrupt("who changed what %s came to does not decode: %v", call, err)
		}
		return Join(list, more), nil
	}
	if call, ok := strings.CutSuffix(step.Name, sender); ok {
		var by string
		err := json.Unmarshal(step.Value.Data, &by)
		return addSenders(list, call, err, by)
	}
	if call, ok := strings.CutSuffix(step.Name, behalf); ok {
		var all []string
		err := json.Unmarshal(step.Value.Data, &all)
		return addSenders(list, call, err, all...)
	}
	return list, nil
}

func addSenders(list []posthouse.Requester, call string, err error, by ...string) ([]posthouse.Requester, error) {
	if err != nil {
		return nil, posthouse.Corrupt("who sent signal %s does not decode: %v", call, err)
	}
	wait := call[strings.LastIndex(call, handler.Nested)+1:]
	return Add(list, strings.TrimPrefix(wait, Signal), by...), nil
}
