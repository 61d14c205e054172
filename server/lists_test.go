package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestListsHaveOneShape holds every list of the table to items and next, but the array of
// checkpoints, which came first.
func TestListsHaveOneShape(t *testing.T) {
	h := open(t, nil)
	h.waiting("t1")
	seen := 0
	for _, r := range h.server.routes {
		if !strings.HasPrefix(r.Summary, "List ") && r.Summary != "Read a thread's log" {
			continue
		}
		seen++
		path := strings.Replace(r.Path, "{id}", "t1", 1)
		a := h.get(path).want(http.StatusOK)
		if r.Path == "/api/checkpoints" {
			if !strings.HasPrefix(string(a.body), "[") {
				t.Errorf("%s is no array any more: %s", path, a.body)
			}
			continue
		}
		var page struct {
			Items []json.RawMessage `json:"items"`
		}
		a.into(&page)
		if page.Items == nil {
			t.Errorf("%s has no items: %s", path, a.body)
		}
	}
	if seen < 10 {
		t.Errorf("%d lists were asked", seen)
	}
}

// TestFieldsLeaveTheOthersOut asks for some members of items.
func TestFieldsLeaveTheOthersOut(t *testing.T) {
	h := open(t, nil)
	h.waiting("t1")
	a := h.get("/api/gates?fields=id,payload").want(http.StatusOK)
	var page struct{ Items []map[string]json.RawMessage }
	a.into(&page)
	if len(page.Items) != 1 || len(page.Items[0]) != 2 || page.Items[0]["id"] == nil {
		t.Errorf("two members of a gate are %s", a.body)
	}
	p := h.get("/api/gates?fields=id,sTatus").refused(posthouse.CodeInvalid)
	if p.Field != "fields" || !strings.Contains(p.Hint, "payload") {
		t.Errorf("an unknown member is refused with %+v", p)
	}
	h.get("/api/threads/t1/log?fields=").want(http.StatusOK)
}

// TestCheckpointsOfAThread lists headers with a cursor, and states where they are asked for.
func TestCheckpointsOfAThread(t *testing.T) {
	h := open(t, nil)
	h.waiting("t1")
	h.saved("t1", `{"account":9007199254740993}`)
	h.saved("t2", `"other"`)
	var page api.List[*Checkpoint]
	first := h.get("/api/threads/t1/checkpoints?limit=1").want(http.StatusOK)
	first.into(&page)
	if len(page.Items) != 1 || page.Next == "" || page.Items[0].State != nil || page.Next != first.header.Get(problem.NextCursorHeader) {
		t.Fatalf("a page of headers is %s", first.body)
	}
	newest := page.Items[0].ID
	for page.Next != "" {
		cursor := page.Next
		page = api.List[*Checkpoint]{}
		h.get("/api/threads/t1/checkpoints?limit=1&cursor=" + cursor).want(http.StatusOK).into(&page)
		for _, c := range page.Items {
			if c.Thread != "t1" || c.ID == newest {
				t.Errorf("a page has %s of %s", c.ID, c.Thread)
			}
		}
	}
	if a := h.get("/api/threads/t1/checkpoints?state=true"); !strings.Contains(string(a.body), "9007199254740993") {
		t.Errorf("the states are missing: %s", a.body)
	}
	h.get("/api/threads/nothing/checkpoints").refused(posthouse.CodeNotFound)
	h.get("/api/threads/t1/checkpoints?thread=t2").refused(posthouse.CodeInvalid)
}

// TestTheAPISaysItsVersion looks at each place where clients look.
func TestTheAPISaysItsVersion(t *testing.T) {
	h := open(t, nil)
	var v struct{ API string }
	h.send(ask{method: "GET", path: "/version", as: "-"}).want(http.StatusOK).into(&v)
	if v.API != api.Version {
		t.Errorf("/version says %q", v.API)
	}
	for _, a := range []*reply{h.get("/api/gates"), h.get("/api/nothing"), h.send(ask{method: "GET", path: "/api/gates", as: "-"})} {
		if a.header.Get(api.VersionHeader) != api.Version {
			t.Errorf("%s answers with the version %q", a.what, a.header.Get(api.VersionHeader))
		}
	}
}

