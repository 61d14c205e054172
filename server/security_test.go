package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/seldom"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/probe"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

func TestHost(t *testing.T) {
	h := open(t, func(o *Options) { o.AllowedHosts = []string{"Posthouse.example", "box:8095", "[fd00::1]"} })
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:1": true, "LOCALHOST:8095": true, "127.0.0.1": true, "127.0.0.1:9": true, "127.8.9.1": true, "[::1]": true, "[::1]:8095": true,
		"posthouse.example": true, "posthouse.example:8443": true, "box:8095": true, "[fd00::1]:80": true,
		"evil.example": false, "localhost.evil.example": false, "localhost.": false, "box": false, "box:80": false, "127.0.0.1.evil.example": false, "0.0.0.0": false, "[fd00::2]": false,
		"[::1": false, "localhost:1:2": false, "10.0.0.1": false,
		"127.0.0.1:8095.evil": false, "localhost:": true, "localhost:x": false, "localhost:-1": false, "localhost:+1": false, "[::1]:8095x": false, "[::1]:": true, "posthouse.example:x": false, "posthouse.example:99999": false,
	} {
		a := h.send(ask{method: "GET", path: "/openapi.json", host: host})
		if (a.status == http.StatusOK) != ok {
			t.Errorf("Host %q: %d", host, a.status)
		}
		if !ok && a.status != http.StatusBadRequest { // net/http refuses some by itself
			a.refused(problem.CodeHost)
		}
	}
	for _, bad := range []string{"", "*", "*.example", "https://x", "a b"} {
		if _, err := New(Options{Ledger: h.ledger, Tokens: h.tokens, AllowedHosts: []string{bad}}); err == nil {
			t.Errorf("AllowedHosts takes %q", bad)
		}
	}
}

// TestProbesAnswerForEveryHost sends what orchestrators and load balancers send: the
// address of the container, or a name of their own.
func TestProbesAnswerForEveryHost(t *testing.T) {
	h := open(t, nil)
	for _, host := range []string{"10.1.2.3:8095", "10.1.2.3", "[fd00::2]:8095", "posthouse.svc.cluster.local", "0.0.0.0"} {
		for _, path := range []string{"/healthz", "/readyz", "/version"} {
			h.send(ask{method: "GET", path: path, host: host, as: "-"}).want(http.StatusOK)
			if a := h.send(ask{method: "HEAD", path: path, host: host, as: "-"}); a.status != http.StatusOK {
				t.Errorf("HEAD %s for %s: %d", path, host, a.status)
			}
			h.send(ask{method: "POST", path: path, host: host}).refused(problem.CodeHost)
			h.send(ask{method: "GET", path: path, host: host, header: []string{"Origin: https://evil.example"}}).refused(posthouse.CodeForbidden)
		}
		h.send(ask{method: "GET", path: "/api/gates", host: host}).refused(problem.CodeHost)
		h.send(ask{method: "GET", path: "/", host: host}).refused(problem.CodeHost)
		h.send(ask{method: "GET", path: "/healthz/x", host: host}).refused(problem.CodeHost)
	}
}

