package server

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/lookup"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestLookup: ids of checkpoints and gates, whole or in part, and names lead to their places, also once
// a question is decided.
func TestLookup(t *testing.T) {
	h := open(t, nil)
	lookUp := func(text, more string) []lookup.Place {
		t.Helper()
		var page api.List[lookup.Place]
		h.send(ask{method: "GET", path: "/api/find?id=" + url.QueryEscape(text) + more, as: tokens.Viewer}).want(http.StatusOK).into(&page)
		if page.Items == nil {
			t.Errorf("%q is answered with no list", text)
		}
		return page.Items
	}
	one := func(text, kind, id string) lookup.Place {
		t.Helper()
		found := lookUp(text, "")
		if len(found) != 1 || found[0].Kind != kind || found[0].ID != id || found[0].Seq == 0 || found[0].Thread == "" {
			t.Fatalf("%q leads to %+v, want the %s %s", text, found, kind, id)
		}
		return found[0]
	}
	commit := func(thread string, asks ...posthouse.Gate) *posthouse.Committed {
		return must.Get(h.ledger.Commit(t.Context(), &ledger.Draft{
			Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusWaiting, Graph: "refund", Node: "ask", Labels: map[string]string{"tenant": "acme"}}, Gates: asks,
		}))(t)
	}
	c := commit("order-1234", posthouse.Gate{Name: "refund", Text: "Refund?"})
	commit("order-1235", posthouse.Gate{Name: "other"})
	id, gate := string(c.Checkpoint.ID), string(c.Gates[0].ID)
	for decided := range 2 {
		for _, text := range []string{id, id[24:], id[:4] + "…" + id[24:], id[:8] + "..." + id[28:], "order-1234#1"} {
			if text == "order-1234#1" {
				if found := lookUp(text, ""); len(found) != 2 || found[0].ID != id || found[1].ID != gate {
					t.Errorf("the entry leads to %+v", found)
				}
				continue
			}
			if p := one(text, "checkpoint", id); p.Thread != "order-1234" || p.Branch != "main" || p.About != "input ask" {
				t.Errorf("%q leads to %+v", text, p)
			}
		}
		for _, text := range []string{gate, gate[len(gate)-12:], "gate-…" + gate[len(gate)-8:]} {
			if p := one(text, "gate", gate); p.Thread != "order-1234" || p.Checkpoint != c.Checkpoint.ID {
				t.Errorf("%q leads to %+v", text, p)
			}
		}
		if decided == 0 {
			must.Get(h.ledger.Decide(t.Context(), posthouse.ID(gate), posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
		}
	}
	if p := one("order-1234", "thread", "order-1234"); p.About != "refund" || p.At.IsZero() {
		t.Errorf("a thread is %+v", p)
	}
	if found := lookUp("order-", ""); len(found) != 2 {
		t.Errorf("a beginning leads to %+v", found)
	}
	if found := lookUp("acme", ""); len(found) != 2 || found[0].Kind != "thread" {
		t.Errorf("a label's value leads to %+v", found)
	}
	if found := lookUp("order-", "&limit=1"); len(found) != 1 {
		t.Errorf("one of them is %+v", found)
	}
	for _, text := range []string{"ff", "nothing", "order-1234#9", "order-1234#x", "#1", "$process", strings.Repeat("é", 100), `' OR 1=1 --`} {
		if found := lookUp(text, ""); len(found) != 0 {
			t.Errorf("%q leads to %+v", text, found)
		}
	}
	h.get("/api/find").refused(posthouse.CodeInvalid)
	h.get("/api/find?id=").refused(posthouse.CodeInvalid)
	h.get("/api/find?id=" + strings.Repeat("a", 201)).refused(posthouse.CodeInvalid)
	h.get("/api/find?id=a&limit=51").refused(posthouse.CodeInvalid)
}
