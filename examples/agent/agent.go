package main

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse/worker"
)

// A Message is what one side of a conversation says.
type Message struct {
	Role, Content string
	Final         bool // it is the answer
}

// callLLM calls a model, which takes time and money.
type callLLM func(ctx context.Context, messages []Message) (Message, error)

// llmAgent returns the handler of an agent's loop. Each execution is one turn: it loads the
// conversation, calls the model once, keeps what that said, and continues or completes.
//
// Wherever the process dies, the next attempt finds the conversation up to the last Checkpoint.
// So a worker that is killed costs the call that was under way, and no other.
func llmAgent(call callLLM) worker.Handler {
	return func(t worker.Task) error {
		var messages []Message
		saved, err := t.LoadCheckpoint()
		if err != nil {
			return t.Fail(err)
		}
		if saved != nil {
			if err := json.Unmarshal(saved, &messages); err != nil {
				return t.FailPermanent(err) // no other attempt would read it
			}
		} else { // the first turn
			var question string
			if err := json.Unmarshal(t.Input(), &question); err != nil {
				return t.FailPermanent(err)
			}
			messages = []Message{{Role: "user", Content: question}}
		}

		last := messages[len(messages)-1]
		if !last.Final { // else a worker died between its Checkpoint and its Complete
			last, err = call(t.Context(), messages)
			if err != nil {
				return t.Fail(err) // another attempt begins with the same conversation
			}
			messages = append(messages, last)
			data, err := json.Marshal(messages)
			if err != nil {
				return t.FailPermanent(err)
			}
			if err := t.Checkpoint(data); err != nil {
				return t.Fail(err) // another worker may have the task
			}
		}

		if last.Final {
			return t.Complete(last.Content)
		}
		return t.Continue(nil) // what the next turn needs is in the slot
	}
}