// TestRefusedTokensAreLogged tries every way in with a wrong token. The log says so at
// its default level, says where from, and never what was sent.
func TestRefusedTokensAreLogged(t *testing.T) {
	log := &lockedBuffer{}
	h := open(t, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	now := time.Unix(1700000000, 0)
	h.server.auth.Refused = seldom.New(h.server.log, func() time.Time { return now })
	lines := func() int { return strings.Count(log.String(), "an access token was refused") }
	wants := func(n int, what string) {
		t.Helper()
		if got := lines(); got != n {
			t.Errorf("%s: %d lines, want %d:\n%s", what, got, n, log.String())
		}
	}
	h.send(ask{method: "GET", path: "/api/gates", as: "-"}).refused(problem.CodeUnauthenticated)
	wants(0, "without a token")
	h.send(ask{method: "GET", path: "/api/gates", as: "-", header: []string{"Authorization: Bearer wrong-secret"}}).refused(problem.CodeUnauthenticated)
	wants(1, "a header")
	h.send(ask{method: "GET", path: "/api/gates", as: "-", header: []string{"Authorization: Basic wrong-secret"}}).refused(problem.CodeUnauthenticated)
	wants(2, "another scheme")
	h.send(ask{method: "POST", path: "/login", as: "-", body: "token=wrong-secret", header: []string{"Content-Type: application/x-www-form-urlencoded"}})
	wants(3, "the login page")
	ws := h.mustDial("/agent/dispatch", nil)
	ws.say(`{"token":"wrong-secret"}`)
	ws.want("error")
	wants(4, "a WebSocket's message")
	for range 100 {
		h.send(ask{method: "GET", path: "/api/gates", as: "-", header: []string{"Authorization: Bearer wrong-secret"}}).refused(problem.CodeUnauthenticated)
	}
	wants(seldom.PerSecond, "a hundred more in a second")
	now = now.Add(time.Second)
	h.send(ask{method: "GET", path: "/api/gates", as: "-", header: []string{"Authorization: Bearer wrong-secret"}}).refused(problem.CodeUnauthenticated)
	wants(seldom.PerSecond+1, "in the next second")
	for _, want := range []string{"level=WARN", "from=127.0.0.1:", "more=94"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "wrong-secret") {
		t.Errorf("the log shows what was sent:\n%s", log.String())
	}
}

// TestForeignPagesAreRefused walks the table as a browser on a foreign page
// would, and as one after its DNS was rebound.
func TestForeignPagesAreRefused(t *testing.T) {
	h := open(t, nil)
	for _, r := range h.server.routes {
		path := example(r)
		for _, header := range [][]string{
			{"Origin: https://evil.example"},
			{"Origin: null"},
			{"Origin: http://localhost:1"},
			{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"},
			{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"},
			{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"},
		} {
			h.send(ask{method: r.Method, path: path, header: header}).refused(posthouse.CodeForbidden)
		}
		a := h.send(ask{method: r.Method, path: path, header: []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}})
		if r.Method != "GET" || strings.HasPrefix(path, "/api/") {
			a.refused(posthouse.CodeForbidden)
		}
		if rebound := h.send(ask{method: r.Method, path: path, host: "rebound.evil.example"}); path != probe.LivePath && path != probe.ReadyPath && path != "/version" && path != "/metrics" {
			rebound.refused(problem.CodeHost)
		}
		for name := range a.header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s %s answers %s", r.Method, path, name)
			}
		}
	}
	own := "Origin: " + h.http.URL
	h.send(ask{method: "GET", path: "/api/gates", header: []string{own, "Sec-Fetch-Site: same-origin"}}).want(http.StatusOK)
	h.send(ask{method: "POST", path: "/api/agents/dispatch", body: `{"message":"x"}`, header: []string{own, "Sec-Fetch-Site: same-origin"}}).want(http.StatusOK)
}

// TestRawPaths sends what no client library would.
func TestRawPaths(t *testing.T) {
	h := open(t, nil)
	cp, _ := h.waiting("t1")
	for _, path := range []string{
		"/api/threads/%2e%2E", "/api/threads/%2e/log", "/api/checkpoints/a%00",
		"/api//gates", "/api/../api/gates", "/api/./gates", "/api/gates/", "//api/gates", "/api/checkpoints/%2e%2e", "/api/checkpoints/" + string(cp) + "/../" + string(cp),
	} {
		status, body := h.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + h.secrets[tokens.Operator] + "\r\n\r\n")
		if status != http.StatusBadRequest || !strings.Contains(body, `"path`) {
			t.Errorf("%s answers %d: %s", path, status, body)
		}
	}
	for _, path := range []string{"/api/checkpoints/x%2fapprove", "/api/checkpoints/%2e%2e%2f", "/api/checkpoints/a%5cb", "/api/threads/t1/releases/..%2f..", "/api/threads/a%0a", "/api/threads/a%c2%85", "/api/threads/caf%e9"} { // no ids, no names
		status, body := h.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + h.secrets[tokens.Operator] + "\r\n\r\n")
		if status != http.StatusBadRequest || !strings.Contains(body, `"id"`) && !strings.Contains(body, `"version"`) && !strings.Contains(body, `"thread"`) {
			t.Errorf("%s answers %d: %s", path, status, body)
		}
	}
	for line, want := range map[string]int{
		"GET /api/checkpoints/a%2 HTTP/1.1":   http.StatusBadRequest,
		"GET http://evil.example/ HTTP/1.1":   http.StatusMisdirectedRequest,
		"OPTIONS * HTTP/1.1":                  http.StatusBadRequest,
		"GET /healthz?a=%zz HTTP/1.1":         http.StatusBadRequest,
		"GET /api/checkpoints/\x01x HTTP/1.1": http.StatusBadRequest,
	} {
		if status, body := h.raw(line + "\r\nHost: localhost\r\nConnection: close\r\n\r\n"); status != want {
			t.Errorf("%q answers %d: %s", line, status, body)
		}
	}
	if status, body := h.raw("GET /api/gates HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nAuthorization: Bearer " + h.secrets[tokens.Operator] + "\r\n\r\n"); status != 401 {
		t.Errorf("two Authorization headers answer %d: %s", status, body)
	}
}

