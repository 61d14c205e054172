package engine

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
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
	s.senders = addSender(s.senders, signal, by)
}

func addSender(list []posthouse.Requester, signal, by string) []posthouse.Requester {
	if by == "" {
		return list
	}
	return posthouse.AddRequester(list, posthouse.Requester{Name: by, How: posthouse.RequestedBySignal, What: []string{signal}})
}

// findSenders notes who sent the signals that executions on record have taken. Callers hold
// s.mu.
func (s *Session) findSenders() error {
	senders, err := SendersOf(s.executions)
	for _, r := range senders {
		s.senders = posthouse.AddRequester(s.senders, r)
	}
	return err
}

// SendersOf returns who sent the signals that executions on record have taken.
func SendersOf(executions map[string]*core.Execution) (senders []posthouse.Requester, err error) {
	note := func(signal, by string) { senders = addSender(senders, signal, by) }
	for _, key := range slices.Sorted(maps.Keys(executions)) {
		x := executions[key]
		for i := range x.Steps {
			step := &x.Steps[i]
			call, ok := strings.CutSuffix(step.Name, nested+senderName)
			if !ok {
				continue
			}
			by := ""
			if err := json.Unmarshal(step.Value.Data, &by); err != nil {
				return nil, posthouse.Corrupt("who sent signal %s does not decode: %v", call, err)
			}
			note(strings.TrimPrefix(BaseName(call), signalPrefix), by)
		}
		for _, g := range x.Gates {
			// In a thread that a fork began the answer names no entry.
			if d := g.Decision; g.Kind == posthouse.GateSignal && d != nil && d.Verdict == posthouse.Respond && d.By != anonymous {
				note(g.Signal, d.By)
			}
		}
	}
	return senders, nil
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

// Requesters returns all whose request the execution runs: those of its branch, and who sent
// the signals that the step has taken. It is [commit.Actor]'s.
func (t *Task) Requesters(ctx context.Context) ([]posthouse.Requester, error) {
	return t.session.Requesters(ctx)
}

// Sender returns whose request its questions are, as [Sender] does.
func (t *Task) Sender(ctx context.Context) string { return Sender(ctx) }

// Acts reports whether a claim is that of the execution's run.
func (t *Task) Acts(claim *core.Claim) bool { return t.session.claim == claim }

// Requesters returns all whose request the run is.
func (s *Session) Requesters(ctx context.Context) (list []posthouse.Requester, err error) {
	if h := s.Head(); h != nil {
		c, err := ledger.GetOf(ctx, s.ledger, h)
		if err != nil {
			return nil, err
		}
		if list, err = posthouse.ReadRequesters(c.Program); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.senders {
		list = posthouse.AddRequester(list, r)
	}
	return list, nil
}
