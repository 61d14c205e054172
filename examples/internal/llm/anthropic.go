package llm

import (
	"encoding/json"
	"io"
	"net/http"
)

// anthropic speaks the messages API.
type anthropic struct{}

const (
	anthropicVersion   = "2023-06-01"
	anthropicMaxTokens = 4096 // the API asks for a number
)

func (anthropic) path() string { return "/messages" }

func (anthropic) header(h http.Header, key string) {
	h.Set("Anthropic-Version", anthropicVersion)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

type (
	anthropicRequest struct {
		Model     string             `json:"model"`
		System    string             `json:"system,omitempty"`
		Messages  []anthropicMessage `json:"messages"`
		Tools     []anthropicTool    `json:"tools,omitempty"`
		MaxTokens int                `json:"max_tokens"`
		Stream    bool               `json:"stream"`
	}
	anthropicMessage struct {
		Role    string           `json:"role"`
		Content []anthropicBlock `json:"content"`
	}
	anthropicBlock struct {
		Type    string          `json:"type"`
		Text    string          `json:"text,omitempty"`
		ID      string          `json:"id,omitempty"`
		Name    string          `json:"name,omitempty"`
		Input   json.RawMessage `json:"input,omitempty"`
		CallID  string          `json:"tool_use_id,omitempty"`
		Content string          `json:"content,omitempty"`
		Failed  bool            `json:"is_error,omitempty"`
	}
	anthropicTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"input_schema"`
	}
	anthropicUsage struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
	anthropicEvent struct {
		Type    string `json:"type"`
		Message struct {
			Usage anthropicUsage `json:"usage"`
		} `json:"message"`
		Index int            `json:"index"`
		Block anthropicBlock `json:"content_block"`
		Delta struct {
			Text string `json:"text"`
			JSON string `json:"partial_json"`
			Stop string `json:"stop_reason"`
		} `json:"delta"`
		Usage anthropicUsage `json:"usage"`
		Error trouble        `json:"error"`
	}
)

func (anthropic) body(model string, r Request) any {
	q := anthropicRequest{Model: model, System: r.System, MaxTokens: r.MaxTokens, Stream: true}
	if q.MaxTokens <= 0 {
		q.MaxTokens = anthropicMaxTokens
	}
	for _, m := range r.Messages {
		am := anthropicMessage{Role: string(m.Role)}
		if m.Role == ToolRole {
			am.Role = string(User)
			am.Content = append(am.Content, anthropicBlock{Type: "tool_result", CallID: m.CallID, Content: m.Text, Failed: m.Failed})
		} else if m.Text != "" {
			am.Content = append(am.Content, anthropicBlock{Type: "text", Text: m.Text})
		}
		for _, c := range m.Calls {
			am.Content = append(am.Content, anthropicBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: c.Arguments})
		}
		// Turns alternate: the results of several calls are one.
		if n := len(q.Messages); n > 0 && q.Messages[n-1].Role == am.Role {
			q.Messages[n-1].Content = append(q.Messages[n-1].Content, am.Content...)
		} else if len(am.Content) > 0 {
			q.Messages = append(q.Messages, am)
		}
	}
	for _, t := range r.Tools {
		schema := t.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		q.Tools = append(q.Tools, anthropicTool{t.Name, t.Description, schema})
	}
	return q
}

func (anthropic) reader(out io.Writer) answer {
	return &anthropicAnswer{out: out, calls: map[int]*anthropicCall{}}
}

// anthropicAnswer gathers blocks by their index.
type anthropicAnswer struct {
	out   io.Writer
	text  string
	calls map[int]*anthropicCall
	order []int
	got   Reply
}

type anthropicCall struct {
	id, name  string
	arguments []byte
}

func (a *anthropicAnswer) event(data []byte) (bool, error) {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, unreadable(err)
	}
	switch e.Type {
	case "message_start":
		a.got.Usage = Usage(e.Message.Usage)
	case "content_block_start":
		if e.Block.Type == "tool_use" {
			a.calls[e.Index] = &anthropicCall{id: e.Block.ID, name: e.Block.Name}
			a.order = append(a.order, e.Index)
		}
		return false, a.write(e.Block.Text)
	case "content_block_delta":
		if c := a.calls[e.Index]; c != nil {
			c.arguments = append(c.arguments, e.Delta.JSON...)
		}
		return false, a.write(e.Delta.Text)
	case "message_delta":
		a.got.Usage.Output = max(a.got.Usage.Output, e.Usage.Output) // a total, not what is new
		a.got.Cut = a.got.Cut || e.Delta.Stop == "max_tokens"
	case "message_stop":
		return true, nil
	case "error": // it began to answer, so the request is one that it takes
		return false, &Error{Kind: e.Error.Type, Message: e.Error.Message, temporary: true}
	}
	return false, nil // a ping, or an event that we do not know
}

func (a *anthropicAnswer) write(text string) error {
	a.text += text
	_, err := io.WriteString(a.out, text)
	return err
}

func (a *anthropicAnswer) reply() Reply {
	a.got.Message = Message{Role: Assistant, Text: a.text}
	for _, i := range a.order {
		c := a.calls[i]
		a.got.Message.Calls = append(a.got.Message.Calls, Call{ID: c.id, Name: c.name, Arguments: object(c.arguments)})
	}
	return a.got
}