func (h *testServer) raw(request string) (int, string) {
	h.t.Helper()
	conn, err := net.Dial("tcp", h.http.Listener.Addr().String())
	must.Do(h.t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, request)
	must.Do(h.t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must.Do(h.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must.Do(h.t, err)
	return resp.StatusCode, string(body)
}

func TestSecurityHeaders(t *testing.T) {
	h := open(t, nil)
	for _, r := range h.server.routes {
		if r.Style == api.Stream {
			continue
		}
		for _, as := range []tokens.Role{"-", tokens.Operator} {
			a := h.send(ask{method: r.Method, path: example(r), as: as})
			csp := a.header.Get("Content-Security-Policy")
			media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
			html := media == "image/svg+xml" || strings.HasPrefix(media, "text/") && media != "text/plain" // metrics load nothing
			if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Referrer-Policy") != "same-origin" ||
				!strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") || a.header.Get("X-Request-Id") == "" ||
				html && !strings.HasPrefix(csp, "default-src 'self';") || !html && !strings.HasPrefix(csp, "default-src 'none';") {
				t.Errorf("%s %s as %s: %v", r.Method, r.Path, as, a.header)
			}
			if a.header.Get("Server") != "" || a.header.Get("X-Powered-By") != "" {
				t.Errorf("%s %s names its software", r.Method, r.Path)
			}
		}
	}
}

// TestNothingSecretIsLogged plants canaries wherever a client can put them and
// looks for them in the log and in every answer that should not have them.
func TestNothingSecretIsLogged(t *testing.T) {
	h := open(t, nil)
	const canary = "canary-7f3a"
	h.saved("t1", `"`+canary+`-state"`)
	cp, g := h.waiting("t2")
	calls := []ask{
		{method: "GET", path: "/api/gates?token=" + canary},
		{method: "GET", path: "/api/gates?access_token=" + canary, as: "-"},
		{method: "GET", path: "/api/checkpoints?agent=" + canary},
		{method: "GET", path: "/api/nothing/" + canary},
		{method: "GET", path: "/api/gates", as: "-", header: []string{"Authorization: Bearer ph_" + canary}},
		{method: "GET", path: "/api/gates", as: "-", header: []string{"Authorization: Basic " + canary}},
		{method: "GET", path: "/api/gates", as: "-", header: []string{"Cookie: posthouse_session=" + canary}},
		{method: "POST", path: "/login", as: "-", body: "token=" + canary, header: []string{"Content-Type: application/x-www-form-urlencoded"}},
		{method: "POST", path: "/login", as: "-", body: `{"token":"` + canary + `"}`},
		{method: "POST", path: "/api/agents/dispatch", body: `{"message":"` + canary + `"}`},
		{method: "POST", path: "/api/agents/dispatch", body: `{"message":"` + canary + `"`},
		{method: "POST", path: "/api/gates/" + string(g.ID) + "/edit", body: `{"value":"` + canary + `","nonsense":1}`},
		{method: "POST", path: "/api/gates/" + string(g.ID) + "/approve", body: `{"reason":"` + canary + `","value":1}`},
		{method: "POST", path: "/api/gates/" + string(g.ID) + "/reject", body: `{"reason":"` + canary + `"}`},
		{method: "POST", path: "/api/gates/" + string(g.ID) + "/reject", body: `{"reason":"` + canary + `"}`},
		{method: "POST", path: "/api/checkpoints/" + string(cp) + "/fork?state=" + canary},
		{method: "GET", path: "/api/gates", header: []string{"X-Forwarded-For: " + canary, "User-Agent: " + canary, "Referer: http://x/" + canary}},
		{method: "GET", path: "/agent/dispatch", header: []string{"Sec-WebSocket-Protocol: posthouse.bearer." + canary}},
	}
	for _, c := range calls {
		a := h.send(c)
		if a.status >= 400 && a.status != 404 && strings.Contains(string(a.body), canary) && !strings.Contains(a.what, "/reject") {
			t.Errorf("%s answers %d with it: %s", a.what, a.status, a.body)
		}
	}
	h.program.settle = fmt.Errorf("dial /secret/%s: refused", "path")
	cp, _ = h.waiting("t3")
	p := h.post("/api/checkpoints/"+string(cp)+"/approve", "").refused(problem.CodeInternal)
	if p.Decision == nil || strings.Contains(p.Detail+p.Hint, "secret") {
		t.Errorf("an internal error tells: %+v", p)
	}
	log := h.log.String()
	if strings.Contains(log, canary) {
		t.Errorf("the log has it: %s", log)
	}
	for role, secret := range h.secrets {
		if strings.Contains(log, secret) {
			t.Errorf("the log has the token of %s", role)
		}
	}
	for _, want := range []string{`"actor":"operator-token"`, `"route":"/api/gates/{id}/reject"`, `"code":"decided"`, "/secret/path"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}

func TestPanicIsAProblemThatTellsNothing(t *testing.T) {
	h := open(t, nil)
	s := h.server
	for _, c := range []struct {
		name  string
		begin bool
	}{{"before", false}, {"after", true}} {
		t.Run(c.name, func(t *testing.T) {
			handler := s.middleware.wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.begin {
					w.WriteHeader(http.StatusOK)
				}
				panic("secret detail")
			}))
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost/healthz", nil)
			func() {
				defer func() {
					if p := recover(); (p == http.ErrAbortHandler) != c.begin {
						t.Errorf("it panics with %v", p)
					}
				}()
				handler.ServeHTTP(w, r)
			}()
			if !c.begin && (w.Code != 500 || strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), `"internal"`)) {
				t.Errorf("it answers %d %s", w.Code, w.Body)
			}
		})
	}
	if log := h.log.String(); !strings.Contains(log, "secret detail") || !strings.Contains(log, "security_test.go") {
		t.Error("the log does not say where")
	}
}

