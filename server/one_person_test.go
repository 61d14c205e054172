package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/access"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/server/tokens"
)

// made is a token that was made over the API by the holder of another secret.
func (h *testServer) made(by, name string, role tokens.Role) (secret string) {
	h.t.Helper()
	var c access.Created
	h.send(ask{method: "POST", path: "/api/tokens", as: "-", header: bearer(by), body: `{"name":"` + name + `","role":"` + string(role) + `"}`}).want(http.StatusCreated).into(&c)
	return c.Token
}

func bearer(secret string) []string { return []string{"Authorization: Bearer " + secret} }

func (h *testServer) decides(secret string, g *posthouse.Gate, verdict, body string) *reply {
	h.t.Helper()
	return h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/" + verdict, as: "-", header: bearer(secret), body: body})
}

// confirmable wants a refusal with the command that confirms a token as its hint.
func (r *reply) confirmable(code posthouse.Code, token string) {
	r.t.Helper()
	if p := r.refused(code); !strings.Contains(p.Hint, "posthouse token confirm "+token+")") {
		r.t.Errorf("%s: the hint is %q", r.what, p.Hint)
	}
}

// TestTokensOfOneMakerAreOnePerson: what one of them asked, changed or voted, the other cannot
// approve, until the token is confirmed by somebody who has nothing to do with its maker.
func TestTokensOfOneMakerAreOnePerson(t *testing.T) {
	h := open(t, nil)
	op := h.secrets[tokens.Operator] // operator-token, made in the data directory
	ceo := h.made(op, "ceo@example.com", tokens.Approver)
	second := h.made(op, "second", tokens.Operator)
	puppet := h.made(second, "puppet", tokens.Approver)
	const maker = "operator-token"

	t.Run("request", func(t *testing.T) {
		for _, by := range []string{maker, "second", "puppet"} {
			g := h.asking("request-"+by, posthouse.Gate{RequestedBy: by})
			h.decides(op, g, "approve", "").refused(posthouse.CodeForbidden)
			h.decides(second, g, "approve", "").refused(posthouse.CodeForbidden)
			h.decides(ceo, g, "approve", "").confirmable(posthouse.CodeForbidden, "ceo@example.com")
			h.decides(op, g, "approve", `{"by":"alice"}`).refused(posthouse.CodeForbidden)
			h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/delegate", as: "-", header: bearer(ceo), body: `{"to":"friend"}`}).refused(posthouse.CodeInvalid)
			var v Gate
			h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID), as: "-", header: bearer(ceo)}).want(http.StatusOK).into(&v)
			for _, a := range v.May {
				if a == MayApprove {
					t.Errorf("by %s: it offers %v", by, v.May)
				}
			}
			var mine []Gate
			h.send(ask{method: "GET", path: "/api/gates?assignee=me&thread=request-" + by, as: "-", header: bearer(ceo)}).want(http.StatusOK).into(&mine)
			if len(mine) != 0 {
				t.Errorf("by %s: the inbox has %d of their own requests", by, len(mine))
			}
			h.decides(h.secrets[tokens.Approver], g, "approve", "").want(http.StatusOK)
		}
	})
	t.Run("change", func(t *testing.T) {
		cp, _ := h.waiting("change")
		h.send(ask{method: "POST", path: "/api/checkpoints/" + string(cp) + "/fork", as: "-", header: bearer(second), body: `{"branch":"side","patch":{"request":"x"}}`}).want(http.StatusOK)
		g := h.asksOn("change", "side", "somebody", posthouse.Gate{})
		h.decides(ceo, g, "approve", "").confirmable(posthouse.CodeForbidden, "ceo@example.com")
	})
	t.Run("votes", func(t *testing.T) {
		g := h.asking("votes", posthouse.Gate{RequestedBy: "somebody", Quorum: &posthouse.Quorum{Need: 2}})
		h.decides(ceo, g, "approve", "").want(http.StatusAccepted)
		h.decides(puppet, g, "approve", "").confirmable(posthouse.CodeVoted, "puppet")
		h.decides(op, g, "approve", "").confirmable(posthouse.CodeVoted, "ceo@example.com")
		h.decides(op, g, "approve", `{"by":"alice"}`).refused(posthouse.CodeVoted)
		h.decides(h.secrets[tokens.Approver], g, "approve", "").want(http.StatusOK)
	})
	t.Run("revoked", func(t *testing.T) {
		gone := h.made(op, "gone", tokens.Operator)
		g := h.asking("revoked", posthouse.Gate{RequestedBy: "gone"})
		h.decides(gone, g, "approve", "").refused(posthouse.CodeForbidden)
		h.send(ask{method: "DELETE", path: "/api/tokens/gone"}).want(http.StatusNoContent)
		h.decides(ceo, g, "approve", "").refused(posthouse.CodeForbidden)
		h.decides(op, g, "approve", "").confirmable(posthouse.CodeForbidden, "gone")
		must.Do(t, h.tokens.Confirm("gone", nil))
		h.decides(op, g, "approve", "").want(http.StatusOK)
	})
	t.Run("confirm", func(t *testing.T) {
		confirm := func(secret, name string) *reply {
			return h.send(ask{method: "POST", path: "/api/tokens/" + url.PathEscape(name) + "/confirm", as: "-", header: bearer(secret)})
		}
		g := h.asking("confirm", posthouse.Gate{RequestedBy: maker})
		confirm(op, "ceo@example.com").refused(posthouse.CodeForbidden)     // its maker
		confirm(second, "ceo@example.com").refused(posthouse.CodeForbidden) // is not confirmed, and has that maker
		confirm(h.secrets[tokens.Approver], "ceo@example.com").refused(posthouse.CodeForbidden)
		must.Do(t, h.tokens.Confirm("second", nil))
		confirm(second, "ceo@example.com").refused(posthouse.CodeForbidden) // has that maker
		confirm(second, "puppet").refused(posthouse.CodeForbidden)          // its maker
		h.decides(ceo, g, "approve", "").refused(posthouse.CodeForbidden)
		other, err := h.tokens.Create("other", tokens.Operator, nil)
		must.Do(t, err)
		confirm(other, "nobody").refused(posthouse.CodeNotFound)
		confirm(other, "ceo@example.com").want(http.StatusNoContent)
		var all []access.Token
		h.get("/api/tokens").want(http.StatusOK).into(&all)
		for _, x := range all {
			if want := x.Name != "puppet"; x.Confirmed != want {
				t.Errorf("%s is listed as confirmed: %v", x.Name, x.Confirmed)
			}
		}
		h.decides(ceo, g, "approve", "").want(http.StatusOK)
	})
}

// TestTokensWithTheNameOfAnAccount are not made where people log in with accounts.
func TestTokensWithTheNameOfAnAccount(t *testing.T) {
	h := open(t, func(o *Options) { o.SignIn = accountLogin{} })
	p := h.post("/api/tokens", `{"name":"ceo@example.com","role":"approver"}`).refused(posthouse.CodeInvalid)
	if p.Field != "name" {
		t.Errorf("the field is %q", p.Field)
	}
	h.post("/api/tokens", `{"name":"ci","role":"approver"}`).want(http.StatusCreated)
}

type accountLogin struct{}

func (accountLogin) Key() string  { return "k" }
func (accountLogin) Name() string { return "Company" }
func (accountLogin) Begin(context.Context) (string, string, error) {
	return "", "", posthouse.ErrClosed
}
func (accountLogin) Finish(context.Context, url.Values, string) (*signin.Person, error) {
	return nil, posthouse.ErrClosed
}
