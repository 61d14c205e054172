package server

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// proposed opens a gate that licenses effects; gates of a later call name it.
func (h *testServer) proposed(thread, content string) *posthouse.Gate {
	h.t.Helper()
	return h.asking(thread, posthouse.Gate{
		Name: "pay", Text: "Pay this?", Uses: 1, Payload: json.RawMessage(content),
		Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject, posthouse.Edit},
	})
}

// acted puts an effect under a grant on record: that it was let go, and its result
// unless that is "".
func (h *testServer) acted(g *posthouse.Gate, result string) {
	h.t.Helper()
	d := &ledger.Draft{Thread: g.Thread, Steps: []posthouse.Step{{
		Task: "pay@1", Name: "transfer>$use", Effect: posthouse.EffectExternal, Grant: g.ID, Value: posthouse.Value{Codec: "json", Data: []byte(`{}`)},
	}}}
	if result != "" {
		d.Steps = append(d.Steps, posthouse.Step{
			Task: "pay@1", Name: "transfer", Effect: posthouse.EffectExternal, Grant: g.ID, Value: posthouse.Value{Codec: "json", Data: []byte(result)},
		})
	}
	_, err := h.ledger.Commit(h.t.Context(), d)
	must.Do(h.t, err)
}

func TestGrant(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	g := h.proposed("t", `{"amount":500}`)
	show := func() (v Grant) {
		t.Helper()
		h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/grant", as: tokens.Viewer}).want(http.StatusOK).into(&v)
		return v
	}
	if v := show(); v.Status != grants.Proposed || v.Licenses != 1 || v.Content != nil || v.AskAgain || len(v.Uses) != 0 {
		t.Errorf("%+v", v)
	}
	h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/edit", as: tokens.Approver, body: `{"value":{"amount":50}}`})
	if v := show(); v.Status != grants.Decided || string(v.Content) != `{"amount":50}` || v.Gate.Decision.By != "approver-token" {
		t.Errorf("%+v", v)
	}
	h.acted(g, "")
	if v := show(); v.Status != grants.Unknown || len(v.Uses) != 1 || v.Uses[0].Status != grants.Unknown {
		t.Errorf("%+v", v)
	}
	h.acted(h.proposed("other", `{}`), "") // not decided
	d := &ledger.Draft{Thread: "t", Steps: []posthouse.Step{
		{Task: "pay@1", Name: "transfer", Effect: posthouse.EffectExternal, Grant: g.ID, Value: posthouse.Value{Codec: "json", Data: []byte(`"receipt 7"`)}},
		{Task: "mail@2", Name: "mail", Effect: posthouse.EffectExternal, Value: posthouse.Value{Codec: "json", Data: []byte(`1`)}},
		{Task: "mail@2", Name: "think", Effect: posthouse.EffectPure, Value: posthouse.Value{Codec: "json", Data: []byte(`1`)}},
	}}
	_, err := h.ledger.Commit(t.Context(), d)
	must.Do(t, err)
	v := show()
	if v.Status != grants.Executed || len(v.Uses) != 1 {
		t.Fatalf("%+v", v)
	}
	if u := v.Uses[0]; u.Name != "transfer" || u.Task != "pay@1" || u.Thread != "t" || string(u.Outcome) != `"receipt 7"` || u.Effect != posthouse.EffectExternal {
		t.Errorf("%+v", u)
	}
	h.get("/api/gates/nobody/grant").refused(posthouse.CodeNotFound)

	var effects []Effect
	h.send(ask{method: "GET", path: "/api/threads/t/effects", as: tokens.Viewer}).want(http.StatusOK).into(&effects)
	if len(effects) != 2 || effects[0].Decision.By != "approver-token" || string(effects[0].Content) != `{"amount":50}` || effects[0].Question != "Pay this?" ||
		effects[1].Decision != nil || effects[1].Name != "mail" {
		t.Errorf("effects %+v", effects)
	}
	a := h.get("/api/threads/t/effects?limit=1").want(http.StatusOK)
	a.into(&effects)
	if next := a.header.Get("X-Next-Cursor"); len(effects) != 1 || next != "1" {
		t.Errorf("a page of one: %+v, %q", effects, next)
	}
	h.get("/api/threads/t/effects?limit=1&cursor=1").want(http.StatusOK).into(&effects)
	if len(effects) != 1 || effects[0].Name != "mail" {
		t.Errorf("the next: %+v", effects)
	}
	h.get("/api/threads/t/effects?ungranted=true").want(http.StatusOK).into(&effects)
	if len(effects) != 1 || effects[0].Name != "mail" {
		t.Errorf("by nobody's leave: %+v", effects)
	}
	h.get("/api/threads/nobody/effects").refused(posthouse.CodeNotFound)
}

// The API tells a caller that may have a question asked again so, and no other caller.
func TestGrantSaysWhoMayAskAgain(t *testing.T) {
	h := open(t, nil)
	h.program.idle = true
	g := h.proposed("t", `{}`)
	_, err := h.ledger.Commit(t.Context(), &ledger.Draft{
		Thread: "t", Branch: "main", Checkpoint: &posthouse.Change{Kind: posthouse.KindUpdate, Status: posthouse.StatusDone, Graph: "dispatch"},
	})
	must.Do(t, err)
	for role, want := range map[tokens.Role]bool{tokens.Viewer: false, tokens.Approver: false, tokens.Operator: true} {
		var v Grant
		h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/grant", as: role}).want(http.StatusOK).into(&v)
		if v.AskAgain != want {
			t.Errorf("%s: v.AskAgain %v", role, v.AskAgain)
		}
	}
}
