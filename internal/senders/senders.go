// Package senders says who sent the signals that executions have taken. They are requesters of
// what those ask.
//
// It imports the root package, internal/core and internal/handler.
package senders

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/handler"
)

// Signal is what the name of a wait for a signal begins with, on record.
const Signal = "signal:"

// sender is the record, within a signal that was taken at once, of who sent it. A signal that
// answered a wait has its sender in the decision.
const sender = handler.Nested + "$by"

// anonymous is who decided a wait whose signal names no sender, see [posthouse.Signal.Decision].
const anonymous = "signal"

// Step returns the record of who sent a signal that a call takes, nil if nobody said. call is
// the call's name in full.
func Step(task, call, by string) ([]posthouse.Step, error) {
	if by == "" {
		return nil, nil
	}
	data, err := json.Marshal(by)
	if err != nil {
		return nil, err
	}
	return []posthouse.Step{{Task: task, Name: call + sender, Effect: posthouse.EffectRead, Value: posthouse.Value{Codec: "json", Data: data}}}, nil
}

// Add returns a list with the sender of one more signal, and itself if nobody said.
func Add(list []posthouse.Requester, signal, by string) []posthouse.Requester {
	if by == "" {
		return list
	}
	return posthouse.AddRequester(list, posthouse.Requester{Name: by, How: posthouse.RequestedBySignal, What: []string{signal}})
}

// Join returns a list with those of another one.
func Join(list, more []posthouse.Requester) []posthouse.Requester {
	for _, r := range more {
		list = posthouse.AddRequester(list, r)
	}
	return list
}

// Of returns who sent the signals that executions on record have taken. [posthouse.ErrCorrupt]
// if a record does not decode.
func Of(executions map[string]*core.Execution) (list []posthouse.Requester, err error) {
	for _, key := range slices.Sorted(maps.Keys(executions)) {
		x := executions[key]
		for i := range x.Steps {
			step := &x.Steps[i]
			call, ok := strings.CutSuffix(step.Name, sender)
			if !ok {
				continue
			}
			by := ""
			if err := json.Unmarshal(step.Value.Data, &by); err != nil {
				return nil, posthouse.Corrupt("who sent signal %s does not decode: %v", call, err)
			}
			wait := call[strings.LastIndex(call, handler.Nested)+1:]
			list = Add(list, strings.TrimPrefix(wait, Signal), by)
		}
		for _, g := range x.Gates {
			// In a thread that a fork began the answer names no entry.
			if d := g.Decision; g.Kind == posthouse.GateSignal && d != nil && d.Verdict == posthouse.Respond && d.By != anonymous {
				list = Add(list, g.Signal, d.By)
			}
		}
	}
	return list, nil
}
