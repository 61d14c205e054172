package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/probe"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/ui"
)

var form = []string{"Content-Type: application/x-www-form-urlencoded"}

// login logs in with a browser's form and returns the cookie.
func (h *testServer) login(r tokens.Role) *http.Cookie {
	h.t.Helper()
	a := h.send(ask{method: "POST", path: "/login", as: "-", body: url.Values{"token": {" " + h.secrets[r] + "\n"}}.Encode(), header: form}).want(http.StatusSeeOther)
	cs := (&http.Response{Header: a.header}).Cookies()
	if len(cs) != 1 || a.header.Get("Location") != "/" {
		h.t.Fatalf("logging in answers %v", a.header)
	}
	return &http.Cookie{Name: cs[0].Name, Value: cs[0].Value}
}

func TestLogin(t *testing.T) {
	now := time.Unix(1700000000, 0)
	h := open(t, func(o *Options) { o.Now = func() time.Time { return now } })
	h.send(ask{method: "GET", path: "/", as: "-"}).want(http.StatusOK) // it holds nothing: a link in a mail brings no cookie along
	a := h.send(ask{method: "GET", path: "/login?next=%2Fgates%2Fg%3Fx%3D1%23show", as: "-"}).want(http.StatusOK)
	if !strings.Contains(string(a.body), `action="/login"`) || !strings.Contains(string(a.body), `name="next" value="/gates/g?x=1#show"`) || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("the login page is %s", a.body)
	}
	a = h.send(ask{method: "POST", path: "/login", as: "-", body: "token=ph_%3Cscript%3E", header: form}).want(http.StatusUnauthorized)
	if strings.Contains(string(a.body), "ph_") || !strings.Contains(string(a.body), `role="alert"`) || a.header.Get("Set-Cookie") != "" {
		t.Errorf("a wrong token is answered %s", a.body)
	}
	a = h.send(ask{method: "POST", path: "/login", as: "-", body: "token=" + h.secrets[tokens.Approver], header: form}).want(http.StatusSeeOther)
	set := a.header.Get("Set-Cookie")
	if !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") || !strings.Contains(set, "Path=/") || strings.Contains(set, h.secrets[tokens.Approver]) {
		t.Errorf("the cookie is %s", set)
	}
	proxied := append([]string{"X-Forwarded-Proto: https"}, form...)
	a = h.send(ask{method: "POST", path: "/login", as: "-", body: "token=" + h.secrets[tokens.Approver], header: proxied}).want(http.StatusSeeOther)
	if strings.Contains(set, "Secure") || !strings.Contains(a.header.Get("Set-Cookie"), "; Secure") {
		t.Errorf("without TLS the cookie is %s, and behind a proxy with TLS %s", set, a.header.Get("Set-Cookie"))
	}
	cookie := h.login(tokens.Approver)
	with := func(method, path string, header ...string) *reply {
		t.Helper()
		return h.send(ask{method: method, path: path, as: "-", header: append(header, "Cookie: "+cookie.String())})
	}
	if a := with("GET", "/").want(http.StatusOK); !strings.Contains(string(a.body), "/assets/index-") {
		t.Errorf("/ is %s", a.body)
	}
	with("GET", "/docs/api").want(http.StatusOK)
	with("GET", "/hidden.js").want(http.StatusOK)
	_, g := h.waiting("t1")
	with("POST", "/api/gates/"+string(g.ID)+"/reject").want(http.StatusOK)
	with("DELETE", "/api/threads/t1").refused(posthouse.CodeForbidden) // the token's role
	with("POST", "/api/gates/"+string(g.ID)+"/reject", "Origin: https://evil.example").refused(posthouse.CodeForbidden)
	with("GET", "/api/gates", "Authorization: Bearer wrong").refused(problem.CodeUnauthenticated) // no second way in
	a = with("POST", "/logout").want(http.StatusSeeOther)
	if !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logging out sets %s", a.header.Get("Set-Cookie"))
	}
	with("GET", "/api/gates").refused(problem.CodeUnauthenticated)

	cookie = h.login(tokens.Viewer)
	with("GET", "/api/gates").want(http.StatusOK)
	now = now.Add(12 * time.Hour)
	with("GET", "/api/gates").refused(problem.CodeUnauthenticated)
	cookie = h.login(tokens.Viewer)
	must.Do(t, h.tokens.Revoke("viewer-token", nil))
	with("GET", "/api/gates").refused(problem.CodeUnauthenticated)

	h.send(ask{method: "POST", path: "/login", as: "-", body: strings.Repeat("a", 2<<20), header: form}).refused(posthouse.CodeTooLarge)
	h.send(ask{method: "POST", path: "/login", as: "-", body: "token=%zz", header: form}).refused(posthouse.CodeInvalid)
	h.send(ask{method: "POST", path: "/login", as: "-", body: `{"token":"x"}`}).refused(problem.CodeMediaType)
}

