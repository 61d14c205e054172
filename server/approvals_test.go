package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/conversation"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

type refundCall struct {
	Amount int `json:"amount"`
}

// guarded is a test server with an agent that calls a tool that needs an approval, and what
// came of the calls.
func guarded(t *testing.T) (*testServer, chan string) {
	h := open(t, nil)
	came := make(chan string, 10)
	pay := gate.Require(func(_ context.Context, c refundCall) (string, error) {
		return "refunded " + string(rune('0'+c.Amount)), nil
	}, gate.Approval{Tool: "refund", Message: "Refund it?"})
	h.program.handle = func(ctx context.Context, _ string, o *HandleOptions) (*Reply, error) {
		o.Text("calling")
		text, err := pay(ctx, refundCall{4})
		if err != nil {
			text = err.Error()
		}
		came <- text
		return &Reply{Thread: o.Thread, Text: text}, nil
	}
	return h, came
}

// next reads an event of an approval.
func (c *talk) next(kind string) (e conversation.ApprovalEvent) {
	c.t.Helper()
	_, data, err := c.conn.Read(c.ctx)
	must.Do(c.t, err)
	var f struct {
		Type  string
		Event conversation.ApprovalEvent
	}
	must.Do(c.t, json.Unmarshal(data, &f))
	if f.Type != "event" || f.Event.Type != kind {
		c.t.Fatalf("the next frame is %s, want %s", data, kind)
	}
	return f.Event
}

func TestApprovalOverASocket(t *testing.T) {
	for answer, want := range map[string]string{
		"approve":                             "refunded 4",
		`approve {"arguments":{"amount":2}}`:  "refunded 2",
		`respond "ask the bank"`:              "ask the bank",
		"deny not today":                      "not today",
		"perhaps":                             "denied by operator-token",
		`approve {"amount":"much"}`:           "amount",
		"respond":                             "missing",
		"approve?by=alice":                    "refunded 4",
		"deny?by=alice":                       "denied by alice",
		"approve?by=alice {\"amount\": [1,2]": "denied by alice",
	} {
		t.Run(answer, func(t *testing.T) {
			h, _ := guarded(t)
			c := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
			c.say("please")
			c.want("text")
			e := c.next("approval_required")
			if e.Tool != "refund" || e.Message != "Refund it?" || string(e.Arguments) != `{"amount":4}` || e.Expires != 300 {
				t.Errorf("announced %+v", e)
			}
			c.say("/__approval/apr_nobody/approve")
			if r := c.next("approval_refused"); r.ID != "apr_nobody" || r.Error == nil || r.Error.Code != posthouse.CodeNotFound {
				t.Errorf("an id that is not there: %+v", r)
			}
			c.say("/__approval/" + string(e.ID) + "/approve?by=policy:judge")
			if r := c.next("approval_refused"); r.Error.Code != posthouse.CodeInvalid {
				t.Errorf("a policy's name: %+v", r)
			}
			c.say("/__approval/" + string(e.ID) + "/" + answer)
			r := c.next("approval_resolved")
			if r.ID != e.ID || r.Decision == nil || !strings.Contains(answer, "by=alice") && r.Decision.By != "operator-token" ||
				strings.Contains(answer, "by=alice") && (r.Decision.By != "alice" || r.Decision.Actor != "operator-token") {
				t.Errorf("resolved %+v", r.Decision)
			}
			if got := c.want("reply").Reply; !strings.Contains(got.Text, want) {
				t.Errorf("it came to %q, want %q", got.Text, want)
			}
			c.say("/__approval/" + string(e.ID) + "/approve")
			c.next("approval_refused")
		})
	}
}

func TestApprovalAfterLoginByMessage(t *testing.T) {
	h, _ := guarded(t)
	c := h.mustDial("/agent/dispatch", nil)
	c.say("/__approval/apr_1/approve") // a stranger's
	c.wantClosing()
	c = h.mustDial("/agent/dispatch", nil)
	c.say(`{"token":"` + h.secrets[tokens.Operator] + `"}`)
	c.say("please")
	c.want("text")
	c.say("/__approval/" + string(c.next("approval_required").ID) + "/yes")
	c.next("approval_resolved")
	if r := c.want("reply").Reply; r.Text != "refunded 4" {
		t.Errorf("it came to %q", r.Text)
	}
}

