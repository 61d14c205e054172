package server

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/holders"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/waits"
)

func TestSubstitutes(t *testing.T) {
	h := open(t, nil)
	g := h.asking("t1", posthouse.Gate{Assignees: []string{"alice"}})
	other := h.asking("t2", posthouse.Gate{Assignees: []string{"alice"}})
	path, until := "/api/gates/"+string(g.ID), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	send := func(method, path, body string, as tokens.Role) *reply {
		return h.send(ask{method: method, path: path, body: body, as: as})
	}
	// An approver names one for themselves only.
	send("POST", "/api/substitutes", `{"to":"bob","until":"`+until+`"}`, tokens.Viewer).refused(posthouse.CodeForbidden)
	send("POST", "/api/substitutes", `{"to":"approver-token","by":"alice","until":"`+until+`"}`, tokens.Approver).refused(posthouse.CodeForbidden)
	for _, body := range []string{`{}`, `{"to":"bob"}`, `{"to":"bob","until":"2020-01-01T00:00:00Z"}`, `{"to":"bob","until":"2999-01-01T00:00:00Z"}`, `{"to":"approver-token","until":"` + until + `"}`, `{"to":"bob","until":"soon"}`} {
		send("POST", "/api/substitutes", body, tokens.Approver).refused(posthouse.CodeInvalid)
	}
	send("POST", path+"/approve", "", tokens.Approver).refused(posthouse.CodeForbidden)
	var s deciders.Substitution
	h.post("/api/substitutes", `{"to":"approver-token","by":"alice","until":"`+until+`","reason":"on leave"}`).want(http.StatusOK).into(&s)
	if s.Actor != "operator-token" || s.By != "alice" || s.Reason != "on leave" {
		t.Errorf("named %+v", s)
	}
	var mine []Gate
	send("GET", "/api/gates?assignee=me", "", tokens.Approver).want(http.StatusOK).into(&mine)
	if len(mine) != 2 || mine[0].For != "alice" || !slices.Contains(mine[0].May, MayApprove) {
		t.Errorf("the substitute's inbox is %+v", mine)
	}
	send("GET", "/api/gates?assignee=me&order=deadline", "", tokens.Approver).want(http.StatusOK).into(&mine)
	if len(mine) != 2 {
		t.Errorf("by deadline it has %d gates", len(mine))
	}
	c := send("POST", path+"/approve", "", tokens.Approver).want(http.StatusOK).checkpoint()
	if d := c.Decision; d == nil || d.By != "approver-token" || d.For != "alice" {
		t.Errorf("decided as %+v", d)
	}
	var all []deciders.Substitution
	send("GET", "/api/substitutes?person=me", "", tokens.Approver).want(http.StatusOK).into(&all)
	if len(all) != 1 || all[0].ID != s.ID {
		t.Errorf("the list is %+v", all)
	}
	var threads []Thread
	for _, q := range []string{"", "?order=asc", "?order=desc", "?limit=1"} {
		h.get("/api/threads" + q).want(http.StatusOK).into(&threads)
		if slices.ContainsFunc(threads, func(t Thread) bool { return posthouse.IsRuntimeThread(t.Thread) }) {
			t.Errorf("the threads with %q have the runtime's", q)
		}
	}
	send("POST", "/api/threads/"+url.PathEscape("$substitutes")+"/signals", `{"name":"substitutions","value":{"table":[]}}`, tokens.Operator).refused(posthouse.CodeInvalid)
	send("DELETE", "/api/threads/"+url.PathEscape("$substitutes"), "", tokens.Operator).refused(posthouse.CodeInvalid)
	one := "/api/substitutes/" + string(s.ID)
	send("DELETE", one, "", tokens.Viewer).refused(posthouse.CodeForbidden)
	send("DELETE", one+"?by=alice", "", tokens.Approver).refused(posthouse.CodeForbidden)
	h.send(ask{method: "DELETE", path: one + "?reason=back", as: tokens.Operator}).want(http.StatusNoContent)
	h.send(ask{method: "DELETE", path: one, as: tokens.Operator}).refused(posthouse.CodeNotFound)
	send("POST", "/api/gates/"+string(other.ID)+"/approve", "", tokens.Approver).refused(posthouse.CodeForbidden)
}

func TestWaitsAndProcesses(t *testing.T) {
	h := open(t, nil)
	g := h.asking("t1", posthouse.Gate{Assignees: []string{"alice"}})
	h.asking("t2", posthouse.Gate{})
	h.post("/api/gates/"+string(g.ID)+"/reject?by=alice", "").want(http.StatusOK)
	h.send(ask{method: "GET", path: "/api/waits", as: tokens.Approver}).refused(posthouse.CodeForbidden)
	for _, q := range []string{"from=yesterday", "from=2026-02-02T00:00:00Z&to=2026-02-01T00:00:00Z", "limit=300000"} {
		h.get("/api/waits?" + q).refused(posthouse.CodeInvalid)
	}
	var r waits.Report
	h.get("/api/waits").want(http.StatusOK).into(&r)
	if len(r.Questions) != 1 || r.Questions[0].Question != "refund" || r.Questions[0].Open != 1 || r.Questions[0].Decided != 1 || len(r.Questions[0].People) != 2 {
		t.Errorf("the report is %+v", r)
	}
	h.send(ask{method: "GET", path: "/api/processes", as: tokens.Approver}).refused(posthouse.CodeForbidden)
	var p holders.Report
	h.get("/api/processes").want(http.StatusOK).into(&p)
	if p.Processes == nil || p.More {
		t.Errorf("the processes are %+v", p)
	}
}
