package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/audit"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/tokens"
)

// accesses reads the acts of logins and tokens, and what each says.
func (h *testServer) accesses(query string) (said []string) {
	h.t.Helper()
	var page struct{ Items []*audit.Act }
	h.get("/api/audit?limit=1000&thread=%24access" + query).want(http.StatusOK).into(&page)
	for _, a := range page.Items {
		var v authlog.Act
		must.Do(h.t, json.Unmarshal(a.Record.Signal.Value, &v))
		said = append(said, strings.TrimSpace(strings.Join([]string{a.Kind, a.By, v.Person, v.Method, v.Address}, " ")))
	}
	return said
}

// TestAccessOnRecord: who logs in and out, is refused, and makes and revokes tokens is in the audit trail,
// without a secret, for operators alone, and stays there.
func TestAccessOnRecord(t *testing.T) {
	h := open(t, nil)
	form := []string{"Content-Type: application/x-www-form-urlencoded"}
	canary := "ph_canary-of-a-secret"
	login := func(secret string) *reply {
		return h.send(ask{method: "POST", path: "/login", as: "-", body: url.Values{"token": {secret}}.Encode(), header: form})
	}
	cookie := h.login(tokens.Approver)
	h.send(ask{method: "POST", path: "/logout", as: "-", header: append(form, "Cookie: "+cookie.String())}).want(http.StatusSeeOther)
	h.send(ask{method: "POST", path: "/logout", as: "-", header: append(form, "Cookie: "+cookie.String())}) // no person is logged in
	code, err := h.server.LoginLink(h.secrets[tokens.Operator])
	must.Do(t, err)
	_, code, _ = strings.Cut(code, "#code=")
	login(code).want(http.StatusSeeOther)
	login(code).want(http.StatusUnauthorized) // once
	login(canary).want(http.StatusUnauthorized)
	h.send(ask{method: "GET", path: "/api/me", as: "-", header: []string{"Authorization: Bearer " + canary}}).want(http.StatusUnauthorized)
	h.send(ask{method: "GET", path: "/api/me", as: "-"}).want(http.StatusUnauthorized) // no credential is no attempt
	var made struct{ Token string }
	h.post("/api/tokens", `{"name":"ci","role":"worker","groups":["gpu"]}`).want(http.StatusCreated).into(&made)
	h.post("/api/tokens", `{"name":"ci","role":"viewer"}`).refused(posthouse.CodeExists)
	h.send(ask{method: "DELETE", path: "/api/tokens/ci"}).want(http.StatusNoContent)
	h.send(ask{method: "DELETE", path: "/api/tokens/ci"}).refused(posthouse.CodeNotFound)

	said := h.accesses("")
	slices.Sort(said)
	want := []string{
		"login approver-token approver-token token 127.0.0.1", "logout approver-token approver-token  127.0.0.1",
		"login operator-token operator-token link 127.0.0.1", "refusal   link 127.0.0.1", "refusal   token 127.0.0.1", "refusal   header 127.0.0.1",
		"token operator-token ci  127.0.0.1", "token operator-token ci  127.0.0.1",
	}
	slices.Sort(want)
	if !slices.Equal(said, want) {
		t.Errorf("on record is\n%s\nwant\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	if said := h.accesses("&kind=token&by=operator-token"); len(said) != 2 {
		t.Errorf("tokens by person: %q", said)
	}
	if said := h.accesses("&kind=signal"); len(said) != 0 {
		t.Errorf("as signals: %q", said)
	}
	all := h.get("/api/audit/export").want(http.StatusOK).body
	if n := strings.Count(string(all), `"thread":"$access","seq"`); n == 0 {
		t.Error("the whole trail has none of it")
	}
	var tokensMade struct{ Items []*audit.Act }
	h.get("/api/audit?kind=token").want(http.StatusOK).into(&tokensMade)
	if len(tokensMade.Items) != 2 {
		t.Errorf("of all threads there are %d acts on tokens, want 2", len(tokensMade.Items))
	}
	for _, secret := range []string{canary, "canary", code, made.Token, h.secrets[tokens.Operator], cookie.Value} {
		if strings.Contains(string(all), secret) {
			t.Errorf("the trail has the secret %s", secret)
		}
	}

	// Another server over the same store and directory: as after a restart.
	o := Options{Ledger: h.ledger, Tokens: must.Get(tokens.Open(h.dir, nil))(t)}
	again := must.Get(New(o))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	must.Do(t, again.Close(ctx))
	later := h.accesses("")
	slices.Sort(later)
	if !slices.Equal(later, want) {
		t.Errorf("after a restart it is %q", later)
	}
}

// TestAccessIsForOperators: no other role sees where people log in from, by any door.
func TestAccessIsForOperators(t *testing.T) {
	h := open(t, nil)
	h.login(tokens.Viewer)
	h.waiting("t1")
	for _, as := range []tokens.Role{tokens.Viewer, tokens.Approver} {
		for _, path := range []string{
			"/api/threads/%24access", "/api/threads/%24access/log", "/api/threads/-/log?thread=%24access", "/api/threads/%24access/outline", "/api/threads/%24access/checkpoints",
			"/api/events?thread=%24access&after=start", "/api/checkpoints?thread=%24access", "/api/audit?thread=%24access", "/api/threads/%24access/export", "/api/threads/$access/log",
		} {
			h.send(ask{method: "GET", path: path, as: as}).refused(posthouse.CodeForbidden)
		}
		for _, path := range []string{"/api/threads?limit=1000", "/api/find?q=%24access", "/api/gates", "/api/threads?q=%24acc&order=asc"} {
			if a := h.send(ask{method: "GET", path: path, as: as}); strings.Contains(string(a.body), "127.0.0.1") || strings.Contains(string(a.body), `"$access"`) {
				t.Errorf("%s as %s: %s", path, as, a.body)
			}
		}
	}
	h.get("/api/threads/%24access/log").want(http.StatusOK)
	for _, as := range []tokens.Role{tokens.Viewer, tokens.Operator} {
		f := h.listen(ask{method: "GET", path: "/api/events?after=start", as: as})
		for {
			e, err := f.next()
			must.Do(t, err)
			if strings.Contains(e.data, "$access") {
				t.Errorf("%s hears %s", as, e.data)
			}
			if strings.Contains(e.data, `"t1"`) {
				break
			}
		}
		f.close()
	}
	f := h.listen(ask{method: "GET", path: "/api/events?thread=%24access&after=start"})
	if e, err := f.next(); err != nil || !strings.Contains(e.data, `"name":"$login"`) {
		t.Errorf("an operator who asks for them hears %+v, %v", e, err)
	}
	f.close()
}
