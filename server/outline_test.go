package server

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/outline"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestOutlineIsOneAnswer reads 10,000 checkpoints in one compressed answer, and a longer history by
// its cursor.
func TestOutlineIsOneAnswer(t *testing.T) {
	h := open(t, nil)
	ctx := t.Context()
	for i := range 10_001 {
		must.Get(h.ledger.Commit(ctx, &ledger.Draft{Thread: "long", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusReady, Node: fmt.Sprint("n", i%7)}}))(t)
	}
	r := h.request(ask{method: "GET", path: "/api/threads/long/outline", header: []string{"Accept-Encoding: gzip"}})
	resp := must.Get(h.http.Client().Do(r))(t)
	defer resp.Body.Close()
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("it is not compressed: %v", resp.Header)
	}
	var page api.List[outline.Row]
	must.Do(t, json.NewDecoder(must.Get(gzip.NewReader(resp.Body))(t)).Decode(&page))
	if len(page.Items) != 10_000 || page.Next == "" || page.Next != resp.Header.Get("X-Next-Cursor") {
		t.Errorf("%d rows, next %q", len(page.Items), page.Next)
	}
	last := page.Items[len(page.Items)-1]
	page = api.List[outline.Row]{}
	h.get("/api/threads/long/outline?cursor=" + h.get("/api/threads/long/outline").header.Get("X-Next-Cursor")).want(http.StatusOK).into(&page)
	if len(page.Items) != 1 || page.Items[0].ID != last.Parent || page.Items[0].Seq != 1 || page.Next != "" {
		t.Errorf("the rest is %+v", page)
	}
	h.get("/api/threads/nothing/outline").refused(posthouse.CodeNotFound)
	h.get("/api/threads/long/outline?limit=10001").refused(posthouse.CodeInvalid)
	if a := h.send(ask{method: "GET", path: "/api/threads/long/outline?limit=1", header: []string{"Accept-Encoding: gzip;q=0"}}); !strings.HasPrefix(string(a.body), `{"items"`) {
		t.Errorf("who refuses gzip gets %q", a.body)
	}
}

// TestForkPlan asks what a fork would do, and finds that no fork was made.
func TestForkPlan(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("t1")
	tail := must.Get(h.ledger.Thread(t.Context(), "t1"))(t).Tail
	var c Checkpoint
	h.post("/api/checkpoints/"+string(cp)+"/fork", `{"dryRun":true,"branch":"what-if"}`).want(http.StatusOK).into(&c)
	if c.Plan == nil || c.Plan.Branch != "what-if" || len(c.Plan.Asks) != 1 || !c.Plan.Asks[0].Open || !c.Plan.Asks[0].Waits || c.ID != cp {
		t.Errorf("the plan is %+v", c.Plan)
	}
	h.post("/api/checkpoints/"+string(cp)+"/fork", `{"dryRun":true,"state":{"request":"other"},"run":true}`).want(http.StatusOK).into(&c)
	if c.Plan == nil || c.Plan.Asks[0].Open || c.Plan.Status != posthouse.StatusInterrupted {
		t.Errorf("with another state the plan is %+v", c.Plan)
	}
	if now := must.Get(h.ledger.Thread(t.Context(), "t1"))(t).Tail; now != tail {
		t.Errorf("a plan moved the thread from %v to %v", tail, now)
	}
	h.post("/api/checkpoints/"+string(cp)+"/fork", `{"dryRun":true,"branch":"main"}`).refused(posthouse.CodeExists)
	h.post("/api/gates/"+string(g.ID)+"/reject", "").want(http.StatusOK)
	c = Checkpoint{}
	h.post("/api/checkpoints/"+string(cp)+"/fork", `{"dryRun":true}`).want(http.StatusOK).into(&c)
	if c.Plan == nil || len(c.Plan.Asks) != 1 || c.Plan.Asks[0].Waits {
		t.Errorf("after a no the plan is %+v", c.Plan)
	}
}

// TestUsage adds up over HTTP what a thread used of models, as text on record and by a viewer.
func TestUsage(t *testing.T) {
	h := open(t, nil)
	for _, cost := range []string{"0.10 USD", "0.2 USD", "1,5 EUR"} {
		note := posthouse.Note{Model: "model-1", InputTokens: 9007199254740993, Cost: cost}
		must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusReady, Node: "ask", Story: posthouse.Story{Attempts: 1, Notes: []posthouse.Note{note}},
		}}))(t)
	}
	have := string(h.send(ask{method: "GET", path: "/api/threads/t/usage", as: tokens.Viewer}).want(http.StatusOK).body)
	sum := `"calls":3,"inputTokens":27021597764222979,"outputTokens":0,"costs":[{"amount":"0.30","unit":"USD"}],"unread":1`
	if want := "{" + sum + `,"models":[{"model":"model-1",` + sum + "}]}"; strings.TrimSpace(have) != want {
		t.Errorf("have %s, want %s", have, want)
	}
	h.get("/api/threads/nothing/usage").refused(posthouse.CodeNotFound)
}
