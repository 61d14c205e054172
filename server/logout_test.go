package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/accounts"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/server/tokens"
)

// cookieOf logs a browser in with the token of a role.
func (h *testServer) cookieOf(role tokens.Role) string { return h.login(role).String() }

// signIn logs a browser in with an account, and returns its cookie.
func (h *testServer) signIn() string {
	h.t.Helper()
	begun, _, _ := strings.Cut(h.send(ask{method: "GET", path: "/login/begin", as: "-"}).want(http.StatusSeeOther).header.Get("Set-Cookie"), ";")
	a := h.send(ask{method: "GET", path: "/login/callback?state=s1&code=c", as: "-", header: []string{"Cookie: " + begun}}).want(http.StatusSeeOther)
	for _, set := range a.header.Values("Set-Cookie") {
		if pair, _, _ := strings.Cut(set, ";"); strings.HasPrefix(pair, "posthouse_session=") {
			return pair
		}
	}
	h.t.Fatal("nobody is logged in")
	return ""
}

// TestStreamEndsWithItsLogin: by a logout, by an operator, and with the file of logins.
func TestStreamEndsWithItsLogin(t *testing.T) {
	h := open(t, nil)
	for what, end := range map[string]func(cookie string){
		"after a logout": func(cookie string) {
			h.send(ask{method: "POST", path: "/logout", as: "-", header: []string{"Cookie: " + cookie}}).want(http.StatusSeeOther)
		},
		"after the file was removed": func(string) { must.Do(t, os.Remove(filepath.Join(h.dir, session.LoginsFile))) },
		"after an operator ended it": func(string) {
			h.post("/api/people/logout", `{"name":"`+strings.ToUpper("viewer-token")+`"}`).want(http.StatusOK)
		},
	} {
		cookie := h.cookieOf(tokens.Viewer)
		f := h.listen(ask{method: "GET", path: "/api/events", as: "-", header: []string{"Cookie: " + cookie}})
		h.ticks <- time.Time{}
		f.want(":")
		end(cookie)
		t.Log(what)
		h.ticks <- time.Time{}
		f.wantEnd()
		h.send(ask{method: "GET", path: "/api/me", as: "-", header: []string{"Cookie: " + cookie}}).refused(problem.CodeUnauthenticated)
	}
}

// TestOperatorsListAndEndLogins by person, and nobody else does.
func TestOperatorsListAndEndLogins(t *testing.T) {
	h := open(t, nil)
	first, second, other := h.cookieOf(tokens.Viewer), h.cookieOf(tokens.Viewer), h.cookieOf(tokens.Approver)
	var all struct {
		Items []accounts.Login `json:"items"`
	}
	h.get("/api/people/logins").want(http.StatusOK).into(&all)
	if len(all.Items) != 3 || all.Items[0].Account || all.Items[0].Since.IsZero() {
		t.Errorf("the logins are %+v", all.Items)
	}
	h.send(ask{method: "GET", path: "/api/people/logins", as: tokens.Approver}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "POST", path: "/api/people/logout", as: tokens.Approver, body: `{"name":"viewer-token"}`}).refused(posthouse.CodeForbidden)
	var ended accounts.Outed
	h.post("/api/people/logout", `{"name":"viewer-token"}`).want(http.StatusOK).into(&ended)
	if ended.Logins != 2 {
		t.Errorf("%+v ended", ended)
	}
	for cookie, status := range map[string]int{first: http.StatusUnauthorized, second: http.StatusUnauthorized, other: http.StatusOK} {
		h.send(ask{method: "GET", path: "/api/me", as: "-", header: []string{"Cookie: " + cookie}}).want(status)
	}
}

// TestLinkEndsWithItsMaker: a link that somebody made who logged in with an account outlasts their logout, and ends when
// an operator ends their logins, or they lose their role.
func TestLinkEndsWithItsMaker(t *testing.T) {
	person := &signin.Person{Name: "ann@example.com", Role: tokens.Approver, Expires: time.Now().Add(time.Minute)}
	h := open(t, func(o *Options) { o.SignIn = &knower{name: "https://accounts.example", person: person} })
	link := func(thread string) (posthouse.ID, string, string) {
		t.Helper()
		_, g := h.waiting(thread)
		cookie := h.signIn()
		var made GateToken
		h.send(ask{method: "POST", path: "/api/gates/" + string(g.ID) + "/token", as: "-", body: "{}", header: []string{"Cookie: " + cookie}}).want(http.StatusOK).into(&made)
		if made.ExpiresAt.Before(time.Now().Add(time.Hour)) {
			t.Errorf("the link ends at %s, with the login", made.ExpiresAt)
		}
		return g.ID, made.Token, cookie
	}
	gate, secret, cookie := link("t1")
	h.send(ask{method: "POST", path: "/logout", as: "-", header: []string{"Cookie: " + cookie}}).want(http.StatusSeeOther)
	h.byToken(gate, secret, `{"verdict":"reject"}`).want(http.StatusOK)

	gate, secret, cookie = link("t2")
	h.post("/api/people/logout", `{"name":"Ann@example.com"}`).want(http.StatusOK)
	h.refusedToken(gate, secret)
	h.send(ask{method: "GET", path: "/api/me", as: "-", header: []string{"Cookie: " + cookie}}).refused(problem.CodeUnauthenticated)

	gate, secret, cookie = link("t3")
	person.Role = tokens.Viewer
	h.signIn()
	h.refusedToken(gate, secret)
	h.send(ask{method: "GET", path: "/api/me", as: "-", header: []string{"Cookie: " + cookie}}).refused(problem.CodeUnauthenticated)
}
