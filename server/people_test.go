package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

// A knownPerson is a line of the list.
type knownPerson struct {
	Name, Decides, Why, Barred, Role, LastAt string
	Known                                    []string
}

func TestPeople(t *testing.T) {
	h := open(t, nil)
	g := h.asking("t1", posthouse.Gate{Assignees: []string{"alice", "approver-token"}, RequestedBy: "mallory", Escalation: &posthouse.Escalation{At: time.Now().Add(time.Hour), To: []string{"boss"}}})
	other := h.asking("t2", posthouse.Gate{})
	h.post("/api/gates/"+string(other.ID)+"/approve?by=dora", "").want(http.StatusOK)
	h.post("/api/gates/"+string(g.ID)+"/delegate", `{"by":"alice","to":"nobody-xyz"}`).want(http.StatusOK)
	h.post("/api/substitutes", `{"by":"alice","to":"sam","until":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`).want(http.StatusOK)
	people := func(as tokens.Role, query string) map[string]knownPerson {
		t.Helper()
		var list []knownPerson
		h.send(ask{method: "GET", path: "/api/people" + query, as: as}).want(http.StatusOK).into(&list)
		all := map[string]knownPerson{}
		for _, p := range list {
			all[p.Name] = p
		}
		return all
	}
	h.send(ask{method: "GET", path: "/api/people", as: tokens.Viewer}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "GET", path: "/api/people?by=alice&gate=" + string(g.ID), as: tokens.Approver}).refused(posthouse.CodeForbidden)
	h.get("/api/people?by=alice").refused(posthouse.CodeInvalid)
	h.get("/api/people?name=policy:x").refused(posthouse.CodeInvalid)
	h.get("/api/people?gate=gate-none").refused(posthouse.CodeNotFound)

	// The store is looked at now and then: it was before the first delegation.
	all := people(tokens.Operator, "")
	for name, want := range map[string]string{
		"alice": "yes asked", "boss": "yes asked", "dora": "yes decided", "approver-token": "yes token asked", "operator-token": "yes token", "viewer-token": "no token",
	} {
		if p := all[name]; p.Decides+" "+strings.Join(p.Known, " ") != want {
			t.Errorf("%s is %+v, want %s", name, p, want)
		}
	}
	if all["viewer-token"].Role != "viewer" || all["dora"].LastAt == "" {
		t.Errorf("an operator sees %+v and %+v", all["viewer-token"], all["dora"])
	}
	if _, listed := all["mallory"]; listed {
		t.Error("who asked is listed with those who decide")
	}
	mine := people(tokens.Approver, "?gate="+string(g.ID))
	if p := mine["viewer-token"]; p.Role != "" || p.LastAt != "" || !strings.Contains(p.Why, "the role viewer") {
		t.Errorf("an approver sees %+v", p)
	}
	if p := mine["approver-token"]; !strings.Contains(p.Barred, "in a circle") || mine["boss"].Barred != "" {
		t.Errorf("barred are %+v and %+v", p, mine["boss"])
	}
	if p := people(tokens.Approver, "?name=mallory&gate="+string(g.ID))["mallory"]; p.Decides != "unknown" || !strings.Contains(p.Barred, "asked for this") {
		t.Errorf("a requester is %+v", p)
	}
	var names []string
	h.get("/api/people?limit=2").want(http.StatusOK)
	for cursor := ""; ; {
		var page []knownPerson
		r := h.get("/api/people?limit=2&cursor=" + cursor).want(http.StatusOK)
		r.into(&page)
		for _, p := range page {
			names = append(names, p.Name)
		}
		cursor = r.header.Get("X-Next-Cursor")
		if cursor == "" {
			break
		}
	}
	if !slices.IsSorted(names) || len(names) != len(all) {
		t.Errorf("the pages have %v of %d names", names, len(all))
	}
}
