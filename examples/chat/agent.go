package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/examples/internal/llm"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/step"
)

const system = "You are the support desk of a lamp shop. Look an order up before you refund it. Be brief."

// Chat is the state: a message more is stored as a message more.
type Chat struct {
	Messages []llm.Message `posthouse:"append"`
	Late     []llm.Message `posthouse:"append"` // results of calls that the user did not wait for
	Usage    llm.Usage
}

// agent is the loop of every agent. The model says what to do and the tools do
// it, until the model is done.
func agent(model llm.Model, tools []tool) *graph.Graph[Chat] {
	g := graph.New[Chat]("chat")
	g.Node("model", func(ctx context.Context, s *Chat) error {
		late, err := withdrawn(ctx, s)
		if err != nil {
			return err
		}
		s.Late = append(s.Late, late...)
		// On record before it is used. A crash, a denied tool or a new version of
		// this program never pays for the same answer again.
		reply, err := step.DoWith(ctx, "complete", step.Options{
			Effect:  posthouse.EffectRead,
			Timeout: 5 * time.Minute,
			Retry:   posthouse.RetryPolicy{MaxAttempts: 5, Jitter: 0.3},
			RetryOn: llm.Temporary,
		}, func(ctx context.Context) (llm.Reply, error) {
			request := llm.Request{System: system, Messages: transcript(s)}
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

// withdrawn returns the results of calls that have none. A message that arrives while a tool waits for its
// approval withdraws the question, and with it what the node has made of the other calls. Some of them
// were done: that is on record, and the model must know it, or it does them again.
func withdrawn(ctx context.Context, s *Chat) (late []llm.Message, err error) {
	open := unanswered(s)
	if len(open) == 0 {
		return nil, nil
	}
	record, err := step.Do(ctx, "withdrawn", gate.ReadWithdrawn)
	if err != nil {
		return nil, err
	}
	count := map[string]uint32{} // calls of a tool have numbers, in their order
	for _, call := range open {
		n := count[call.Name]
		count[call.Name]++
		m := llm.Message{Role: llm.ToolRole, CallID: call.ID, Text: "not done: the user went on", Failed: true}
		for _, w := range record {
			if w.Name != call.Name || w.Occurrence != n {
				continue
			}
			switch w.Status {
			case grants.Executed:
				m.Failed = json.Unmarshal(w.Result, &m.Text) != nil
			case grants.Released, grants.Unknown:
				m.Text = "it is not known whether this was done: do not do it again, and say so"
			}
		}
		late = append(late, m)
	}
	return late, nil
}

// unanswered returns the calls without a result.
func unanswered(s *Chat) (open []llm.Call) {
	done := map[string]bool{}
	for _, m := range slices.Concat(s.Messages, s.Late) {
		done[m.CallID] = true
	}
	for _, m := range s.Messages {
		for _, c := range m.Calls {
			if !done[c.ID] {
				open = append(open, c)
			}
		}
	}
	return open
}

// transcript is the conversation as a model takes it: each call is followed by its result.
func transcript(s *Chat) (all []llm.Message) {
	late := map[string]llm.Message{}
	for _, m := range s.Late {
		late[m.CallID] = m
	}
	for _, m := range s.Messages {
		all = append(all, m)
		for _, c := range m.Calls {
			if result, ok := late[c.ID]; ok {
				all = append(all, result)
			}
		}
	}
	return all
}
