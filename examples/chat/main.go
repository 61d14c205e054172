// Command chat is an agent with tools. Your problem: it calls a model, which
// costs money and minutes, and it can do things that a person must allow first,
// who is not there at the moment. Before they answer, the process that asked is
// deployed again, and the same answers must not be paid for twice.
//
//	go run ./examples/chat say "my lamp came broken, please refund order 1234"
//	go run ./examples/chat approve       # or: reject "too much", edit '{"order":"1235"}'
//	go run ./examples/chat say "and order 99?"
//
// Each command is a process of its own. The first stops at the question what
// somebody thinks of the refund; the conversation is in a file, nothing waits
// in memory. In a session, the one who chats is asked, on the spot:
//
//	go run ./examples/chat talk
//
// The model is a fake one, in this process, unless POSTHOUSE_MODEL names a
// real one, such as openai:gpt-4.1-mini or anthropic:claude-sonnet-4-5, with its
// key in OPENAI_API_KEY or ANTHROPIC_API_KEY. OPENAI_BASE_URL leads to any server
// that speaks like OpenAI's.
//
// agent.go is the agent, tools.go what it can do, talk.go the session.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/examples/internal/llm"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A desk is where conversations are held: all of it but the store can be
// exchanged.
type desk struct {
	store  posthouse.Store
	model  llm.Model
	tools  []tool
	out    io.Writer
	thread string
}

var errUsage = errors.New(`usage: chat say TEXT | resume | approve | reject [REASON] | edit JSON | talk`)

// command does what one command line says.
func (d *desk) command(ctx context.Context, verb, text string) error {
	led, err := ledger.Open(d.store, &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		return err
	}
	defer led.Close()
	if verb == "talk" {
		return d.talk(ctx, led, os.Stdin)
	}
	app, err := agent(d.model, d.tools).Compile(led, nil)
	if err != nil {
		return err
	}
	read := graph.RunOptions{Modes: []runs.StreamMode{runs.StreamMessages}}
	if verb == "say" {
		input := Chat{Messages: []llm.Message{{Role: llm.User, Text: text}}}
		read.Withdraw = true // who types instead of answering takes the question back; agent.go tells the model
		return d.follow(app.Stream(ctx, d.thread, input, read))
	}
	if verb != "resume" {
		if err := decide(ctx, led, d.thread, verb, text); err != nil {
			return err
		}
	}
	return d.follow(app.ResumeStream(ctx, d.thread, read))
}

// decide answers what the thread waits for. It could be done anywhere else: by
// `posthouse approve`, by a page, by another program.
func decide(ctx context.Context, led *ledger.Ledger, thread, verb, text string) error {
	answer := posthouse.Decision{By: "you"}
	switch verb {
	case "approve":
		answer.Verdict = posthouse.Approve
	case "reject":
		answer.Verdict, answer.Reason = posthouse.Reject, text
	case "edit":
		answer.Verdict, answer.Value = posthouse.Edit, json.RawMessage(text)
	default:
		return errUsage
	}
	var open []posthouse.ID
	for q, err := range led.Gates(ctx, ledger.GateQuery{Thread: thread}) {
		if err != nil {
			return err
		}
		open = append(open, q.ID)
	}
	if len(open) == 0 {
		return errors.New("nothing waits for an answer")
	}
	for _, id := range open {
		if _, err := led.Decide(ctx, id, answer); err != nil {
			return err
		}
	}
	return nil
}

// follow prints a run as it goes, and what it waits for in the end.
func (d *desk) follow(events func(yield func(graph.Event[Chat], error) bool)) error {
	for e, err := range events {
		if err != nil {
			return err
		}
		fmt.Fprint(d.out, e.Text)
		if r := e.Result; r != nil {
			fmt.Fprintln(d.out)
			for _, q := range r.Waiting {
				fmt.Fprintf(d.out, "waiting: %s %s\n", q.Text, q.Payload)
			}
			fmt.Fprintf(d.out, "%s, %d messages, %d tokens\n", r.Status, len(r.State.Messages), r.State.Usage.Input+r.State.Usage.Output)
		}
	}
	return nil
}

func run(ctx context.Context) error {
	if len(os.Args) < 2 {
		return errUsage
	}
	model, err := llm.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	if model == nil {
		model = llm.Func(fake)
	}
	store, err := sqlitestore.Open(ctx, filepath.Join(os.TempDir(), "posthouse-chat.db"), nil)
	if err != nil {
		return err
	}
	defer store.Close()
	d := &desk{store: store, model: model, out: os.Stdout, thread: "chat-1"}
	d.tools = shop(func(what string) { fmt.Printf("\n[%s]\n", what) })
	return d.command(ctx, os.Args[1], strings.Join(os.Args[2:], " "))
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
