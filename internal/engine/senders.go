package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// senderName is the record, within a signal that was taken at once, of who sent it. A signal
// that answered a wait has its sender in the decision.
const senderName = "$by"

// sentStep returns the record of who sent a signal that a call takes, nil if nobody said.
func sentStep(task string, c *call, by string) ([]posthouse.Step, error) {
	if by == "" {
		return nil, nil
	}
	data, err := json.Marshal(by)
	if err != nil {
		return nil, err
	}
	return []posthouse.Step{{Task: task, Name: c.within(senderName), Effect: posthouse.EffectRead, Value: posthouse.Value{Codec: "json", Data: data}}}, nil
}

// noteSender remembers that the step follows a signal of somebody. Callers hold s.mu.
func (s *Session) noteSender(signal, by string) {
	if by != "" {
		s.senders = posthouse.AddRequester(s.senders, posthouse.Requester{Name: by, How: posthouse.RequestedBySignal, What: []string{signal}})
	}
}

// findSenders notes who sent the signals that executions on record have taken. Callers hold
// s.mu.
func (s *Session) findSenders() error {
	for _, x := range s.executions {
		for i := range x.Steps {
			step := &x.Steps[i]
			call, ok := strings.CutSuffix(step.Name, nested+senderName)
			if !ok {
				continue
			}
			by := ""
			if err := json.Unmarshal(step.Value.Data, &by); err != nil {
				return posthouse.Corrupt("who sent signal %s does not decode: %v", call, err)
			}
			s.noteSender(strings.TrimPrefix(BaseName(call), signalPrefix), by)
		}
		for _, g := range x.Gates {
			// In a thread that a fork began the answer names no entry.
			if d := g.Decision; g.Kind == posthouse.GateSignal && d != nil && d.Verdict == posthouse.Respond && d.By != anonymous {
				s.noteSender(g.Signal, d.By)
			}
		}
	}
	return nil
}

// anonymous is who decided a wait whose signal names no sender, see [posthouse.Signal.Decision].
const anonymous = "signal"

// nameSenders makes the senders of signals that the step follows requesters of what a
// checkpoint of it holds. Callers hold s.mu.
func (s *Session) nameSenders(d *ledger.Draft) {
	if c := d.Checkpoint; c != nil && len(s.senders) > 0 {
		c.Requesters = append(slices.Clip(c.Requesters), s.senders...)
	}
}
