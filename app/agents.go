package app

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/server"
)

// GraphAgent lets requests begin runs of a graph: POST /api/agents/NAME with a
// message, under the name that [Set].Agents gives it. decode makes the input of
// the message; nil takes JSON, or the text itself where S is a string. JSON is taken
// strictly: a field that S does not have is refused, with those that it has. The error
// is the request's.
//
// A request that names no thread gets a new one. The reply comes when the run
// ends or waits: its text is what nodes said by [step.Token], its gate the first
// open question. A run that fails is a reply, too, with status failed.
//
// A message to a thread that waits for a person, or that has not acted on a decision yet, is
// [posthouse.ErrConflict] with the gate, unless it says that it withdraws the question
// ([server.HandleOptions].Withdraw).
func GraphAgent[S any](env *Env, a *graph.App[S], decode func(message string) (S, error)) server.Agent {
	return agent(func(ctx context.Context, message string, o *server.HandleOptions) (*server.Reply, error) {
		in, err := decoded(message, decode)
		if err != nil {
			return nil, err
		}
		t := telling{options: o, thread: threadOf(env, o)}
		run := graph.RunOptions{By: o.By, Withdraw: o.Withdraw, Modes: []runs.StreamMode{runs.StreamMessages, runs.StreamCustom, runs.StreamCheckpoints}}
		for e, err := range a.Stream(ctx, t.thread, in, run) {
			var failed *graph.NodeError
			if err != nil {
				return t.failed(err, errors.As(err, &failed))
			}
			t.record(&e.Checkpoint, e.Text, e.Value)
			if r := e.Result; r != nil {
				return t.noted(t.reply(r.Checkpoint, r.Status, r.Waiting), r.Note), nil
			}
		}
		return nil, ctx.Err()
	})
}

// FlowAgent lets requests begin runs of a flow, as [GraphAgent] does of a graph.
// The text of the reply is what the function said by [step.Token]; if it said
// nothing, what it returned: a string as it is, anything else as JSON.
func FlowAgent[In, Out any](env *Env, a *flow.App[In, Out], decode func(message string) (In, error)) server.Agent {
	return agent(func(ctx context.Context, message string, o *server.HandleOptions) (*server.Reply, error) {
		in, err := decoded(message, decode)
		if err != nil {
			return nil, err
		}
		t := telling{options: o, thread: threadOf(env, o)}
		run := flow.RunOptions{By: o.By, Withdraw: o.Withdraw, Modes: []runs.StreamMode{runs.StreamMessages, runs.StreamCustom, runs.StreamCheckpoints}}
		for e, err := range a.Stream(ctx, t.thread, in, run) {
			var failed *flow.Error
			if err != nil {
				return t.failed(err, errors.As(err, &failed))
			}
			t.record(&e.Checkpoint, e.Text, e.Value)
			r := e.Result
			if r == nil {
				continue
			}
			reply := t.noted(t.reply(r.Checkpoint, r.Status, r.Waiting), r.Note)
			if reply.Text == "" && r.Status == posthouse.StatusDone {
				reply.Text, err = outputText(r.Output)
			}
			return reply, err
		}
		return nil, ctx.Err()
	})
}

// An agent is a func that is a [server.Agent].
type agent func(context.Context, string, *server.HandleOptions) (*server.Reply, error)

// Handle implements [server.Agent].
func (f agent) Handle(ctx context.Context, message string, o *server.HandleOptions) (*server.Reply, error) {
	return f(ctx, message, o)
}

// threadOf returns the thread of a request.
func threadOf(env *Env, o *server.HandleOptions) string {
	if o.Thread != "" {
		return o.Thread
	}
	return string(env.Ledger.Core().NewID())
}

// outputText returns what a flow returned, as text.
func outputText(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	data, err := json.Marshal(v)
	return string(data), err
}

// A telling sends what a run says to the client of one request.
type telling struct {
	options *server.HandleOptions
	thread  string
	head    posthouse.ID // the newest checkpoint; "" until the request is on record
	said    strings.Builder
}

// record sends one event of a run.
func (t *telling) record(h *posthouse.Header, text string, value any) {
	if h.ID != "" {
		t.head = h.ID
	}
	if text != "" {
		t.said.WriteString(text)
		t.options.Text(text)
	}
	if value != nil {
		t.options.Event(server.AgentEvent{Kind: "custom", Data: value})
	}
}

func (t *telling) reply(head posthouse.ID, status posthouse.Status, waiting []posthouse.Gate) *server.Reply {
	r := &server.Reply{Thread: t.thread, Checkpoint: head, Text: t.said.String(), Status: status}
	for i := range waiting {
		if waiting[i].Kind == posthouse.GateApproval {
			r.Gate = waiting[i].ID
			break
		}
	}
	return r
}

// noted adds a run's note to the text of a reply.
func (t *telling) noted(r *server.Reply, note string) *server.Reply {
	switch {
	case note == "":
	case r.Text == "":
		r.Text = note
	default:
		r.Text += "\n\n" + note
	}
	return r
}

// failed answers for a run that ended with err. It is a reply if the request is on
// record, since it was taken then.
func (t *telling) failed(err error, ended bool) (*server.Reply, error) {
	if t.head == "" {
		return nil, err
	}
	var status posthouse.Status // unknown: it may go on
	if ended {
		status = posthouse.StatusFailed
	}
	r := t.reply(t.head, status, nil)
	if r.Text == "" {
		r.Text = "failed: " + err.Error()
	}
	return r, nil
}
