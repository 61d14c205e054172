package host

import (
	"context"
	"maps"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/server"
)

// agents returns the agents that the set names, and each of its coordinators by its
// name.
func (s *Set) agents() (map[string]server.Agent, error) {
	all := maps.Clone(s.Agents)
	if all == nil {
		all = map[string]server.Agent{}
	}
	for _, p := range s.Programs {
		c, ok := p.(*coord.Coordinator)
		if !ok {
			continue
		}
		if _, taken := all[c.Name()]; taken {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "Agents", Message: "has " + c.Name() + ", which is the name of a coordinator",
				Hint: "a coordinator takes requests under its own name: leave it out, or name the agent otherwise",
			}
		}
		all[c.Name()] = coordinator{c}
	}
	return all, nil
}

// A coordinator makes a coordinator an agent.
type coordinator struct{ c *coord.Coordinator }

// Handle implements [server.Agent].
func (a coordinator) Handle(ctx context.Context, message string, o *server.HandleOptions) (*server.Reply, error) {
	r, err := a.c.Handle(ctx, message, &coord.HandleOptions{
		Thread: o.Thread, By: o.By, Withdraw: o.Withdraw,
		Stream: func(f coord.Frame) error {
			switch {
			case f.Event != nil:
				o.Event(server.AgentEvent{Kind: string(f.Event.Kind), Data: f.Event})
			case f.Text != "":
				o.Text(f.Text)
			}
			return nil
		},
	})
	if r == nil {
		return nil, err
	}
	// The request was taken and is on record, also where its handler failed.
	text := r.Text
	if err != nil && text == "" {
		text = "failed: " + err.Error()
	}
	return &server.Reply{Thread: r.Thread, Checkpoint: r.Checkpoint, Gate: r.Gate, Text: text, Status: r.Status}, nil
}
