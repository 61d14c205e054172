package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/memstore"
)

// A poet says a line, and the next when it is told to go on.
type poet struct{ next chan bool }

func (p poet) Handle(_ context.Context, _ string, o *server.HandleOptions) (*server.Reply, error) {
	o.Text("the first line")
	<-p.next
	o.Text("the second line")
	return &server.Reply{Thread: o.Thread, Text: "that is all"}, nil
}

// A client loses its connection in the middle of a request. The agent works on;
// the client connects again, says the last event it saw, and gets the rest.
func Example_run() {
	dir, err := os.MkdirTemp("", "posthouse")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		panic(err)
	}
	defer led.Close()
	ts, err := tokens.Open(dir, nil)
	if err != nil {
		panic(err)
	}
	secret, err := ts.Create("alice", tokens.Operator, nil)
	if err != nil {
		panic(err)
	}
	agent := poet{make(chan bool)}
	s, err := server.New(server.Options{Ledger: led, Tokens: ts, Agents: map[string]server.Agent{"poet": agent}})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(s)
	defer web.Close()
	defer s.Close(context.Background())

	// connect reads a stream of events until the reader has what it wants.
	connect := func(method, path, body, last string, read func(line string) bool) {
		r, _ := http.NewRequest(method, web.URL+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Accept", "text/event-stream")
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan() && read(lines.Text()); {
		}
	}
	last := ""
	connect("POST", "/api/agents/poet", `{"message":"a poem","thread":"t1"}`, "", func(line string) bool {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			last = id
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if ok {
			fmt.Println(data)
		}
		return !ok // the connection is lost after the first event
	})
	agent.next <- true
	connect("GET", "/api/run", "", last, func(line string) bool {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			fmt.Println(data)
		}
		return true // the stream ends with the request
	})
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// {"text":"the first line"}
	// {"text":"the second line"}
	// {"thread":"t1","text":"that is all"}
}
