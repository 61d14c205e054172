package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

const secret = "sk-very-secret"

// serve returns a model of the dialect, with a server that answers by h.
func serve(t *testing.T, d Dialect, h http.HandlerFunc) Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	m, err := New(Config{Dialect: d, Model: "small", URL: s.URL + "/v1", Key: secret})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			fmt.Fprintf(w, "event: whatever\ndata: %s\n\n", e)
		}
	}
}

var answers = map[Dialect][]string{
	OpenAI: {
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":"Let me "}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"look."}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":{"name":"now","arguments":""}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":12}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":30,"completion_tokens":7}}`,
		`[DONE]`,
	},
	Anthropic: {
		`{"type":"message_start","message":{"usage":{"input_tokens":30,"output_tokens":1}}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Let me "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"look."}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"look","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"order\""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":12}"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c2","name":"now","input":{}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}`,
		`{"type":"message_stop"}`,
	},
}

// overloads are errors that come in a stream that began well.
var overloads = map[Dialect]string{
	OpenAI:    `{"error":{"type":"server_error","message":"too much"}}`,
	Anthropic: `{"type":"error","error":{"type":"overloaded_error","message":"too much"}}`,
}

func TestAnswersComeTokenByTokenAndWhole(t *testing.T) {
	for d, events := range answers {
		var out strings.Builder
		reply, err := serve(t, d, stream(events...)).Complete(t.Context(), Request{}, &out)
		want := Reply{
			Message: Message{Role: Assistant, Text: "Let me look.", Calls: []Call{
				{ID: "c1", Name: "look", Arguments: json.RawMessage(`{"order":12}`)},
				{ID: "c2", Name: "now", Arguments: json.RawMessage(`{}`)},
			}},
			Usage: Usage{Input: 30, Output: 7},
		}
		if err != nil || !reflect.DeepEqual(reply, want) || out.String() != "Let me look." {
			t.Errorf("%s: got %+v, %q, %v", d, reply, out.String(), err)
		}
	}
}

// TestCutStreamsAreNoAnswers ends the stream after each of its events.
func TestCutStreamsAreNoAnswers(t *testing.T) {
	for d, events := range answers {
		for n := range events {
			reply, err := serve(t, d, stream(events[:n]...)).Complete(t.Context(), Request{}, nil)
			if !errors.Is(err, io.ErrUnexpectedEOF) || !Temporary(err) || !reflect.DeepEqual(reply, Reply{}) {
				t.Errorf("%s after %d events: %+v, %v", d, n, reply, err)
			}
			if n == 0 {
				continue
			}
			_, err = serve(t, d, stream(append(events[:n:n], overloads[d])...)).Complete(t.Context(), Request{}, nil)
			if err == nil || !Temporary(err) || !strings.Contains(err.Error(), "too much") {
				t.Errorf("%s: an error after %d events: %v", d, n, err)
			}
			_, err = serve(t, d, stream(append(events[:n:n], "{")...)).Complete(t.Context(), Request{}, nil)
			if err == nil || !strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("%s: rubbish after %d events: %v", d, n, err)
			}
		}
	}
}

