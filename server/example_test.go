package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/store/memstore"
)

// An echo answers at once. A real agent is a coordinator behind an adapter.
type echo struct{}

func (echo) Handle(_ context.Context, message string, o *server.HandleOptions) (*server.Reply, error) {
	o.Text("thinking")
	return &server.Reply{Thread: o.Thread, Text: "you said: " + message}, nil
}

func Example() {
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store := memstore.New()
	defer store.Close()
	ledger, err := posthouse.Open(store, nil)
	if err != nil {
		panic(err)
	}
	tokens, err := server.OpenTokens(dir, nil)
	if err != nil {
		panic(err)
	}
	secret, err := tokens.Create("alice", server.Operator, nil)
	if err != nil {
		panic(err)
	}
	s, err := server.New(server.Options{Ledger: ledger, Tokens: tokens, Agents: map[string]server.Agent{"echo": echo{}}})
	if err != nil {
		panic(err)
	}
	defer s.Close(context.Background())
	web := httptest.NewServer(s) // in a program: s.HTTPServer("127.0.0.1:8095").ListenAndServe()
	defer web.Close()

	post := func(token string) *http.Response {
		r, _ := http.NewRequest(http.MethodPost, web.URL+"/api/agents/echo", strings.NewReader(`{"message":"hello","thread":"t1"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		return resp
	}
	resp := post(secret)
	defer resp.Body.Close()
	_, _ = io.Copy(os.Stdout, resp.Body)

	resp = post("ph_wrong")
	defer resp.Body.Close()
	var p server.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		panic(err)
	}
	fmt.Println(p.Status, p.Code, p.Detail)
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// {"thread":"t1","text":"you said: hello"}
	// 401 unauthenticated a valid access token is needed
}

func ExampleTokens() {
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	tokens, err := server.OpenTokens(dir, nil)
	if err != nil {
		panic(err)
	}
	if _, err := tokens.Create("alice", server.Approver, nil); err != nil { // the secret is shown here and never again
		panic(err)
	}
	if _, err := tokens.Create("bob", server.Viewer, nil); err != nil {
		panic(err)
	}
	if err := tokens.Revoke("bob", nil); err != nil {
		panic(err)
	}
	list, err := tokens.List()
	if err != nil {
		panic(err)
	}
	for _, t := range list {
		fmt.Println(t.Name, t.Role)
	}
	// Output: alice approver
}

func ExampleCheckListen() {
	fmt.Println(server.CheckListen("127.0.0.1:8095", false, false))
	err := server.CheckListen("0.0.0.0:8095", false, false)
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// true
}
