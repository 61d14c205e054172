package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/examples/internal/llm"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
)

// talk is the agent in a session. The person who chats approves, line by line;
// leaving denies what was asked.
func (d *desk) talk(ctx context.Context, led *ledger.Ledger, in io.Reader) error {
	app, err := agent(d.model, inSession(d.tools)).Compile(led, nil)
	if err != nil {
		return err
	}
	d = &desk{store: d.store, model: d.model, tools: d.tools, thread: d.thread, out: &shared{w: d.out}}
	asked := make(chan *posthouse.Gate, 1) // the node asks one question at a time
	session := gate.NewSession(&gate.SessionOptions{By: "you", Announce: func(q *posthouse.Gate) error {
		asked <- q
		return nil
	}})
	defer session.Close()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		input := Chat{Messages: []llm.Message{{Role: llm.User, Text: lines.Text()}}}
		read := graph.RunOptions{Modes: []runs.StreamMode{runs.StreamMessages}, Withdraw: true}
		over := make(chan error, 1)
		go func() { over <- d.follow(app.Stream(session.With(ctx), d.thread, input, read)) }()
		for running := true; running; {
			select {
			case q := <-asked:
				fmt.Fprintf(d.out, "\n%s %s [approve, or anything else] ", q.Text, q.Payload)
				verb := "deny"
				if lines.Scan() {
					verb = lines.Text()
				}
				// The message that a chat's page would send over its WebSocket.
				session.Receive(gate.MessagePrefix+string(q.ID)+"/"+verb, "you")
			case err := <-over:
				if err != nil {
					return err
				}
				running = false
			}
		}
	}
	return lines.Err()
}

// A shared writer is written to by the model's answer and by a question at
// once.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes one piece after the other.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