// TestNoSuchAddress: a browser gets the application under an unknown address, a program its problem.
func TestNoSuchAddress(t *testing.T) {
	h := open(t, nil)
	const browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"
	for _, as := range []tokens.Role{"-", tokens.Viewer} {
		for _, path := range []string{"/nope", "/threads/a/b", "/threads/a/b?x=1"} {
			a := h.send(ask{method: "GET", path: path, as: as, header: []string{browser}}).want(http.StatusNotFound)
			if !strings.Contains(string(a.body), "/assets/index-") || a.header.Get("Content-Security-Policy") == "" || a.header.Get("ETag") != "" {
				t.Errorf("%s answers %v %.200s", path, a.header, a.body)
			}
		}
	}
	h.send(ask{method: "GET", path: "/nope", as: "-"}).refused(problem.CodeUnauthenticated)
	h.send(ask{method: "GET", path: "/nope"}).refused(posthouse.CodeNotFound)
	h.send(ask{method: "GET", path: "/api/nope", header: []string{browser}}).refused(posthouse.CodeNotFound)
	h.send(ask{method: "POST", path: "/nope", header: []string{browser}}).refused(posthouse.CodeNotFound)
	h.send(ask{method: "GET", path: "/assets/nope.js", as: "-", header: []string{browser}}).refused(posthouse.CodeNotFound)
}

// TestLoginLeadsBack to the path of this server that was asked for, and nowhere else.
func TestLoginLeadsBack(t *testing.T) {
	h := open(t, nil)
	for next, want := range map[string]string{
		"": "/", "/gates/g-1?x=1#show": "/gates/g-1?x=1#show", "/docs": "/docs",
		"https://evil.example/": "/", "//evil.example/": "/", "/\\evil.example/": "/", "/\tevil": "/", "javascript:alert(1)": "/", "gates": "/", "/%2Fevil.example": "/",
		"/login": "/", "/login/begin": "/", "/logout": "/", "/a\r\nSet-Cookie: x": "/", "/" + strings.Repeat("a", 3000): "/", "/%zz": "/",
	} {
		body := url.Values{"token": {h.secrets[tokens.Viewer]}, "next": {next}}.Encode()
		a := h.send(ask{method: "POST", path: "/login", as: "-", body: body, header: form}).want(http.StatusSeeOther)
		if got := a.header.Get("Location"); got != want {
			t.Errorf("%.60q leads to %.60q, want %.60q", next, got, want)
		}
	}
}

// TestPagesKeepThePolicy reads the embedded files: what the policy forbids
// would fail in the browser only.
func TestPagesKeepThePolicy(t *testing.T) {
	entries, err := ui.Files.ReadDir(".")
	must.Do(t, err)
	onEvent := regexp.MustCompile(`(?i)\son[a-z]+\s*=\s*"`)
	inline := regexp.MustCompile(`<script(?: [^>]*)?>[^<]|<script>`)
	for _, e := range entries {
		data, err := ui.Files.ReadFile(e.Name())
		must.Do(t, err)
		text := strings.ReplaceAll(string(data), `xmlns="http://www.w3.org/2000/svg"`, "")
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "http://", "https://", "//cdn", "localStorage", "sessionStorage", "style=", "<style", "javascript:"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", e.Name(), bad)
			}
		}
		if strings.HasSuffix(e.Name(), ".html") && (onEvent.MatchString(text) || inline.MatchString(text)) {
			t.Errorf("%s has a script inline", e.Name())
		}
	}
	h := open(t, nil)
	for _, path := range []string{"/", "/docs/api", "/docs/api.js", "/docs/api.css", "/gates/gate-x", "/decide/gate-x", "/hidden.js", "/weak.js", "/login/icon.svg"} {
		a := h.get(path).want(http.StatusOK)
		if a.header.Get("X-Frame-Options") != "DENY" || !strings.Contains(a.header.Get("Content-Security-Policy"), "object-src 'none'") {
			t.Errorf("%s: a.header %v", path, a.header)
		}
		if tag := a.header.Get("ETag"); tag != "" {
			h.send(ask{method: "GET", path: path, header: []string{"If-None-Match: " + tag}}).want(http.StatusNotModified)
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	now := time.Unix(1700000000, 0)
	asked, failure := 0, error(nil)
	h := open(t, func(o *Options) { o.Now = func() time.Time { return now } })
	h.send(ask{method: "GET", path: "/readyz", as: "-"}).want(http.StatusOK)
	p := resourceOf[*probe.Probes](h)
	ready := p.Ready
	must.Do(t, ready(t.Context()))
	p.Ready = nil
	h.send(ask{method: "GET", path: "/readyz", as: "-"}).want(http.StatusOK) // remembered
	p.Ready, p.Weak = h.countedProbe(&asked, &failure), nil
	now = now.Add(time.Second)
	for range 10 {
		h.send(ask{method: "GET", path: "/readyz", as: "-"}).want(http.StatusOK)
	}
	if asked != 1 {
		t.Errorf("the store was asked %d times in a second", asked)
	}
	failure = &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "fsync /secret/path failed"}
	now = now.Add(time.Second)
	a := h.send(ask{method: "GET", path: "/readyz", as: "-"})
	a.refused(posthouse.CodeReadOnly)
	if strings.Contains(string(a.body), "secret") || !strings.Contains(h.log.String(), "/secret/path") {
		t.Errorf("it says %s", a.body)
	}
	failure = os.ErrPermission
	now = now.Add(time.Second)
	h.send(ask{method: "GET", path: "/readyz", as: "-"}).refused(problem.CodeInternal)
	for _, failure = range []error{posthouse.ErrUnavailable, posthouse.ErrUnknown, context.DeadlineExceeded, posthouse.ErrBusy} {
		now = now.Add(time.Second)
		a := h.send(ask{method: "GET", path: "/readyz", as: "-"})
		if a.refused(posthouse.CodeUnavailable); !strings.Contains(string(a.body), "does not answer") || a.header.Get("Retry-After") == "" {
			t.Errorf("%v: it says %s", failure, a.body)
		}
	}
	failure = nil
	p.Weak = func(context.Context) ([]string, error) { return []string{"it forgets"}, nil }
	now = now.Add(time.Second)
	if a := h.send(ask{method: "GET", path: "/readyz", as: "-"}); !strings.Contains(string(a.want(http.StatusOK).body), `"weak":["it forgets"]`) {
		t.Errorf("it says %s", a.body)
	}
	h.send(ask{method: "GET", path: "/healthz", as: "-"}).want(http.StatusOK)

	must.Do(t, h.store.Close())
	now = now.Add(time.Second)
	p.Ready = ready
	h.send(ask{method: "GET", path: "/readyz", as: "-"}).refused(posthouse.CodeClosed)
	h.send(ask{method: "GET", path: "/healthz", as: "-"}).want(http.StatusOK)
}

