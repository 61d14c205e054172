package server

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

func TestSnooze(t *testing.T) {
	h := open(t, nil)
	g := h.asking("order-1", posthouse.Gate{Name: "ok?", ExpiresAt: time.Now().Add(24 * time.Hour)})
	path := "/api/gates/" + string(g.ID)
	var v Gate
	inbox := func(query string, as tokens.Role) (ids []posthouse.ID, counted map[string]any) {
		t.Helper()
		var page struct {
			Items   []Gate
			Counts  map[string]int
			Snoozed int
			More    bool
		}
		h.send(ask{method: "GET", path: "/api/gates?counts=true&" + query, as: as}).want(http.StatusOK).into(&page)
		for _, i := range page.Items {
			ids = append(ids, i.ID)
		}
		return ids, map[string]any{"counts": page.Counts["ok?"], "snoozed": page.Snoozed, "more": page.More}
	}
	h.send(ask{method: "POST", path: path + "/snooze", body: `{"for":"2h"}`, as: tokens.Viewer}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "POST", path: path + "/snooze", body: `{"for":"2h","by":"alice"}`, as: tokens.Approver}).refused(posthouse.CodeForbidden)
	for _, body := range []string{`{}`, `{"for":"-1h"}`, `{"for":"2h","until":"2999-01-01T00:00:00Z"}`, `{"until":"2999-01-01T00:00:00Z"}`, `{"until":"tomorrow"}`, `{"for":"1d"}`} {
		h.send(ask{method: "POST", path: path + "/snooze", body: body, as: tokens.Approver}).refused(posthouse.CodeInvalid)
	}
	h.send(ask{method: "POST", path: path + "/snooze", body: `{"for":"2h","reason":"lunch"}`, as: tokens.Approver}).want(http.StatusOK).into(&v)
	if v.Snooze == nil || !slices.Contains(v.May, MaySnooze) || !slices.Contains(v.May, MayApprove) || len(v.Notices) != 1 || v.Notices[0].Reason != "lunch" {
		t.Errorf("a snoozed gate is %+v, may %v", v.Notices, v.May)
	}
	if ids, c := inbox("assignee=me", tokens.Approver); len(ids) != 0 || c["snoozed"] != 1 || c["counts"] != 0 {
		t.Errorf("the inbox of who hid it: %v, %v", ids, c)
	}
	if ids, _ := inbox("assignee=me&snoozed=only", tokens.Approver); len(ids) != 1 {
		t.Errorf("what they hid: %v", ids)
	}
	if ids, c := inbox("assignee=me", tokens.Operator); len(ids) != 1 || c["snoozed"] != 0 || c["counts"] != 1 {
		t.Errorf("the inbox of another: %v, %v", ids, c)
	}
	if ids, _ := inbox("", tokens.Approver); len(ids) != 1 {
		t.Errorf("all gates: %v", ids)
	}
	h.send(ask{method: "DELETE", path: path + "/snooze", as: tokens.Approver}).want(http.StatusOK).into(&v)
	if ids, _ := inbox("assignee=me", tokens.Approver); len(ids) != 1 {
		t.Errorf("after they have it back: %v", ids)
	}
	h.send(ask{method: "POST", path: path + "/snooze", body: `{"for":"2h","by":"approver-token"}`}).want(http.StatusOK)
	if ids, _ := inbox("assignee=me", tokens.Approver); len(ids) != 0 {
		t.Errorf("after an operator hid it for them: %v", ids)
	}
}
