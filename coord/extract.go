package coord

import (
	"context"

	"github.com/posthouse/posthouse"
)

// A Filter selects the events that become checkpoints.
type Filter func(e Event) bool

// OnAgentBoundaries selects AgentCompleted and AgentFailed.
func OnAgentBoundaries(e Event) bool { return e.Kind == AgentCompleted || e.Kind == AgentFailed }

// EveryEvent selects all events.
func EveryEvent(Event) bool { return true }

// An Extractor makes the state of the checkpoint that an event becomes. It is
// called once for each such event; an error is an error of the run.
type Extractor func(ctx context.Context, e Event) (posthouse.State, error)

// WholeEvent makes the event itself the state, as JSON.
func WholeEvent(_ context.Context, e Event) (posthouse.State, error) {
	return posthouse.Opaque(nil, e)
}

// EventSummary makes the event's log line the state, as a JSON string.
func EventSummary(_ context.Context, e Event) (posthouse.State, error) {
	return posthouse.Opaque(nil, e.String())
}

// ResultText makes an agent's text the state, as a JSON string: what it
// answered, or why it failed. Of any other event it makes null.
func ResultText(_ context.Context, e Event) (posthouse.State, error) {
	switch e.Kind {
	case AgentCompleted:
		return posthouse.Opaque(nil, e.Text)
	case AgentFailed:
		return posthouse.Opaque(nil, e.Error)
	}
	return posthouse.Opaque(nil, nil)
}
