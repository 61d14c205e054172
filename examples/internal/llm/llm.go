package llm

import (
	"context"
	"encoding/json"
	"io"
)

// A Model answers conversations. It is safe for concurrent use.
type Model interface {
	// Complete returns the complete answer, and writes its text to out as it
	// comes. out may be nil.
	Complete(ctx context.Context, r Request, out io.Writer) (Reply, error)
}

// A Func is a model made of a function, such as one for tests.
type Func func(ctx context.Context, r Request, out io.Writer) (Reply, error)

// Complete calls the function.
func (f Func) Complete(ctx context.Context, r Request, out io.Writer) (Reply, error) {
	if out == nil {
		out = io.Discard
	}
	return f(ctx, r, out)
}

// A Role says who wrote a message.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // a message with the result of a call
)

// A Message is one turn of a conversation.
type Message struct {
	Role   Role
	Text   string
	Calls  []Call `json:",omitempty"` // of an Assistant: what it wants done before it goes on
	CallID string `json:",omitempty"` // of a ToolRole: the call it is the result of
	Failed bool   `json:",omitempty"` // of a ToolRole: the text says why there is no result
}

// A Call is a tool that the model wants to be run.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // a JSON object
}

// A Tool is something that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments
}

// A Request is what a model is asked.
type Request struct {
	System    string // how to behave
	Messages  []Message
	Tools     []Tool
	MaxTokens int // of the answer; default: the server's, and 4096 for Anthropic, which has no default
}

// A Reply is a model's answer.
type Reply struct {
	Message Message
	Usage   Usage
	Cut     bool // it reached MaxTokens
}

// Usage counts tokens, which are what is paid for.
type Usage struct{ Input, Output int }

// Plus returns the sum.
func (u Usage) Plus(v Usage) Usage { return Usage{u.Input + v.Input, u.Output + v.Output} }
