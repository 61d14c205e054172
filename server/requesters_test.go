package server

import (
	"net/http"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// asksOn has the program ask on a branch, for the requester of whoever gave it its input.
func (h *testServer) asksOn(thread, branch, by string, g posthouse.Gate) *posthouse.Gate {
	h.t.Helper()
	g.Name, g.Text, g.RequestedBy = "pay", "Pay?", by
	c, err := h.ledger.Commit(h.t.Context(), &ledger.Draft{Thread: thread, Branch: branch, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch",
	}, Gates: []posthouse.Gate{g}})
	must.Do(h.t, err)
	return &c.Gates[0]
}

// TestForkOverHTTPMakesARequester: whoever forks with another state cannot approve what the fork
// asks, by their token, under another name, by an approval token or by a vote, and can hand no
// right on. Who forks with the same state can.
func TestForkOverHTTPMakesARequester(t *testing.T) {
	h := open(t, nil)
	decide := func(g *posthouse.Gate, as tokens.Role, body string) *reply {
		return h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve", as: as, body: body})
	}
	for name, body := range map[string]string{
		"patch": `{"branch":"side","patch":{"request":"refund 99999"}}`, "state": `{"branch":"side","state":{"request":"x"}}`, "thread": `{"thread":"away","patch":{"request":"x"}}`,
	} {
		cp, _ := h.waiting(name)
		h.post("/api/checkpoints/"+string(cp)+"/fork", body).want(http.StatusOK)
		thread, branch := name, "side"
		if name == "thread" {
			thread, branch = "away", ""
		}
		g := h.asksOn(thread, branch, "somebody", posthouse.Gate{Assignees: []string{"operator-token", "approver-token", "alice"}})
		if got := g.RequesterNames(); !slices.Equal(got, []string{"somebody", "operator-token"}) {
			t.Fatalf("%s: requested by %v", name, got)
		}
		decide(g, tokens.Operator, "").refused(posthouse.CodeForbidden)
		decide(g, tokens.Operator, `{"by":"alice"}`).refused(posthouse.CodeForbidden)
		for _, to := range []string{`{}`, `{"for":"alice"}`, `{"for":"operator-token"}`} {
			h.post("/api/gates/"+string(g.ID)+"/token", to).refused(posthouse.CodeForbidden)
		}
		h.post("/api/gates/"+string(g.ID)+"/delegate", `{"to":"friend"}`).refused(posthouse.CodeForbidden)
		h.post("/api/gates/"+string(g.ID)+"/delegate", `{"to":"friend","by":"alice"}`).refused(posthouse.CodeForbidden)
		decide(g, tokens.Approver, "").want(http.StatusOK)

		q := h.asksOn(thread, branch, "somebody", posthouse.Gate{Quorum: &posthouse.Quorum{Need: 2}})
		decide(q, tokens.Operator, "").refused(posthouse.CodeForbidden)
		h.post("/api/gates/"+string(q.ID)+"/token", `{"for":"alice"}`).refused(posthouse.CodeForbidden)
	}
	cp, _ := h.waiting("same")
	h.post("/api/checkpoints/"+string(cp)+"/fork", `{"branch":"side"}`).want(http.StatusOK)
	decide(h.asksOn("same", "side", "somebody", posthouse.Gate{}), tokens.Operator, "").want(http.StatusOK)
}

// TestApprovalTokenOfARequester: a token that takes an approval approves nothing if the person
// it is for, or who made it, is a requester of the gate.
func TestApprovalTokenOfARequester(t *testing.T) {
	h := open(t, nil)
	cp, _ := h.waiting("t1")
	h.post("/api/checkpoints/"+string(cp)+"/fork", `{"branch":"side","patch":{"request":"x"}}`).want(http.StatusOK)
	g := h.asksOn("t1", "side", "somebody", posthouse.Gate{})
	var token string
	for _, person := range []string{"alice", "operator-token"} {
		token = h.approvalToken(g, `{"for":"`+person+`","verdicts":["reject"]}`).Token
		all, _, err := resourceOf[*approvalTokens](h).beside(t.Context(), g.ID)
		must.Do(t, err)
		more := all[len(all)-1]
		more.Verdicts = []posthouse.Verdict{posthouse.Approve, posthouse.Reject}
		must.Do(t, resourceOf[*approvalTokens](h).keep(t.Context(), more)) // as if it had been made before the change
		h.byToken(g.ID, token, `{"verdict":"approve"}`).refused(posthouse.CodeForbidden)
	}
	var a TokenDecision
	h.byToken(g.ID, token, `{"verdict":"reject"}`).want(http.StatusOK).into(&a)
	if a.Decision == nil || a.Decision.Verdict != posthouse.Reject {
		t.Errorf("a requester may reject: %+v", a)
	}
}
