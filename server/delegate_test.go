package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// asking commits a gate as it is given.
func (h *testServer) asking(thread string, g posthouse.Gate) *posthouse.Gate {
	h.t.Helper()
	if g.Name == "" {
		g.Name, g.Payload = "refund", json.RawMessage(`{}`)
	}
	state, err := posthouse.Opaque(nil, map[string]string{"request": "please refund"})
	must.Do(h.t, err)
	c, err := h.ledger.Commit(h.t.Context(), &ledger.Draft{Thread: thread, Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch", Coordination: "dispatch", Next: []string{"approver"}, State: state,
	}})
	must.Do(h.t, err)
	return &c.Gates[0]
}

func TestVotes(t *testing.T) {
	h := open(t, nil)
	g := h.asking("t1", posthouse.Gate{Quorum: &posthouse.Quorum{Need: 2}})
	path := "/api/gates/" + string(g.ID)
	var a Accepted
	h.send(ask{method: "POST", path: path + "/approve", body: `{"reason":"fine"}`, as: tokens.Approver}).want(http.StatusAccepted).into(&a)
	if a.Vote == nil || a.Vote.By != "approver-token" || a.Vote.Reason != "fine" || a.Missing != 1 || a.Decision != nil || a.Location != path {
		t.Errorf("after one vote: %+v", a)
	}
	p := h.send(ask{method: "POST", path: path + "/approve", as: tokens.Approver}).refused(posthouse.CodeVoted)
	if p.Decision == nil || p.Decision.By != "approver-token" {
		t.Errorf("told %+v", p)
	}
	// An operator has one vote, whatever names they act for.
	h.post(path+"/approve?by=approver-token", "").refused(posthouse.CodeVoted)
	var shown posthouse.Gate
	h.get(path).want(http.StatusOK).into(&shown)
	if len(shown.Votes) != 1 || shown.Decision != nil {
		t.Errorf("the gate is %+v", shown)
	}
	c := h.post(path+"/approve?by=alice", "").want(http.StatusOK).checkpoint()
	if d := c.Decision; d == nil || d.By != "alice" || d.Actor != "operator-token" || d.Verdict != posthouse.Approve {
		t.Errorf("decided as %+v", d)
	}
}

func TestDelegate(t *testing.T) {
	h := open(t, nil)
	g := h.asking("t1", posthouse.Gate{Assignees: []string{"alice"}})
	path := "/api/gates/" + string(g.ID)
	h.send(ask{method: "POST", path: path + "/delegate", body: `{"to":"bob"}`, as: tokens.Viewer}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "POST", path: path + "/delegate", body: `{"to":"approver-token"}`, as: tokens.Approver}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "POST", path: path + "/delegate", body: `{"to":"bob","by":"alice"}`, as: tokens.Approver}).refused(posthouse.CodeForbidden)
	h.post(path+"/delegate", `{"by":"alice"}`).refused(posthouse.CodeInvalid)
	var now posthouse.Gate
	h.post(path+"/delegate", `{"to":"approver-token","by":"alice","reason":"away"}`).want(http.StatusOK).into(&now)
	if len(now.Assignments) != 1 || now.Assignments[0].Actor != "operator-token" || now.Assignments[0].Reason != "away" {
		t.Errorf("the gate is %+v", now)
	}
	var mine []posthouse.Gate
	h.get("/api/gates?assignee=approver-token").want(http.StatusOK).into(&mine)
	if len(mine) != 1 {
		t.Errorf("%d gates for the new assignee", len(mine))
	}
	h.post(path+"/approve?by=alice", "").refused(posthouse.CodeForbidden)
	c := h.send(ask{method: "POST", path: path + "/approve", as: tokens.Approver}).want(http.StatusOK).checkpoint()
	if c.Decision.For != "alice" || c.Decision.By != "approver-token" {
		t.Errorf("decided as %+v", c.Decision)
	}
}