// wantClosing wants a problem and then the end.
func (c *talk) wantClosing() {
	c.t.Helper()
	if f := c.want("error"); f.Error.Code != problem.CodeUnauthenticated {
		c.t.Errorf("told %+v", f.Error)
	}
	c.wantClose(websocket.StatusPolicyViolation)
}

func TestDisconnectDenies(t *testing.T) {
	h, came := guarded(t)
	c := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	c.say("please")
	c.want("text")
	id := c.next("approval_required").ID
	other := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	_ = c.conn.CloseNow()
	if got := <-came; !strings.Contains(got, "the connection closed") {
		t.Errorf("it came to %q", got)
	}
	other.say("/__approval/" + string(id) + "/approve")
	other.next("approval_refused")
	h.post("/api/approvals/"+string(id)+"/approve", "").refused(posthouse.CodeNotFound)
	if left := h.get("/api/approvals").want(http.StatusOK); strings.TrimSpace(string(left.body)) != `{"items":[]}` {
		t.Errorf("it still waits: %s", left.body)
	}
}

// TestCallersWithoutAConnectionAreDenied covers callers without a connection to ask on.
func TestCallersWithoutAConnectionAreDenied(t *testing.T) {
	h, came := guarded(t)
	for _, header := range [][]string{nil, {"Accept: text/event-stream"}} {
		h.send(ask{method: "POST", path: "/api/agents/dispatch", body: `{"message":"please"}`, header: header}).want(http.StatusOK)
		if got := <-came; !strings.Contains(got, "nobody can be asked here") || !strings.Contains(got, "WebSocket") {
			t.Errorf("it came to %q", got)
		}
	}
}

func TestApprovalByID(t *testing.T) {
	h, _ := guarded(t)
	c := h.mustDial("/agent/dispatch", nil, h.bearer(tokens.Operator))
	asked := func() string {
		c.say("please")
		c.want("text")
		return "/api/approvals/" + string(c.next("approval_required").ID)
	}
	path := asked()
	var list []posthouse.Gate
	h.send(ask{method: "GET", path: "/api/approvals", as: tokens.Viewer}).want(http.StatusOK).into(&list)
	if len(list) != 1 || list[0].Name != "refund" || list[0].RequestedBy != "operator-token" || !strings.HasSuffix(path, string(list[0].ID)) {
		t.Errorf("what waits: %+v", list)
	}
	h.send(ask{method: "POST", path: path + "/approve", as: tokens.Viewer}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "POST", path: path + "/approve?by=alice", as: tokens.Approver}).refused(posthouse.CodeForbidden)
	h.post(path+"/edit", `{"value":{"amount":"much"}}`).refused(posthouse.CodeInvalid)
	h.post(path+"/edit", `{}`).refused(posthouse.CodeInvalid)
	h.post("/api/approvals/apr_nobody/approve", "").refused(posthouse.CodeNotFound)
	var g posthouse.Gate
	h.send(ask{method: "POST", path: path + "/approve", as: tokens.Approver, body: `{"reason":"fine"}`}).want(http.StatusOK).into(&g)
	if g.Decision == nil || g.Decision.By != "approver-token" || g.Decision.Reason != "fine" {
		t.Errorf("decided %+v", g.Decision)
	}
	c.next("approval_resolved")
	if r := c.want("reply").Reply; r.Text != "refunded 4" {
		t.Errorf("it came to %q", r.Text)
	}
	h.post(path+"/approve", "").refused(posthouse.CodeNotFound)
	for verb, want := range map[string]string{"deny": "denied by alice", `edit {"value":{"amount":3}}`: "refunded 3", `respond {"value":"soon"}`: "soon"} {
		verb, body, _ := strings.Cut(verb, " ")
		h.post(asked()+"/"+verb+"?by=alice", body).want(http.StatusOK)
		c.next("approval_resolved")
		if r := c.want("reply").Reply; !strings.Contains(r.Text, want) {
			t.Errorf("%s came to %q, want %q", verb, r.Text, want)
		}
	}
}