func TestDamagedTokensFileIs503(t *testing.T) {
	h := open(t, nil)
	secret := h.secrets[tokens.Operator]
	must.Do(t, os.WriteFile(filepath.Join(h.dir, tokens.File), []byte("damaged"), 0o600))
	p := h.get("/api/gates").refused(posthouse.CodeClosed)
	if strings.Contains(p.Detail+p.Hint, h.dir) {
		t.Errorf("it tells the path: %+v", p)
	}
	h.send(ask{method: "POST", path: "/login", as: "-", body: "token=" + secret, header: []string{"Content-Type: application/x-www-form-urlencoded"}}).refused(posthouse.CodeClosed)
	h.get("/healthz").want(http.StatusOK)
	if !strings.Contains(h.log.String(), tokens.File) {
		t.Error("the log does not say which file")
	}
}

func TestCheckListen(t *testing.T) {
	for _, c := range []struct {
		addr          string
		tls, insecure bool
		code          posthouse.Code
	}{
		{"127.0.0.1:8095", false, false, ""}, {"localhost:0", false, false, ""}, {"[::1]:80", false, false, ""}, {"127.1.2.3:1", false, false, ""},
		{":8095", false, false, posthouse.CodeForbidden}, {"0.0.0.0:8095", false, false, posthouse.CodeForbidden}, {"[::]:1", false, false, posthouse.CodeForbidden},
		{"192.168.1.5:8095", false, false, posthouse.CodeForbidden}, {"example.org:443", false, false, posthouse.CodeForbidden}, {"localhost.evil:1", false, false, posthouse.CodeForbidden},
		{"0.0.0.0:8095", true, false, ""}, {"0.0.0.0:8095", false, true, ""},
		{"8095", false, false, posthouse.CodeInvalid}, {"127.0.0.1", false, false, posthouse.CodeInvalid}, {"127.0.0.1:", true, true, posthouse.CodeInvalid}, {"", false, false, posthouse.CodeInvalid},
	} {
		err := CheckListen(c.addr, c.tls, c.insecure)
		if (err == nil) != (c.code == "") || err != nil && problem.Client(err).Code != c.code {
			t.Errorf("CheckListen(%q, %v, %v) is %v", c.addr, c.tls, c.insecure, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	h := open(t, nil)
	for field, o := range map[string]Options{
		"Ledger": {Tokens: h.tokens},
		"Tokens": {Ledger: h.ledger},
		"Agents": {Ledger: h.ledger, Tokens: h.tokens, Agents: map[string]Agent{"a\nb": h.program}},
		"Limits": {Ledger: h.ledger, Tokens: h.tokens, Limits: Limits{Wait: -1}},
	} {
		_, err := New(o)
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("without %s: %v", field, err)
		}
	}
	s, err := New(Options{Ledger: h.ledger, Tokens: h.tokens})
	must.Do(t, err)
	defer s.Close(t.Context())
	srv := s.HTTPServer("127.0.0.1:0")
	if srv.ReadHeaderTimeout == 0 || srv.ReadTimeout == 0 || srv.WriteTimeout <= s.timeout.Wait || srv.IdleTimeout == 0 || srv.MaxHeaderBytes == 0 {
		t.Errorf("a limit of the server is missing: %+v", srv)
	}
}

// TestEndlessBody sends far more than the limit, without saying so first.
func TestEndlessBody(t *testing.T) {
	h := open(t, nil)
	c := h.saved("t", "1")
	for _, path := range []string{"/api/agents/dispatch", "/api/checkpoints/" + string(c.ID) + "/fork"} {
		sent := &counting{}
		r := h.request(ask{method: "POST", path: path})
		r.Body, r.ContentLength = io.NopCloser(io.LimitReader(sent, 1<<30)), -1
		r.Header.Set("Content-Type", "application/json")
		resp, err := h.http.Client().Do(r)
		if err == nil {
			resp.Body.Close()
		}
		// The server may cut the connection before the client has read the answer.
		if err == nil && resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s answers %d", path, resp.StatusCode)
		}
		if n := sent.n.Load(); n > 64<<20 {
			t.Errorf("%s took %d bytes", path, n)
		}
	}
}

// TestABodyOverTheLimitIsAnswered sends all of it before it reads, as simple
// clients do: it gets the answer that says why, and no reset.
func TestABodyOverTheLimitIsAnswered(t *testing.T) {
	h := open(t, nil)
	r := h.request(ask{method: "POST", path: "/api/agents/dispatch", body: `"` + strings.Repeat("a", 7<<20)})
	r.Header.Set("Content-Type", "application/json")
	conn, err := net.Dial("tcp", r.URL.Host)
	must.Do(t, err)
	defer conn.Close()
	must.Do(t, r.Write(conn))
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	must.Do(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answers %d", resp.StatusCode)
	}
}

// counting is an endless JSON string.
type counting struct{ n atomic.Int64 }

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	if c.n.Add(int64(len(p))) == int64(len(p)) && len(p) > 0 {
		p[0] = '"'
	}
	return len(p), nil
}