func TestStatusesSayWhetherToTryAgain(t *testing.T) {
	for status, again := range map[int]bool{
		302: false, 400: false, 401: false, 403: false, 404: false, 408: true, 413: false, 429: true,
		500: true, 501: false, 502: true, 503: true, 504: true, 529: true,
	} {
		for d := range answers {
			calls := 0
			m := serve(t, d, func(w http.ResponseWriter, r *http.Request) {
				calls++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"error":{"type":"some_error","message":"not with %s"}}`, secret)
			})
			_, err := m.Complete(t.Context(), Request{}, nil)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Status != status || Temporary(err) != again || calls != 1 {
				t.Errorf("%s, status %d: %v, again %v, %d calls", d, status, err, Temporary(err), calls)
			}
			if shown := fmt.Sprintf("%v %+v %#v %+v", err, err, err, m); strings.Contains(shown, secret) {
				t.Errorf("%s, status %d shows the key: %s", d, status, shown)
			}
		}
	}
}

func TestSilenceAndDeadlinesEndARequest(t *testing.T) {
	block := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		select {
		case <-block:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(block)
	m, err := New(Config{Dialect: OpenAI, Model: "small", URL: s.URL, Idle: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Complete(t.Context(), Request{}, nil); !errors.Is(err, errIdle) || !Temporary(err) {
		t.Errorf("a silent server: %v", err)
	}
	m, err = New(Config{Dialect: OpenAI, Model: "small", URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := m.Complete(ctx, Request{}, nil); !errors.Is(err, context.DeadlineExceeded) || !Temporary(err) {
		t.Errorf("a deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := m.Complete(ctx, Request{}, nil); !errors.Is(err, context.Canceled) || Temporary(err) {
		t.Errorf("a caller that left: %v", err)
	}
}

func TestCallsThatAreNotJSONAreNoAnswer(t *testing.T) {
	events := append([]string{}, answers[OpenAI]...)
	events[4] = `{"choices":[]}` // the second half of the arguments is lost
	if reply, err := serve(t, OpenAI, stream(events...)).Complete(t.Context(), Request{}, nil); err == nil {
		t.Errorf("got %+v", reply)
	}
}

func TestRequestsSpeakTheDialect(t *testing.T) {
	r := Request{
		System: "be brief", MaxTokens: 50,
		Tools: []Tool{{Name: "look", Description: "looks", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Messages: []Message{
			{Role: User, Text: "hello"},
			{Role: Assistant, Calls: []Call{{"c1", "look", json.RawMessage(`{"order":12}`)}, {"c2", "look", json.RawMessage(`{}`)}}},
			{Role: ToolRole, CallID: "c1", Text: "found"},
			{Role: ToolRole, CallID: "c2", Text: "denied", Failed: true},
		},
	}
	want := map[Dialect]string{
		OpenAI: `/v1/chat/completions Bearer sk-very-secret  {"model":"small","messages":[` +
			`{"role":"system","content":"be brief"},{"role":"user","content":"hello"},` +
			`{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"look","arguments":"{\"order\":12}"}},` +
			`{"index":1,"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}}]},` +
			`{"role":"tool","content":"found","tool_call_id":"c1"},{"role":"tool","content":"denied","tool_call_id":"c2"}],` +
			`"tools":[{"type":"function","function":{"name":"look","description":"looks","parameters":{"type":"object"}}}],` +
			`"max_completion_tokens":50,"stream":true,"stream_options":{"include_usage":true}}`,
		Anthropic: `/v1/messages  sk-very-secret {"model":"small","system":"be brief","messages":[` +
			`{"role":"user","content":[{"type":"text","text":"hello"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{"order":12}},{"type":"tool_use","id":"c2","name":"look","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"found"},` +
			`{"type":"tool_result","tool_use_id":"c2","content":"denied","is_error":true}]}],` +
			`"tools":[{"name":"look","description":"looks","input_schema":{"type":"object"}}],"max_tokens":50,"stream":true}`,
	}
	for d, events := range answers {
		var got string
		m := serve(t, d, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = fmt.Sprintf("%s %s %s %s", r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), body)
			stream(events...)(w, r)
		})
		if _, err := m.Complete(t.Context(), r, nil); err != nil || got != want[d] {
			t.Errorf("%s: %v\n got %s\nwant %s", d, err, got, want[d])
		}
	}
}

func TestTheEnvironmentChoosesTheModel(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		url  string // "" for an error, "-" for no URL
		want string
	}{
		{nil, "-", ""},
		{map[string]string{"POSTHOUSE_MODEL": "openai:a"}, "https://api.openai.com/v1/chat/completions", ""},
		{map[string]string{"POSTHOUSE_MODEL": "anthropic:a"}, "https://api.anthropic.com/v1/messages", ""},
		{map[string]string{"POSTHOUSE_MODEL": "openai:a", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1/"}, "http://127.0.0.1:1/v1/chat/completions", ""},
		{map[string]string{"POSTHOUSE_MODEL": "openai:a", "OPENAI_BASE_URL": "http://example.com/v1"}, "", "https"},
		{map[string]string{"POSTHOUSE_MODEL": "openai"}, "", "no name"},
		{map[string]string{"POSTHOUSE_MODEL": "gopher:a"}, "", "dialect"},
	} {
		m, err := FromEnv(func(name string) string { return c.env[name] })
		switch {
		case c.url == "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v", c.env, err)
			}
		case err != nil || c.url == "-" && m != nil || c.url != "-" && m.(*client).url != c.url:
			t.Errorf("%v: %+v, %v", c.env, m, err)
		}
	}
}
func TestAnAnswerThatReachedItsLimitSaysSo(t *testing.T) {
	for d, events := range map[Dialect][]string{
		OpenAI:    {`{"choices":[{"index":0,"delta":{"content":"so"},"finish_reason":"length"}]}`, `[DONE]`},
		Anthropic: {`{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}`, `{"type":"message_stop"}`},
	} {
		if r, err := serve(t, d, stream(events...)).Complete(t.Context(), Request{}, nil); err != nil || !r.Cut {
			t.Errorf("%s: %+v, %v", d, r, err)
		}
	}
}