// TestInboxFilters lists gates by what became of them, and says what the caller may do with them.
func TestInboxFilters(t *testing.T) {
	h := open(t, nil)
	asks := func(thread string, g posthouse.Gate) posthouse.ID {
		c, err := h.ledger.Commit(t.Context(), &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "shop",
		}, Gates: []posthouse.Gate{g}})
		must.Do(t, err)
		return c.Gates[0].ID
	}
	soon := time.Now().Add(time.Hour).UTC()
	late := asks("t1", posthouse.Gate{Name: "refund", ExpiresAt: soon.Add(time.Hour), Labels: map[string]string{"tenant": "acme"}})
	first := asks("t2", posthouse.Gate{Name: "refund", ExpiresAt: soon})
	mine := asks("t3", posthouse.Gate{Name: "deploy", Assignees: []string{"approver-token"}})
	others := asks("t4", posthouse.Gate{Name: "deploy", Assignees: []string{"somebody"}})
	done := asks("t5", posthouse.Gate{Name: "refund"})
	gone := asks("t6", posthouse.Gate{Name: "refund"})
	must.Get(h.ledger.Decide(t.Context(), done, posthouse.Decision{Verdict: posthouse.Approve, By: "approver-token"}))(t)
	must.Get(h.ledger.Cancel(t.Context(), "t6", &ledger.CancelOptions{By: "operator-token"}))(t)
	for query, want := range map[string][]posthouse.ID{
		"order=deadline": {first, late, mine, others}, "order=deadline&limit=1000&question=refund": {first, late}, "question=deploy": {others, mine},
		"program=shop&order=asc": {late, first, mine, others}, "program=site": {}, "label=tenant%3Dacme": {late}, "label=tenant%3D": {},
		"assignee=me": {mine, first, late}, "assignee=somebody": {others, first, late}, "thread=t2": {first},
		"state=decided": {done}, "state=decided&decider=me": {done}, "state=decided&decider=other": {}, "state=withdrawn": {gone}, "state=expired": {},
		"state=decided&thread=t6": {},
	} {
		var gates []Gate
		h.send(ask{method: "GET", path: "/api/gates?" + query, as: tokens.Approver}).want(http.StatusOK).into(&gates)
		var got []posthouse.ID
		for _, g := range gates {
			got = append(got, g.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v", query, got, want)
		}
	}
	for _, bad := range []string{"state=waiting", "order=newest", "state=decided&order=deadline", "label=tenant", "cursor=x%20y", "state=decided&cursor=nonsense", "state=decided&counts=true"} {
		h.get("/api/gates?" + bad).refused(posthouse.CodeInvalid)
	}
	var page api.List[*Gate]
	h.get("/api/gates?counts=true&limit=1").want(http.StatusOK).into(&page)
	if page.Counts["refund"] != 2 || page.Counts["deploy"] != 2 || len(page.Items) != 1 {
		t.Errorf("the questions are counted as %v", page.Counts)
	}
	var g Gate
	h.send(ask{method: "GET", path: "/api/gates/" + string(mine), as: tokens.Approver}).want(http.StatusOK).into(&g)
	if !slices.Contains(g.May, MayDelegate) || !slices.Contains(g.May, MayApprove) || g.State != "open" {
		t.Errorf("an assignee may %v with a gate that is %s", g.May, g.State)
	}
	h.get("/api/gates/" + string(gone)).want(http.StatusOK).into(&g)
	if !slices.Contains(g.May, MayAskAgain) || g.State != "withdrawn" {
		t.Errorf("an operator may %v with a gate that is %s", g.May, g.State)
	}
}
