package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/tokens"
)

// example fills a route's path in.
func example(r *route) string {
	p := strings.NewReplacer("{id}", "some-id", "{agent}", "dispatch", "{name}", "dispatch", "{signal}", "go", "{version}", "1", "{$}", "").Replace(r.path)
	return p
}

// TestNothingAnswersWithoutAToken walks the table: whatever is not on this list
// says 401 and nothing else, whatever the token that is no good.
func TestNothingAnswersWithoutAToken(t *testing.T) {
	public := map[string]bool{
		"GET /healthz": true, "GET /readyz": true, "GET /openapi.json": true,
		"GET /login": true, "POST /login": true, "GET /login/style.css": true, "GET /login/icon.svg": true,
	}
	h := open(t, nil)
	h.saved("thread-with-a-secret", `"canary-state"`)
	seen := 0
	for _, r := range h.server.routes {
		name := r.method + " " + r.path
		if public[name] {
			seen++
			if r.role != "" {
				t.Errorf("%s is public and asks for the role %s", name, r.role)
			}
			continue
		}
		if r.role == "" {
			t.Errorf("%s answers without a token", name)
		}
		for _, header := range [][]string{
			nil,
			{"Authorization: Bearer ph_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
			{"Authorization: Bearer"},
			{"Authorization: Basic b3BlcmF0b3I6b3BlcmF0b3I="},
			{"Authorization: " + h.secrets[tokens.Operator]},
			{"Cookie: posthouse_session=" + h.secrets[tokens.Operator]},
			{"Cookie: posthouse_session="},
		} {
			a := h.send(ask{method: r.method, path: example(r), as: "-", header: header})
			if a.status != http.StatusUnauthorized {
				t.Errorf("%s with %v answers %d: %s", name, header, a.status, a.body)
			}
			if r.style != page || r.method != "GET" {
				a.refused(CodeUnauthenticated)
			}
			if strings.Contains(string(a.body), "canary") || strings.Contains(string(a.body), "thread-with") {
				t.Errorf("%s tells: %s", name, a.body)
			}
		}
	}
	if seen != len(public) {
		t.Errorf("%d of %d public routes are in the table", seen, len(public))
	}
	for _, path := range []string{"/nothing", "/api", "/api/nothing", "/index.html", "/ui/index.html", "/login.html", "/debug/pprof/", "/metrics"} {
		a := h.send(ask{method: "GET", path: strings.TrimSuffix(path, "/"), as: "-"})
		a.refused(CodeUnauthenticated)
	}
	for _, m := range []string{"PUT", "PATCH", "OPTIONS", "TRACE", "BREW"} {
		h.send(ask{method: m, path: "/healthz", as: "-"}).refused(CodeUnauthenticated)
	}
}

// TestRoles walks the table with each role.
func TestRoles(t *testing.T) {
	h := open(t, nil)
	for _, r := range h.server.routes {
		if r.role == "" {
			continue
		}
		for _, role := range []tokens.Role{tokens.Viewer, tokens.Approver, tokens.Operator} {
			if role.May(r.role) || r.style == socket {
				continue
			}
			p := h.send(ask{method: r.method, path: example(r), as: role}).refused(posthouse.CodeForbidden)
			if !strings.Contains(p.Detail, string(r.role)) {
				t.Errorf("%s %s as %s: %s", r.method, r.path, role, p.Detail)
			}
		}
	}
	for _, c := range []struct {
		role tokens.Role
		what []string
	}{
		{tokens.Viewer, []string{"GET /api/checkpoints", "GET /api/gates", "GET /api/threads", "GET /api/events", "GET /api/diff", "GET /api/threads/{id}/log"}},
		{tokens.Approver, []string{"POST /api/gates/{id}/approve", "POST /api/checkpoints/{id}/reject", "POST /api/gates/{id}/cancel", "POST /api/threads/{id}/signals/{signal}"}},
		{tokens.Operator, []string{"POST /api/agents/{agent}", "GET /agent/{agent}", "DELETE /api/threads/{id}", "POST /api/threads/{id}/cancel", "POST /api/checkpoints/{id}/fork", "POST /api/checkpoints/{id}/resume", "POST /api/gates/{id}/resume", "POST /api/gates/{id}/replay", "DELETE /api/coordinations/{name}"}},
	} {
		for _, what := range c.what {
			if r := find(h, what); r == nil || r.role != c.role {
				t.Errorf("%s is not for %s", what, c.role)
			}
		}
	}
}

func find(h *house, what string) *route {
	for _, r := range h.server.routes {
		if r.method+" "+r.path == what {
			return r
		}
	}
	return nil
}

// TestUnknownParametersAndIDs sends each route what it does not take.
func TestUnknownParametersAndIDs(t *testing.T) {
	h := open(t, nil)
	for _, r := range h.server.routes {
		if r.style == socket || r.role == "" && r.method == "POST" {
			continue
		}
		a := h.send(ask{method: r.method, path: example(r) + "?brnach=main&secret=canary"})
		p := a.refused(posthouse.CodeInvalid)
		if p.Field != "brnach" && p.Field != "secret" || strings.Contains(string(a.body), "canary") {
			t.Errorf("%s %s: %s", r.method, r.path, a.body)
		}
		if strings.Contains(r.path, "{id}") && r.style != page { // what a page is about is asked for by its script
			pattern := strings.Replace(r.path, "{version}", "1", 1)
			for _, id := range []string{"unknown", "gate-unknown", "run:7$x._-"} {
				h.send(ask{method: r.method, path: strings.Replace(pattern, "{id}", id, 1)}).refused(posthouse.CodeNotFound)
			}
			odd, field := []string{"a%20b", "%c3%a4", "a%27%29%20OR%201=1--", "%2a", "%3e", "a~b", "a%2fb"}, "id"
			bad := []string{"a%0ab", strings.Repeat("a", 201), "%ff", "%c2%85"} // "a%2" no client can send; see TestRawPaths
			if name := nameOf(r.path, "id"); name != "" {
				field = name
				for _, id := range odd {
					h.send(ask{method: r.method, path: strings.Replace(pattern, "{id}", id, 1)}).refused(posthouse.CodeNotFound)
				}
			} else {
				bad = append(bad, odd...)
			}
			for _, id := range bad {
				path := strings.Replace(pattern, "{id}", id, 1)
				p := h.send(ask{method: r.method, path: path}).refused(posthouse.CodeInvalid)
				if p.Field != field {
					t.Errorf("%s %s blames %q", r.method, path, p.Field)
				}
			}
		}
		if r.body == nil && !r.form && r.method == "POST" {
			h.send(ask{method: r.method, path: example(r), body: `{"x":1}`}).refused(posthouse.CodeInvalid)
		}
	}
}

// TestBodies sends each route that takes JSON what is none.
func TestBodies(t *testing.T) {
	h := open(t, nil)
	cp, g := h.waiting("t1")
	for _, r := range h.server.routes {
		if r.body == nil {
			continue
		}
		id := string(cp)
		if strings.HasPrefix(r.path, "/api/gates") {
			id = string(g.ID)
		}
		path := strings.NewReplacer("{id}", id, "{agent}", "dispatch", "{signal}", "go", "{version}", "1").Replace(r.path)
		if strings.HasPrefix(r.path, "/api/threads") {
			path = strings.Replace(path, id, "t1", 1)
		}
		for _, bad := range []string{`{`, `[]`, `null`, `{"nonsense":1}`, `{"reason":"a","reason":"b"}`, "{\"reason\":\"\xff\"}",
			`{"value":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, `{"reason":"\ud800"}`} {
			if _, any := r.body.(json.RawMessage); any && (bad == "[]" || bad == "null" || strings.Contains(bad, "nonsense")) {
				continue // any JSON will do
			}
			h.send(ask{method: r.method, path: path, body: bad}).refused(posthouse.CodeInvalid)
		}
		h.send(ask{method: r.method, path: path, body: "message=x", header: []string{"Content-Type: application/x-www-form-urlencoded"}}).refused(CodeMediaType)
		h.send(ask{method: r.method, path: path, body: "{}", header: []string{"Content-Type: text/plain"}}).refused(CodeMediaType)
		h.send(ask{method: r.method, path: path, body: "{}", header: []string{"Content-Type: "}}).refused(CodeMediaType)
		limit := h.server.limits.Body
		if r.state {
			limit = h.server.limits.State
		}
		big := `{"message":"` + strings.Repeat("a", int(limit)) + `"}`
		h.send(ask{method: r.method, path: path, body: big}).refused(posthouse.CodeTooLarge)
	}
	if n := h.program.count(); n != 0 {
		t.Errorf("bad bodies had %d effects", n)
	}
	if got, err := h.ledger.Gate(t.Context(), g.ID); err != nil || got.Decision != nil {
		t.Errorf("a bad body decided the gate: %v, %v", got, err)
	}
}

func TestMethodsAndPaths(t *testing.T) {
	h := open(t, nil)
	for path, allow := range map[string]string{
		"/api/checkpoints": "GET", "/api/checkpoints/x": "DELETE, GET", "/login": "GET, POST", "/": "GET", "/api/gates/x/approve": "POST",
	} {
		a := h.send(ask{method: "PUT", path: path})
		a.refused(CodeMethod)
		if a.header.Get("Allow") != allow {
			t.Errorf("%s allows %q, want %q", path, a.header.Get("Allow"), allow)
		}
	}
	h.get("/api/nothing").refused(posthouse.CodeNotFound)
	if a := h.send(ask{method: "HEAD", path: "/api/gates"}).want(http.StatusOK); len(a.body) != 0 {
		t.Error("HEAD has a body")
	}
}

func TestOpenAPIHasEveryRoute(t *testing.T) {
	h := open(t, nil)
	a := h.send(ask{method: "GET", path: "/openapi.json", as: "-"}).want(http.StatusOK)
	var d struct {
		OpenAPI string `json:"openapi"`
		Info    struct{ Title, Version string }
		Paths   map[string]map[string]struct {
			Summary     string
			OperationID string
			Parameters  []struct{ Name, In string }
			RequestBody json.RawMessage
			Responses   map[string]json.RawMessage
			Security    []json.RawMessage
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	a.into(&d)
	if d.OpenAPI != "3.1.0" || d.Info.Version != "test" || d.Info.Title == "" {
		t.Errorf("the document is %s %+v", d.OpenAPI, d.Info)
	}
	seen, names := 0, map[string]bool{}
	for _, r := range h.server.routes {
		op, ok := d.Paths[strings.TrimSuffix(r.path, "{$}")][strings.ToLower(r.method)]
		if !ok {
			t.Errorf("%s %s is not described", r.method, r.path)
			continue
		}
		seen++
		if op.Summary == "" || op.OperationID == "" || names[op.OperationID] {
			t.Errorf("%s %s has the operation %q and the summary %q", r.method, r.path, op.OperationID, op.Summary)
		}
		names[op.OperationID] = true
		want := strings.Count(r.path, "{") - strings.Count(r.path, "{$}") + len(r.query)
		if len(op.Parameters) != want || (op.RequestBody != nil) != (r.body != nil || r.form) {
			t.Errorf("%s %s has %d parameters, want %d; body %s", r.method, r.path, len(op.Parameters), want, op.RequestBody)
		}
		if (r.role == "") != (op.Security != nil) || len(op.Responses) != 1+len(statusesOf(r)) {
			t.Errorf("%s %s: security %s, responses %v", r.method, r.path, op.Security, op.Responses)
		}
	}
	total := 0
	for _, item := range d.Paths {
		total += len(item)
	}
	if total != seen {
		t.Errorf("%d operations are described, the table has %d", total, seen)
	}
	// Every reference leads somewhere.
	for _, ref := range strings.Split(string(a.body), `"$ref":"`)[1:] {
		ref, _, _ = strings.Cut(ref, `"`)
		if name, ok := strings.CutPrefix(ref, "#/components/schemas/"); ok && d.Components.Schemas[name] == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	}
}

func statusesOf(r *route) map[int]bool {
	m := map[int]bool{}
	for _, a := range r.answers {
		m[a.status] = true
	}
	return m
}

func TestParseQuery(t *testing.T) {
	params := []param{
		{name: "text", kind: textParam}, {name: "id", kind: idParam}, {name: "n", kind: intParam, max: 10}, {name: "any", kind: intParam},
		{name: "yes", kind: boolParam}, {name: "at", kind: timeParam}, {name: "one", kind: enumParam, values: []string{"a", "b"}},
		{name: "hash", kind: hashParam}, {name: "body", kind: bodyParam},
	}
	for _, good := range []string{
		"", "text=a+b%20c", "id=run:7", "n=1", "n=10", "any=0", "yes=true", "at=2026-01-31T12:00:00Z", "at=1700000000000",
		"at=2026-01-31T12:00:00.5%2B02:00", "one=b", "body=a%0Ab", "n=", "hash=" + strings.Repeat("0a", 32),
	} {
		if _, err := parseQuery(good, params); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for bad, field := range map[string]string{
		"nope=1": "nope", "n=1&n=2": "n", "n=0": "n", "n=11": "n", "n=-1": "n", "n=x": "n", "n=1e3": "n", "any=99999999999999999999": "any",
		"text=%00": "text", "text=%0a": "text", "text=%ff": "text", "id=a/b": "id", "id=%C3%A4": "id", "yes=1": "yes", "at=yesterday": "at", "at=-5": "at",
		"one=c": "one", "hash=zz": "hash", "%zz=1": "query", "a;b": "query", "text=" + strings.Repeat("a", 1001): "text", "%ff=1": "query",
	} {
		_, err := parseQuery(bad, params)
		if err == nil {
			t.Errorf("%q is accepted", bad)
			continue
		}
		if e := clientError(err); e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%q: %v blames %q, want %q", bad, err, e.Field, field)
		}
	}
	if _, err := parseQuery(strings.Repeat("a", 1<<16+1), params); clientError(err).Code != posthouse.CodeTooLarge {
		t.Errorf("a long query: %v", err)
	}
}
