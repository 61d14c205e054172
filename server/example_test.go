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

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/memstore"
)

// An echo answers at once. A real agent is a coordinator with an adapter.
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
	led, err := ledger.Open(store, nil)
	if err != nil {
		panic(err)
	}
	ts, err := tokens.Open(dir, nil)
	if err != nil {
		panic(err)
	}
	secret, err := ts.Create("alice", tokens.Operator, nil)
	if err != nil {
		panic(err)
	}
	s, err := server.New(server.Options{Ledger: led, Tokens: ts, Agents: map[string]server.Agent{"echo": echo{}}})
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
	var p problem.Details
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		panic(err)
	}
	fmt.Println(p.Status, p.Code, p.Detail)
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// {"thread":"t1","text":"you said: hello"}
	// 401 unauthenticated a valid access token is needed
}

func ExampleCheckListen() {
	fmt.Println(server.CheckListen("127.0.0.1:8095", false, false))
	err := server.CheckListen("0.0.0.0:8095", false, false)
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// true
}