// TestReadinessNamesWeakStores asks servers over stores that are set to lose acknowledged
// writes, and over one that is not.
func TestReadinessNamesWeakStores(t *testing.T) {
	sqlite := func(sync sqlitestore.Sync) (posthouse.Store, error) {
		return sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), &sqlitestore.Options{Sync: sync})
	}
	for name, c := range map[string]struct {
		open func() (posthouse.Store, error)
		want string
	}{
		"sqlite, normal": {func() (posthouse.Store, error) { return sqlite(sqlitestore.SyncNormal) }, "SyncNormal"},
		"sqlite, full":   {func() (posthouse.Store, error) { return sqlite(sqlitestore.SyncFull) }, ""},
		"postgres": {func() (posthouse.Store, error) {
			return pgstore.Open(t.Context(), pgtest.URL(t)+"&synchronous_commit=off", &pgstore.Options{Schema: "weak", AllowWeak: true})
		}, "synchronous_commit is off"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := c.open()
			must.Do(t, err)
			led, err := ledger.Open(store, nil)
			must.Do(t, err)
			t.Cleanup(func() { must.Do(t, led.Close()); must.Do(t, store.Close()) })
			h := open(t, func(o *Options) { o.Ledger, o.Tasks, o.Runner, o.Agents = led, nil, nil, nil })
			var ready struct{ Weak []string }
			must.Do(t, json.Unmarshal(h.send(ask{method: "GET", path: "/readyz", as: "-"}).want(http.StatusOK).body, &ready))
			if (len(ready.Weak) > 0) != (c.want != "") || c.want != "" && !strings.Contains(ready.Weak[0], c.want) {
				t.Errorf("it says %q", ready.Weak)
			}
		})
	}
}

// TestPathsThatEndInASlash lead to the page that is meant, and to no other host; what is no page stays an error.
func TestPathsThatEndInASlash(t *testing.T) {
	h := open(t, nil)
	for path, want := range map[string]string{"/threads/?status=failed": "/threads?status=failed", "/docs/": "/docs", "/gates/g-1/": "/gates/g-1", "/login/?next=%2Fproof": "/login?next=%2Fproof"} {
		a := h.send(ask{method: "GET", path: path, as: "-"}).want(http.StatusPermanentRedirect)
		if to := a.header.Get("Location"); to != want || len(a.body) != 0 {
			t.Errorf("%s leads to %q, want %q", path, to, want)
		}
	}
	for _, path := range []string{"/api/threads/", "//evil.example/", "//evil.example/threads/", "/%5Cevil.example/", "/threads/../", "/threads//", "/nosuch/"} {
		a := h.send(ask{method: "GET", path: path}).want(http.StatusBadRequest)
		if to := a.header.Get("Location"); to != "" {
			t.Errorf("%s leads to %q", path, to)
		}
	}
	h.send(ask{method: "GET", path: "/threads/", host: "evil.example"}).refused(problem.CodeHost)
	h.send(ask{method: "POST", path: "/threads/", body: "{}"}).want(http.StatusBadRequest)
}
