package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/server/tokens"
)

// A knower is a provider that lets in whom a test says, where the state comes back.
type knower struct {
	name   string
	person *signin.Person
	err    error
}

func (k *knower) Name() string { return k.name }
func (k *knower) Key() string  { return k.name + " as it is" }

func (k *knower) Begin(context.Context) (location, kept string, err error) {
	return "https://accounts.example/authorize?state=s1", "s1", k.err
}

func (k *knower) Finish(_ context.Context, query url.Values, kept string) (*signin.Person, error) {
	if k.err != nil || query.Get("state") != kept || kept == "" {
		return nil, &posthouse.Error{Code: posthouse.CodeForbidden, Message: "this is the answer to another login"}
	}
	return k.person, nil
}

// TestSignIn logs in by a provider, once, in the browser that began.
func TestSignIn(t *testing.T) {
	now := time.Now()
	k := &knower{name: "https://accounts.example", person: &signin.Person{Name: "ann@example.com", Role: tokens.Approver, Expires: now.Add(2 * time.Hour)}}
	h := open(t, func(o *Options) { o.SignIn = k })
	visit := func(path string, cookies ...string) *reply {
		t.Helper()
		a := ask{method: "GET", path: path, as: "-", header: []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}}
		if len(cookies) > 0 {
			a.header = append(a.header, "Cookie: "+strings.Join(cookies, "; "))
		}
		return h.send(a)
	}
	begin := func() string {
		t.Helper()
		a := visit("/login/begin?next=%2Fgates%2Fg-1%23show").want(http.StatusSeeOther)
		set := a.header.Get("Set-Cookie")
		if a.header.Get("Location") != "https://accounts.example/authorize?state=s1" || !strings.Contains(set, "SameSite=Lax") || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "Path=/login") {
			t.Fatalf("it leads to %s with the cookie %s", a.header.Get("Location"), set)
		}
		pair, _, _ := strings.Cut(set, ";")
		return pair
	}
	cookie := func(a *reply) string {
		t.Helper()
		for _, set := range a.header.Values("Set-Cookie") {
			if pair, rest, _ := strings.Cut(set, ";"); strings.HasPrefix(pair, "posthouse_session=") {
				if !strings.Contains(rest, "SameSite=Strict") || !strings.Contains(rest, "HttpOnly") {
					t.Errorf("the session's cookie is %s", set)
				}
				return pair
			}
		}
		return ""
	}
	if a := h.send(ask{method: "GET", path: "/login", as: "-"}); !strings.Contains(string(a.body), "Log in with https://accounts.example") {
		t.Errorf("the login page is %s", a.body)
	}
	kept := begin()
	a := visit("/login/callback?state=s1&code=c&client_info=x&session_state=y", kept).want(http.StatusSeeOther)
	session := cookie(a)
	if a.header.Get("Location") != "/gates/g-1#show" || session == "" || !strings.Contains(strings.Join(a.header.Values("Set-Cookie"), "\n"), "posthouse_signin=; Path=/login; Max-Age=0") {
		t.Fatalf("it leads to %s and sets %q", a.header.Get("Location"), a.header.Values("Set-Cookie"))
	}
	with := func(method, path string) *reply {
		return h.send(ask{method: method, path: path, as: "-", header: []string{"Cookie: " + session}})
	}
	var me myself
	with("GET", "/api/me").want(http.StatusOK).into(&me)
	if me.Name != "ann@example.com" || me.Role != tokens.Approver {
		t.Errorf("who logged in is %+v", me)
	}
	_, g := h.waiting("t1")
	with("POST", "/api/gates/"+string(g.ID)+"/approve").want(http.StatusOK)
	if g, err := h.ledger.Gate(t.Context(), g.ID); err != nil || g.Decision == nil || g.Decision.By != "ann@example.com" {
		t.Errorf("the gate is %+v, %v", g, err)
	}
	with("DELETE", "/api/threads/t1").refused(posthouse.CodeForbidden)
	_, other := h.waiting("t2")
	var made GateToken
	h.send(ask{method: "POST", path: "/api/gates/" + string(other.ID) + "/token", as: "-", body: "{}", header: []string{"Cookie: " + session}}).want(http.StatusOK).into(&made)
	h.byToken(other.ID, made.Token, `{"verdict":"reject"}`).want(http.StatusOK) // it ends with the login, and that holds

	for name, path := range map[string]string{"another state": "/login/callback?state=s2&code=c", "an error": "/login/callback?error=access_denied&state=s2"} {
		if a := visit(path, begin()).want(http.StatusForbidden); cookie(a) != "" || !strings.Contains(string(a.body), "another login") {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	for name, c := range map[string]string{"no cookie": "x=y", "no base64": "posthouse_signin=!", "no JSON": "posthouse_signin=YWJj", "nothing kept": "posthouse_signin=e30"} {
		if a := visit("/login/callback?state=&code=c", c).want(http.StatusForbidden); cookie(a) != "" {
			t.Errorf("%s logs in", name)
		}
	}
	for name, p := range map[string]signin.Person{
		"a worker": {Name: "ann@example.com", Role: tokens.Worker}, "no role": {Name: "ann@example.com"}, "no name": {Role: tokens.Viewer},
		"the runtime": {Name: posthouse.RuntimeActor, Role: tokens.Operator}, "a line break": {Name: "ann\nbob", Role: tokens.Viewer},
	} {
		k.person = &p
		if a := visit("/login/callback?state=s1&code=c", begin()).want(http.StatusForbidden); cookie(a) != "" {
			t.Errorf("%s logs in", name)
		}
	}
	with("GET", "/api/me").want(http.StatusOK)
	k.person = &signin.Person{Name: "ann@example.com", Role: tokens.Viewer, Expires: now.Add(-time.Second)}
	session = cookie(visit("/login/callback?state=s1&code=c", begin()).want(http.StatusSeeOther))
	with("GET", "/api/me").refused(problem.CodeUnauthenticated) // the provider's time, before the cookie's
}

// TestSignInEndsWithItsProvider: a server with another provider, or without one, knows the cookie no more.
func TestSignInEndsWithItsProvider(t *testing.T) {
	k := &knower{name: "https://accounts.example", person: &signin.Person{Name: "ann@example.com", Role: tokens.Viewer, Expires: time.Now().Add(time.Hour)}}
	h := open(t, func(o *Options) { o.SignIn = k })
	tok := tokens.Token{Name: "ann@example.com", Role: tokens.Viewer, ExpiresAt: time.Now().Add(time.Hour), SignedIn: k.Key()}
	if ok, err := h.server.auth.Current(tok); !ok || err != nil {
		t.Errorf("a login is not good: %v", err)
	}
	other := open(t, func(o *Options) { o.SignIn = &knower{name: "https://other.example"} })
	none := open(t, nil)
	for _, h := range []*testServer{other, none} {
		if ok, _ := h.server.auth.Current(tok); ok {
			t.Error("a login by another provider is good")
		}
	}
	none.send(ask{method: "GET", path: "/login/begin", as: "-"}).refused(problem.CodeUnauthenticated)
	if a := none.send(ask{method: "GET", path: "/login", as: "-"}); strings.Contains(string(a.body), "/login/begin") {
		t.Error("the login page names a provider that is not there")
	}
}
