package server

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/agentcall"
)

// An Agent takes requests. A coordinator is one with an adapter.
type Agent interface {
	// Handle works on one message until the thread waits or ends, and returns
	// where that left it. A failure of the agent is a Reply with a Text that says what
	// failed; an error means that the request was not taken. ctx does not end when
	// the client goes away, only when the server closes or Limits.Call is over.
	Handle(ctx context.Context, message string, o *HandleOptions) (*Reply, error)
}

// HandleOptions say who sent the request, and how the agent sends what happens. The
// funcs are never nil, never block, and may be called from any goroutine until
// Handle returns.
type HandleOptions struct {
	Thread string // to work on; it need not exist yet
	By     string // the authenticated sender

	// Withdraw says that the message may withdraw a question that people are asked on the
	// thread. Without it such a message is refused: [posthouse.ErrConflict], with the gate.
	Withdraw bool

	Text  func(text string)  // streams text to the client
	Event func(e AgentEvent) // streams what happens
}

// An AgentEvent is one thing that happened while an agent worked.
type AgentEvent struct {
	Kind string `json:"kind"`           // as coordinators name it: AgentCompleted, ...
	Data any    `json:"data,omitempty"` // encoded as JSON
}

// A Reply is the outcome of a request so far.
type Reply struct {
	Thread     string       `json:"thread" doc:"the line of work"`
	Checkpoint posthouse.ID `json:"checkpoint,omitempty" doc:"its newest checkpoint"`
	Gate       posthouse.ID `json:"gate,omitempty" doc:"the question it waits for"`
	Text       string       `json:"text" doc:"what the agent said"`

	Status posthouse.Status `json:"status,omitempty" doc:"how the request left its thread, such as done, waiting or cancelled; absent where the agent does not say"`
}

// An agentAdapter shows an Agent to package agentcall, which knows no type of this one.
type agentAdapter struct{ agent Agent }

// Handle implements [agentcall.Agent].
func (a agentAdapter) Handle(ctx context.Context, message string, o *agentcall.Options) (*agentcall.Reply, error) {
	reply, err := a.agent.Handle(ctx, message, &HandleOptions{
		Thread: o.Thread, By: o.By, Withdraw: o.Withdraw, Text: o.Text,
		Event: func(e AgentEvent) {
			if err := o.Event(e); err != nil {
				_ = o.Event(AgentEvent{Kind: e.Kind, Data: map[string]string{"error": "cannot be encoded: " + err.Error()}}) // strings can be
			}
		},
	})
	return (*agentcall.Reply)(reply), err
}

func adaptAgents(agents map[string]Agent) map[string]agentcall.Agent {
	adapted := make(map[string]agentcall.Agent, len(agents))
	for name, a := range agents {
		if a != nil {
			adapted[name] = agentAdapter{a}
		}
	}
	return adapted
}
