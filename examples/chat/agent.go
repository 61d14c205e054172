package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/examples/internal/llm"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
)

const system = "You are the support desk of a lamp shop. Look an order up before you refund it. Be brief."

// Chat is the state: a message more is stored as a message more.
type Chat struct {
	Messages []llm.Message `posthouse:"append"`
	Usage    llm.Usage
}

// agent is the loop of every agent. The model says what to do and the tools do
// it, until the model is done.
func agent(model llm.Model, tools []tool) *graph.Graph[Chat] {
	g := graph.New[Chat]("chat")
	g.Node("model", func(ctx context.Context, s *Chat) error {
		// On record before it is used. A crash, a denied tool or a new version of
		// this program never pays for the same answer again.
		reply, err := step.DoWith(ctx, "complete", step.Options{
			Effect:  posthouse.EffectRead,
			Timeout: 5 * time.Minute,
			Retry:   posthouse.RetryPolicy{MaxAttempts: 5, Jitter: 0.3},
			RetryOn: llm.Temporary,
		}, func(ctx context.Context) (llm.Reply, error) {
			request := llm.Request{System: system, Messages: transcript(s.Messages)}
			for _, t := range tools {
				request.Tools = append(request.Tools, t.Tool)
			}
			return model.Complete(ctx, request, step.Writer(ctx)) // read along by a stream
		})
		if err != nil {
			return err
		}
		s.Messages = append(s.Messages, reply.Message)
		s.Usage = s.Usage.Plus(reply.Usage)
		return nil
	})
	g.Node("tools", func(ctx context.Context, s *Chat) error {
		for _, call := range s.Messages[len(s.Messages)-1].Calls {
			result, err := carryOut(ctx, tools, call)
			if err != nil {
				return err
			}
			s.Messages = append(s.Messages, result)
		}
		return nil
	})
	g.Edge(graph.Start, "model")
	g.Route("model", func(s *Chat) string {
		if len(s.Messages[len(s.Messages)-1].Calls) > 0 {
			return "tools"
		}
		return graph.End
	}, "tools", graph.End)
	g.Edge("tools", "model")
	return g
}

// carryOut runs one call. The returned message is for the model, also if the tool
// failed or a person said no. An error stops the run, which can be resumed.
func carryOut(ctx context.Context, tools []tool, call llm.Call) (llm.Message, error) {
	result := llm.Message{Role: llm.ToolRole, CallID: call.ID, Failed: true}
	for _, t := range tools {
		if t.Name != call.Name {
			continue
		}
		text, err := t.carryOut(ctx, call.Arguments)
		if e, ok := errors.AsType[*posthouse.Error](err); ok && e.Decision != nil { // a person said no, or did not answer
			result.Text = fmt.Sprintf("not done: %s by %s: %s", e.Decision.Verdict, e.Decision.By, e.Decision.Reason)
			return result, nil
		}
		if err != nil {
			return result, err // posthouse.ErrWaiting: parked, nothing is held
		}
		result.Text, result.Failed = text, false
		return result, nil
	}
	result.Text = "there is no such tool"
	return result, nil
}

// carryOut runs a tool: a dangerous one on arguments that somebody approved, or
// edited, and no others.
func (t *tool) carryOut(ctx context.Context, arguments json.RawMessage) (string, error) {
	if !t.Dangerous {
		return step.DoWith(ctx, t.Name, step.Options{Effect: t.Effect}, func(ctx context.Context) (string, error) { return t.Run(ctx, arguments) })
	}
	grant, err := gate.Propose(ctx, gate.Question{
		Name: t.Name, Kind: "tool", Text: "The agent wants to " + t.Name + ".",
		Schema:  t.Parameters, // an edit must be arguments that the tool takes
		Expires: 7 * 24 * time.Hour,
	}, arguments)
	if err != nil {
		return "", err
	}
	again := t.Effect == posthouse.EffectWrite // the bank knows it by its key
	return gate.Act(ctx, t.Name, grant, t.Run, gate.ActOptions[json.RawMessage, string]{Idempotent: again})
}

// transcript is the conversation as a model takes it: each call has a result.
// A message that arrives while a tool waits for its approval withdraws the
// question, and the call has no result.
func transcript(messages []llm.Message) []llm.Message {
	done := map[string]bool{}
	for _, m := range messages {
		done[m.CallID] = true
	}
	var all []llm.Message
	for _, m := range messages {
		all = append(all, m)
		for _, c := range m.Calls {
			if !done[c.ID] {
				all = append(all, llm.Message{Role: llm.ToolRole, CallID: c.ID, Text: "not done: the user went on", Failed: true})
			}
		}
	}
	return all
}
