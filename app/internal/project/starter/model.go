package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// A model replies to a message as an instruction says.
type model interface {
	Reply(ctx context.Context, instruction, message string) (string, error)
}

// fakeModel finds the first number in a message. It needs no key.
type fakeModel struct{}

var number = regexp.MustCompile(`\d+`)

func (fakeModel) Reply(_ context.Context, _, message string) (string, error) {
	return cmp.Or(number.FindString(message), "none"), nil
}

// chatModel speaks the chat completions API, which most vendors and local servers have.
type chatModel struct{ url, key, name string }

// modelOf returns the model that the environment names.
func modelOf(getenv func(string) string) (model, error) {
	m := &chatModel{
		url:  cmp.Or(getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1"),
		key:  getenv("OPENAI_API_KEY"),
		name: cmp.Or(getenv("OPENAI_MODEL"), "gpt-5-mini"),
	}
	if m.key == "" && getenv("OPENAI_BASE_URL") == "" {
		return nil, errors.New("no model: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own; the command dev needs neither")
	}
	return m, nil
}

// maxReply is the most that is read of an answer, in bytes.
const maxReply = 1 << 20

func (m *chatModel) Reply(ctx context.Context, instruction, message string) (string, error) {
	type said struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(map[string]any{"model": m.name, "messages": []said{{"system", instruction}, {"user", message}}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(m.url, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+m.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the model answers %s: %.200s", resp.Status, data)
	}
	var answer struct{ Choices []struct{ Message said } }
	if err := json.Unmarshal(data, &answer); err != nil {
		return "", err
	}
	if len(answer.Choices) == 0 {
		return "", errors.New("the model says nothing")
	}
	return strings.TrimSpace(answer.Choices[0].Message.Content), nil
}
