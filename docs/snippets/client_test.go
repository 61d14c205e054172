package snippets_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// approveAll begins a run, and approves what it asks.
//
//doc:client
func approveAll(ctx context.Context, server, token string) error {
	c, err := client.New(server, &client.Options{Token: token})
	if err != nil {
		return err
	}
	run, err := c.Start(ctx, "refund", map[string]any{"order": 1234}, nil)
	if err != nil {
		return err // a *posthouse.Error: its Field and Hint say what the program takes
	}
	if _, err := c.Wait(ctx, run.Thread); err != nil {
		return err
	}
	for g, err := range c.Gates(ctx, &client.GateQuery{Thread: run.Thread, Assignee: "me"}) {
		if err != nil {
			return err
		}
		fmt.Println(g.Intent)
		_, err := c.Decide(ctx, g.ID, posthouse.Decision{Verdict: posthouse.Approve, Shown: g.Hash})
		if err != nil {
			return err
		}
	}
	return nil
}

//doc:end

func TestTheClientOfThePage(t *testing.T) {
	decided := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/programs/refund/runs":
			fmt.Fprint(w, `{"thread":"t"}`)
		case "/api/threads/t":
			fmt.Fprint(w, `{"thread":"t","branches":[{"branch":"main","status":"waiting"}]}`)
		case "/api/events":
			w.Header().Set("Content-Type", "text/event-stream")
		case "/api/gates":
			fmt.Fprint(w, `{"items":[{"id":"gate-1"}]}`)
		case "/api/gates/gate-1/approve":
			decided = true
			fmt.Fprint(w, `{}`)
		}
	}))
	defer web.Close()
	if err := approveAll(t.Context(), web.URL, ""); err != nil || !decided {
		t.Errorf("the question is decided: %v, %v", decided, err)
	}
}
