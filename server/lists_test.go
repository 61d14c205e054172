package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// TestListsHaveOneShape holds every list of the table to items and next, but the array of
// checkpoints, whose shape came first.
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
