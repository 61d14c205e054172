package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// beside opens a second server, as of another process, over the store of h.
func (h *testServer) beside() *testServer {
	h.t.Helper()
	other := *h
	l, err := ledger.Open(h.store, nil)
	must.Do(h.t, err)
	other.ledger, other.program = l, &program{ledger: l}
	other.server, err = New(Options{
		Ledger: l, Tokens: h.tokens, Agents: map[string]Agent{"dispatch": other.program}, Runner: other.program,
	})
	must.Do(h.t, err)
	other.http = httptest.NewUnstartedServer(nil)
	other.http.Config = other.server.HTTPServer("")
	other.http.Start()
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		must.Do(h.t, other.server.Close(ctx))
		other.http.Close()
		must.Do(h.t, l.Close())
	})
	return &other
}

// TestApprovalAnsweredAtAnotherServer: the answer comes in where the connection
// that waits is not.
func TestApprovalAnsweredAtAnotherServer(t *testing.T) {
	for answer, want := range map[string]string{
		"approve":                            "refunded 4",
		`approve {"arguments":{"amount":2}}`: "refunded 2",
		`respond "ask the bank"`:             "ask the bank",
		"deny not today":                     "not today",
		`approve {"amount":"much"}`:          "denied by operator-token",
		"respond":                            "missing",
		"approve?by=alice":                   "refunded 4",
	} {
		for _, way := range []string{"socket", "rest"} {
			t.Run(way+" "+answer, func(t *testing.T) {
				h, _ := guarded(t)
				other := h.beside()
				c := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
				c.say("please")
				c.want("text")
				e := c.next("approval_required")
				m, _ := gate.ParseMessage(gate.MessagePrefix + string(e.ID) + "/" + answer)
				if way == "socket" {
					other.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator)).say(gate.MessagePrefix + string(e.ID) + "/" + answer)
				} else {
					verb, body := string(m.Verdict), `{"reason":"`+m.Reason+`"}`
					if len(m.Value) > 0 {
						body = `{"value":` + string(m.Value) + `}`
					}
					path := "/api/approvals/" + string(e.ID) + "/" + strings.Replace(verb, "reject", "deny", 1)
					if m.By != "" {
						path += "?by=" + m.By
					}
					other.post(path, body).want(http.StatusOK)
				}
				r := c.next("approval_resolved")
				if r.ID != e.ID || r.Decision == nil || m.By == "" && r.Decision.By != "operator-token" || m.By != "" && r.Decision.Actor != "operator-token" {
					t.Errorf("resolved %+v", r.Decision)
				}
				if got := c.want("reply").Reply; !strings.Contains(got.Text, want) {
					t.Errorf("it came to %q, want %q", got.Text, want)
				}
				// A second answer, anywhere, does not count.
				for _, at := range []*testServer{h, other} {
					at.post("/api/approvals/"+string(e.ID)+"/deny", "").refused(posthouse.CodeNotFound)
				}
				g, err := h.ledger.Gate(t.Context(), e.ID)
				must.Do(t, err)
				if g.Decision.Verdict != m.Verdict {
					t.Errorf("on record is %s", g.Decision.Verdict)
				}
			})
		}
	}
}

// TestUnknownApprovalIsDropped: an id that no server has is dropped, and a gate
// of the inbox is not answered as an approval.
func TestUnknownApprovalIsDropped(t *testing.T) {
	h, _ := guarded(t)
	other := h.beside()
	_, durable := h.waiting("t")
	before := len(h.entries(t))
	c := other.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	for _, id := range []posthouse.ID{"apr_nobody", durable.ID} {
		other.post("/api/approvals/"+string(id)+"/approve", "").refused(posthouse.CodeNotFound)
		c.say(gate.MessagePrefix + string(id) + "/approve")
		if r := c.next("approval_refused"); r.Error == nil || r.Error.Code != posthouse.CodeNotFound {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if n := len(h.entries(t)); n != before {
		t.Errorf("%d entries more", n-before)
	}
}

func (h *testServer) entries(t *testing.T) (all []string) {
	t.Helper()
	for info, err := range h.store.Threads(t.Context(), posthouse.ThreadQuery{}) {
		must.Do(t, err)
		for e, err := range h.store.Read(t.Context(), info.Thread, posthouse.Range{}) {
			must.Do(t, err)
			all = append(all, info.Thread+string(rune(e.Seq)))
		}
	}
	return all
}

// TestApprovalsOfOtherServersAreListed also checks that they are in no inbox, and
// that a connection that closes denies them everywhere.
func TestApprovalsOfOtherServersAreListed(t *testing.T) {
	h, came := guarded(t)
	other := h.beside()
	c := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	c.say("please")
	c.want("text")
	id := c.next("approval_required").ID
	for _, at := range []*testServer{h, other} {
		var list []posthouse.Gate
		at.get("/api/approvals").want(http.StatusOK).into(&list)
		if len(list) != 1 || list[0].ID != id || list[0].Name != "refund" || string(list[0].Payload) != `{"amount":4}` {
			t.Errorf("what waits: %+v", list)
		}
		if inbox := at.get("/api/gates").want(http.StatusOK); strings.TrimSpace(string(inbox.body)) != `{"items":[]}` {
			t.Errorf("the inbox has %s", inbox.body)
		}
	}
	_ = c.conn.CloseNow()
	if got := <-came; !strings.Contains(got, "the connection closed") {
		t.Errorf("it came to %q", got)
	}
	other.post("/api/approvals/"+string(id)+"/approve", "").refused(posthouse.CodeNotFound)
	if left := other.get("/api/approvals").want(http.StatusOK); strings.TrimSpace(string(left.body)) != `{"items":[]}` {
		t.Errorf("it still waits: %s", left.body)
	}
	info, err := h.ledger.Thread(t.Context(), string(id))
	must.Do(t, err)
	if b, _ := info.Branch(posthouse.MainBranch); b.Status != posthouse.StatusDone {
		t.Errorf("its thread is %s", b.Status)
	}
}