// A typo is taken with a warning and taken back; a person with a role that does not allow to decide is refused.
func TestTakeBack(t *testing.T) {
	h := open(t, nil)
	g := h.asking("t1", posthouse.Gate{Assignees: []string{"approver-token", "bob"}, RequestedBy: "mallory"})
	path := "/api/gates/" + string(g.ID)
	as := func(role tokens.Role, verb, body string) *reply {
		t.Helper()
		return h.send(ask{method: "POST", path: path + verb, body: body, as: role})
	}
	may := func(want ...Action) {
		t.Helper()
		var g Gate
		h.send(ask{method: "GET", path: path, as: tokens.Approver}).want(http.StatusOK).into(&g)
		for _, a := range []Action{MayApprove, MayDelegate, MayTakeBack} {
			if slices.Contains(want, a) != slices.Contains(g.May, a) {
				t.Errorf("may %v, want %v", g.May, want)
			}
		}
	}
	may(MayApprove, MayDelegate)
	as(tokens.Approver, "/take-back", "").refused(posthouse.CodeConflict)
	if p := as(tokens.Approver, "/delegate", `{"to":"viewer-token"}`).refused(posthouse.CodeForbidden); !strings.Contains(p.Detail, "has the role viewer") {
		t.Errorf("a viewer is refused with %+v", p)
	}
	if p := as(tokens.Approver, "/delegate", `{"to":"mallory"}`).refused(posthouse.CodeForbidden); !strings.Contains(p.Detail, "asked for this") {
		t.Errorf("a requester is refused with %+v", p)
	}
	var now struct {
		posthouse.Gate
		Warning string `json:"warning"`
	}
	as(tokens.Approver, "/delegate", `{"to":"nobody-xyz"}`).want(http.StatusOK).into(&now)
	if !strings.Contains(now.Warning, "no access token, login, decision or question with the name nobody-xyz") {
		t.Errorf("the warning is %q", now.Warning)
	}
	may(MayTakeBack)
	as(tokens.Viewer, "/take-back", "").refused(posthouse.CodeForbidden)
	as(tokens.Approver, "/take-back", `{"by":"bob"}`).refused(posthouse.CodeForbidden)
	as(tokens.Approver, "/take-back", `{"to":"bob"}`).refused(posthouse.CodeConflict)
	as(tokens.Approver, "/take-back", `{"reason":"a typo"}`).want(http.StatusOK).into(&now)
	if a := now.Assignments; len(a) != 2 || a[1].TakesBack != a[0].Seq || a[1].By != "approver-token" || a[1].Reason != "a typo" {
		t.Errorf("on record is %+v", a)
	}
	may(MayApprove, MayDelegate)
	now.Warning = ""
	as(tokens.Approver, "/delegate", `{"to":"operator-token"}`).want(http.StatusOK).into(&now)
	if now.Warning != "" {
		t.Errorf("a known name is warned of: %s", now.Warning)
	}
	h.post(path+"/take-back", `{"by":"approver-token"}`).want(http.StatusOK)
	as(tokens.Approver, "/delegate", `{"to":"operator-token"}`).want(http.StatusOK)
	h.post(path+"/approve", "").want(http.StatusOK)
	as(tokens.Approver, "/take-back", "").refused(posthouse.CodeDecided)
}

// TestRequesterCannotApproveForAnother sends what an operator asked for with
// their own token in another's name: it is their hand that approves.
func TestRequesterCannotApproveForAnother(t *testing.T) {
	h := open(t, nil)
	for i, verb := range []string{"approve?by=alice", "approve", "approve?request=more"} {
		g := h.asking(fmt.Sprint("t", i), posthouse.Gate{RequestedBy: "operator-token"})
		path := "/api/gates/" + string(g.ID)
		if p := h.post(path+"/"+verb, "").refused(posthouse.CodeForbidden); !strings.Contains(p.Hint, "posthouse token create") {
			t.Errorf("%s: the hint is %q", verb, p.Hint)
		}
		h.post(path+"/edit", `{"by":"alice","value":{}}`).refused(posthouse.CodeForbidden)
		if d := h.send(ask{method: "POST", path: path + "/approve", as: tokens.Approver}).want(http.StatusOK).checkpoint().Decision; d.By != "approver-token" {
			t.Errorf("%s: decided as %+v", verb, d)
		}
	}
	own := h.asking("own", posthouse.Gate{RequestedBy: "operator-token", AllowRequest: true})
	h.post("/api/gates/"+string(own.ID)+"/approve?by=alice", "").want(http.StatusOK)
}
