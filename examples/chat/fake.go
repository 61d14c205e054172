package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/posthouse/posthouse/examples/internal/llm"
)

var digits = regexp.MustCompile(`[0-9]+`)

// fake is a model that needs no key. It looks up each order it reads of, refunds
// it, and repeats the outcome.
func fake(_ context.Context, r llm.Request, out io.Writer) (llm.Reply, error) {
	last := r.Messages[len(r.Messages)-1]
	order := ""
	for _, m := range r.Messages {
		if n := digits.FindString(m.Text); m.Role == llm.User && n != "" {
			order = n
		}
	}
	reply := llm.Reply{Usage: llm.Usage{Input: 10 * len(r.Messages), Output: 5}}
	say := func(format string, a ...any) {
		reply.Message = llm.Message{Role: llm.Assistant, Text: fmt.Sprintf(format, a...)}
	}
	call := func(name string) {
		id := fmt.Sprintf("call-%d", len(r.Messages))
		reply.Message.Calls = []llm.Call{{ID: id, Name: name, Arguments: json.RawMessage(`{"order":"` + order + `"}`)}}
	}
	switch {
	case last.Role == llm.User && order == "":
		say("Which order is it about?")
	case last.Role == llm.User:
		say("Let me look at order %s.", order)
		call("lookup")
	case last.Failed:
		say("I am sorry, that was %s.", last.Text)
	case strings.Contains(last.Text, "broken"):
		say("That deserves a refund.")
		call("refund")
	default:
		say("Done: %s.", last.Text)
	}
	for _, word := range strings.SplitAfter(reply.Message.Text, " ") { // token by token
		if _, err := io.WriteString(out, word); err != nil {
			return llm.Reply{}, err
		}
	}
	return reply, nil
}
