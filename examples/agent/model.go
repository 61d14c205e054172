package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/posthouse/posthouse/examples/internal/process"
)

// A fakeModel says the same to the same conversation, and writes each call down.
type fakeModel struct {
	worker string          // who calls it
	calls  process.Witness // a line for each
	hang   int             // the call that it never answers; 0: it answers all
}

// call is a callLLM.
func (m *fakeModel) call(ctx context.Context, messages []Message) (Message, error) {
	n := len(messages) // the question, and an answer to each call before
	line := fmt.Sprintf("%s makes call %d", m.worker, n)
	if err := m.calls.Note(line); err != nil {
		return Message{}, err
	}
	fmt.Println(line)
	if n == m.hang {
		<-ctx.Done()
		return Message{}, context.Cause(ctx)
	}
	return think(messages), nil
}

// think is what a model does: what it says next follows from all that was said.
func think(messages []Message) Message {
	thoughts := []string{"The train at 7:04 takes four hours.", "A room by the river is free.", "The museum is closed on Monday."}
	if said := len(messages) - 1; said < len(thoughts) {
		return Message{Role: "assistant", Content: thoughts[said]}
	}
	var all []string
	for _, m := range messages {
		all = append(all, m.Content)
	}
	return Message{Role: "assistant", Content: strings.Join(all, " ") + " So leave on Saturday.", Final: true}
}
