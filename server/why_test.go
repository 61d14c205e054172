package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/audit"
)

// TestEarlierWithdrawalsSayWhoCancelled: each door tells who cancelled the branch of a gate, also where its
// decision says that the branch went on, as earlier versions wrote it. What is on record stays as it is.
func TestEarlierWithdrawalsSayWhoCancelled(t *testing.T) {
	const why = "the branch was cancelled by ann: called off"
	h := open(t, nil)
	g := h.asking("t", posthouse.Gate{Name: "refund"})
	token := h.approvalToken(g, `{"for":"alice"}`).Token
	must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
		Kind: posthouse.KindCancel, Status: posthouse.StatusCancelled, Graph: "dispatch", By: "ann", Error: "called off",
	}}))(t)
	path := "/api/gates/" + string(g.ID)

	var one Gate
	h.get(path).want(http.StatusOK).into(&one)
	if one.Why != why || one.Decision.Reason != "the branch went on without it" {
		t.Errorf("the gate says %q, its decision %q", one.Why, one.Decision.Reason)
	}
	var grant Grant
	h.get(path + "/grant").want(http.StatusOK).into(&grant)
	if grant.Why != why {
		t.Errorf("its grant says %q", grant.Why)
	}
	var list struct{ Items []*Gate }
	h.get("/api/gates?state=withdrawn").want(http.StatusOK).into(&list)
	if len(list.Items) != 1 || list.Items[0].Why != why {
		t.Errorf("the list has %+v", list.Items)
	}
	var acts struct{ Items []*audit.Act }
	h.get("/api/audit?thread=t&kind=decision").want(http.StatusOK).into(&acts)
	if len(acts.Items) != 1 || acts.Items[0].Reason != why {
		t.Errorf("the audit has %+v", acts.Items)
	}
	// The holder of a link learns who cancelled it, and not the words.
	shown := h.send(ask{method: "GET", path: path + "/by-token", as: "-", header: []string{"Authorization: Bearer " + token}}).want(http.StatusOK)
	var link TokenGate
	if shown.into(&link); link.Why != "the branch was cancelled by ann" || strings.Contains(string(shown.body), "called off") {
		t.Errorf("a link is told %s", shown.body)
	}
}
