package server

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestWithdrawingIsNoDecision: an approver withdraws what they asked for and nothing else, an operator anything;
// a link cannot.
func TestWithdrawingIsNoDecision(t *testing.T) {
	h := open(t, nil)
	cancel := func(g *posthouse.Gate, as tokens.Role, body string) *reply {
		return h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/cancel", as: as, body: body})
	}
	for name, g := range map[string]posthouse.Gate{
		"of bob": {Assignees: []string{"bob"}}, "of nobody": {}, "of theirs": {Assignees: []string{"approver-token"}},
		"timer": {Name: "nap", Kind: posthouse.GateTimer, ExpiresAt: time.Now().Add(time.Hour)}, "signal": {Name: "go", Kind: posthouse.GateSignal, Signal: "go"},
	} {
		g := h.asking(name, g)
		cancel(g, tokens.Approver, "").refused(posthouse.CodeForbidden)
		h.send(ask{method: "POST", path: "/api/checkpoints/" + string(g.Checkpoint) + "/cancel", as: tokens.Approver}).refused(posthouse.CodeForbidden)
		cancel(g, tokens.Operator, `{"value":1}`).refused(posthouse.CodeInvalid)
		cancel(g, tokens.Operator, `{"by":"alice","reason":"asked twice"}`).want(http.StatusOK)
		got, err := h.ledger.Gate(t.Context(), g.ID)
		if err != nil || got.Decision == nil || got.Decision.Verdict != posthouse.Cancel || got.Decision.By != "alice" || got.Decision.Actor != "operator-token" {
			t.Errorf("%s: withdrawn as %+v, %v", name, got.Decision, err)
		}
	}
	own := h.asking("own", posthouse.Gate{RequestedBy: "approver-token", Assignees: []string{"bob"}})
	cancel(own, tokens.Viewer, "").refused(posthouse.CodeForbidden)
	h.post("/api/gates/"+string(own.ID)+"/token", `{"verdicts":["cancel"],"for":"bob"}`).refused(posthouse.CodeInvalid)
	cancel(own, tokens.Approver, "").want(http.StatusOK)
	if _, err := h.server.Decide(t.Context(), h.asking("channel", posthouse.Gate{}).ID, posthouse.Decision{Verdict: posthouse.Cancel, By: "bob"}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a channel withdraws: %v", err)
	}
}
