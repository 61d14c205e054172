package server

import (
	"context"
	"encoding/base64"
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
	p := *k.person
	if p.Issuer == "" && p.Subject == "" {
		p.Issuer, p.Subject = k.name, p.Name
	}
	return &p, nil
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
	own := strings.SplitN(strings.TrimPrefix(begin(), "posthouse_signin="), ".", 2)
	forged := base64.RawURLEncoding.EncodeToString([]byte(`{"id":"x","at":"`+now.UTC().Format(time.RFC3339)+`","kept":"s1"}`)) + "." + own[1]
	for name, c := range map[string]string{"no cookie": "x=y", "no base64": "posthouse_signin=!", "no JSON": "posthouse_signin=YWJj", "nothing kept": "posthouse_signin=e30", "used up": kept,
		"another's signature": "posthouse_signin=" + forged, "no signature": "posthouse_signin=" + strings.SplitN(strings.TrimPrefix(kept, "posthouse_signin="), ".", 2)[0]} {
		if a := visit("/login/callback?state=s1&code=c", c).want(http.StatusForbidden); cookie(a) != "" {
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

// TestOnePersonHasOneSpelling: who asked under one spelling does not approve under another, neither with the
// same account nor with another one, and not with a token.
func TestOnePersonHasOneSpelling(t *testing.T) {
	ann := &signin.Person{Issuer: "https://accounts.example", Subject: "7", Name: "ann@example.com", Role: tokens.Approver, Expires: time.Now().Add(time.Hour)}
	k := &knower{name: ann.Issuer, person: ann}
	h := open(t, func(o *Options) { o.SignIn = k })
	login := func(header ...string) (a *reply, session string) {
		t.Helper()
		set := h.send(ask{method: "GET", path: "/login/begin", as: "-", header: header}).want(http.StatusSeeOther).header.Get("Set-Cookie")
		pair, attributes, _ := strings.Cut(set, ";")
		if secure := len(header) > 0; secure != (strings.HasPrefix(pair, "__Host-") && strings.Contains(attributes, "Path=/;") && strings.Contains(attributes, "Secure") && !strings.Contains(attributes, "Domain")) {
			t.Errorf("the cookie is %s", set)
		}
		a = h.send(ask{method: "GET", path: "/login/callback?state=s1&code=c", as: "-", header: append(header, "Cookie: "+pair)})
		for _, set := range a.header.Values("Set-Cookie") {
			if pair, _, _ := strings.Cut(set, ";"); strings.HasPrefix(pair, "posthouse_session=") {
				session = pair
			}
		}
		return a, session
	}
	login()
	g := h.shows(posthouse.Gate{Name: "pay", Text: "Pay?", Payload: []byte(`{}`), RequestedBy: "ann@example.com"})
	gate := "/api/gates/" + string(g.ID) + "/approve"
	for _, name := range []string{"ann@example.com", "Ann@example.com", "ANN@EXAMPLE.COM", "\uff41nn@example.com", "ann.smith@example.com", "\u0430nn@example.com"} {
		k.person.Name = name
		a, session := login("X-Forwarded-Proto: https")
		if session == "" {
			t.Fatalf("%s does not log in: %s", name, a.body)
		}
		if a := h.send(ask{method: "POST", path: gate, as: "-", header: []string{"Cookie: " + session}}); a.status == http.StatusOK {
			t.Errorf("ann approves her own request as %s", name)
		}
	}
	k.person = &signin.Person{Issuer: ann.Issuer, Subject: "8", Name: "Ann@example.com", Role: tokens.Approver, Expires: ann.Expires}
	a, session := login()
	if session != "" || !strings.Contains(string(a.body), "posthouse people rebind Ann@example.com") {
		t.Errorf("another account gets the name: %s", a.body)
	}
	secret, err := h.tokens.Create("ANN@example.com", tokens.Approver, nil)
	if err == nil { // a token of that name is the same person
		h.secrets["spelled"] = secret
		h.send(ask{method: "POST", path: gate, as: "spelled"}).refused(posthouse.CodeForbidden)
	}
	h.send(ask{method: "POST", path: "/api/people/rebind", as: tokens.Approver, body: `{"name":"ann@example.com"}`}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "POST", path: "/api/people/rebind", body: `{"name":"nobody@example.com"}`}).refused(posthouse.CodeNotFound)
	h.send(ask{method: "POST", path: "/api/people/rebind", body: `{"name":"ann@example.com"}`}).want(http.StatusOK)
	if a, session := login(); session == "" {
		t.Errorf("after the name was freed: %s", a.body)
	}
}
