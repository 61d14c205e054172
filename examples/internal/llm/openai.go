package llm

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// openAI speaks the chat completions API.
type openAI struct{}

func (openAI) path() string { return "/chat/completions" }

func (openAI) header(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

type (
	openAIRequest struct {
		Model     string          `json:"model"`
		Messages  []openAIMessage `json:"messages"`
		Tools     []openAITool    `json:"tools,omitempty"`
		MaxTokens int             `json:"max_completion_tokens,omitempty"`
		Stream    bool            `json:"stream"`
		Options   struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	openAIMessage struct {
		Role    string       `json:"role"`
		Content string       `json:"content"`
		Calls   []openAICall `json:"tool_calls,omitempty"`
		CallID  string       `json:"tool_call_id,omitempty"`
	}
	openAICall struct {
		Index    int    `json:"index"` // of the pieces of a stream
		ID       string `json:"id,omitempty"`
		Type     string `json:"type,omitempty"`
		Function struct {
			Name      string `json:"name,omitempty"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	openAITool struct {
		Type     string         `json:"type"`
		Function openAIFunction `json:"function"`
	}
	openAIFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	openAIEvent struct {
		Choices []struct {
			Delta  openAIMessage `json:"delta"`
			Finish string        `json:"finish_reason"`
		} `json:"choices"`
		Usage *struct {
			Input  int `json:"prompt_tokens"`
			Output int `json:"completion_tokens"`
		} `json:"usage"`
		Error *trouble `json:"error"`
	}
)

func (openAI) body(model string, r Request) any {
	q := openAIRequest{Model: model, MaxTokens: r.MaxTokens, Stream: true}
	q.Options.Usage = true
	if r.System != "" {
		q.Messages = append(q.Messages, openAIMessage{Role: "system", Content: r.System})
	}
	for _, m := range r.Messages {
		om := openAIMessage{Role: string(m.Role), Content: m.Text, CallID: m.CallID}
		for i, c := range m.Calls {
			oc := openAICall{Index: i, ID: c.ID, Type: "function"}
			oc.Function.Name, oc.Function.Arguments = c.Name, string(c.Arguments)
			om.Calls = append(om.Calls, oc)
		}
		q.Messages = append(q.Messages, om)
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, openAITool{"function", openAIFunction(t)})
	}
	return q
}

func (openAI) reader(out io.Writer) answer { return &openAIAnswer{out: out} }

// openAIAnswer gathers the pieces: text as it comes, calls by their index.
type openAIAnswer struct {
	out   io.Writer
	text  strings.Builder
	calls []openAICall
	got   Reply
}

func (a *openAIAnswer) event(data []byte) (bool, error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	var e openAIEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, unreadable(err)
	}
	if e.Error != nil { // it began to answer, so the request is one that it takes
		return false, &Error{Kind: e.Error.Type, Message: e.Error.Message, temporary: true}
	}
	if e.Usage != nil {
		a.got.Usage = Usage{Input: e.Usage.Input, Output: e.Usage.Output}
	}
	for _, c := range e.Choices {
		a.got.Cut = a.got.Cut || c.Finish == "length"
		a.text.WriteString(c.Delta.Content)
		if _, err := io.WriteString(a.out, c.Delta.Content); err != nil {
			return false, err
		}
		for _, piece := range c.Delta.Calls {
			a.add(piece)
		}
	}
	return false, nil
}

func (a *openAIAnswer) add(piece openAICall) {
	for i := range a.calls {
		if c := &a.calls[i]; c.Index == piece.Index {
			c.Function.Arguments += piece.Function.Arguments
			return
		}
	}
	a.calls = append(a.calls, piece)
}

func (a *openAIAnswer) reply() Reply {
	a.got.Message = Message{Role: Assistant, Text: a.text.String()}
	for _, c := range a.calls {
		call := Call{ID: c.ID, Name: c.Function.Name, Arguments: object([]byte(c.Function.Arguments))}
		a.got.Message.Calls = append(a.got.Message.Calls, call)
	}
	return a.got
}
