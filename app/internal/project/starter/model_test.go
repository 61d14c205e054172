package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestChatModel calls a server that speaks the API, well and badly.
func TestChatModel(t *testing.T) {
	answer, code := `{"choices":[{"message":{"role":"assistant","content":" 1234\n"}}]}`, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/chat/completions" || r.Header.Get("Authorization") != "Bearer secret" {
			code = http.StatusUnauthorized
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	m, err := modelOf(func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": server.URL + "/", "OPENAI_API_KEY": "secret"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Reply(context.Background(), "which order?", "order 1234"); got != "1234" || err != nil {
		t.Errorf("it says %q, %v", got, err)
	}
	answer = `{"choices":[]}`
	if got, err := m.Reply(context.Background(), "", ""); err == nil {
		t.Errorf("a model that says nothing is taken for %q", got)
	}
	answer, code = "too many", http.StatusTooManyRequests
	if _, err := m.Reply(context.Background(), "", ""); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("a model that refuses says %v", err)
	}
	if _, err := modelOf(func(string) string { return "" }); err == nil {
		t.Error("no key is taken for one")
	}
}
