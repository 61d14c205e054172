package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// example fills a route's path in.
func example(r *api.Route) string {
	p := strings.NewReplacer("{id}", "some-id", "{agent}", "dispatch", "{program}", "dispatch", "{name}", "dispatch", "{signal}", "go", "{owner}", "alice", "{version}", "1", "{$}", "").Replace(r.Path)
	return p
}

// TestNothingAnswersWithoutAToken walks the table: whatever is not on this list
// says 401 and nothing else, whatever the token that is no good.
func TestNothingAnswersWithoutAToken(t *testing.T) {
	public := map[string]bool{
		"GET /healthz": true, "GET /readyz": true, "GET /openapi.json": true, "GET /version": true,
		"GET /login": true, "POST /login": true, "GET /login/icon.svg": true,
		"GET /decide/{id}": true,
		"GET /{$}":         true, "GET /gates/{id}": true, "GET /workers": true, "GET /proof": true, "GET /overview": true, "GET /settings": true,
		"GET /threads": true, "GET /threads/{id}": true, "GET /programs": true, "GET /programs/{program}": true, // they hold nothing
		"GET /docs": true, "GET /docs/{page}": true, "GET /docs/{section}/{page}": true, "GET /llms.txt": true, "GET /llms-full.txt": true,
		"GET /file": true, "GET /hidden.js": true, "GET /weak.js": true, "GET /assets/{file}": true,
	}
	h := open(t, nil)
	h.saved("thread-with-a-secret", `"canary-state"`)
	seen := 0
	for _, r := range h.server.routes {
		name := r.Method + " " + r.Path
		if public[name] {
			seen++
			if r.Role != "" {
				t.Errorf("%s is public and asks for the role %s", name, r.Role)
			}
			continue
		}
		if r.Role == "" && !r.Approval && !r.Signed {
			t.Errorf("%s answers without a token", name)
		}
		for _, header := range [][]string{
			nil,
			{"Authorization: Bearer ph_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
			{"Authorization: Bearer"},
			{"Authorization: Bearer " + tokens.NewApproval()},
			{"Authorization: Basic b3BlcmF0b3I6b3BlcmF0b3I="},
			{"Authorization: " + h.secrets[tokens.Operator]},
			{"Cookie: posthouse_session=" + h.secrets[tokens.Operator]},
			{"Cookie: posthouse_session="},
		} {
			a := h.send(ask{method: r.Method, path: example(r), as: "-", header: header})
			if a.status != http.StatusUnauthorized {
				t.Errorf("%s with %v answers %d: %s", name, header, a.status, a.body)
			}
			if r.Style != api.Page || r.Method != "GET" {
				a.refused(problem.CodeUnauthenticated)
			}
			if strings.Contains(string(a.body), "canary") || strings.Contains(string(a.body), "thread-with") {
				t.Errorf("%s tells: %s", name, a.body)
			}
		}
	}
	if seen != len(public) {
		t.Errorf("%d of %d public routes are in the table", seen, len(public))
	}
	for _, path := range []string{"/nothing", "/api", "/api/nothing", "/index.html", "/ui/index.html", "/login.html", "/debug/pprof/", "/metrics/x"} {
		a := h.send(ask{method: "GET", path: strings.TrimSuffix(path, "/"), as: "-"})
		a.refused(problem.CodeUnauthenticated)
	}
	for _, m := range []string{"PUT", "PATCH", "OPTIONS", "TRACE", "BREW"} {
		h.send(ask{method: m, path: "/healthz", as: "-"}).refused(problem.CodeUnauthenticated)
	}
}

// TestRoles walks the table with each role.
func TestRoles(t *testing.T) {
	h := open(t, nil)
	for _, r := range h.server.routes {
		if r.Role == "" {
			continue
		}
		for _, role := range tokens.Roles() {
			if role.May(r.Role) || r.Style == api.Socket {
				continue
			}
			p := h.send(ask{method: r.Method, path: example(r), as: role}).refused(posthouse.CodeForbidden)
			if !strings.Contains(p.Detail, string(r.Role)) {
				t.Errorf("%s %s as %s: %s", r.Method, r.Path, role, p.Detail)
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
			if r := find(h, what); r == nil || r.Role != c.role {
				t.Errorf("%s is not for %s", what, c.role)
			}
		}
	}
}

func find(h *testServer, what string) *api.Route {
	for _, r := range h.server.routes {
		if r.Method+" "+r.Path == what {
			return r
		}
	}
	return nil
}

// TestUnknownParametersAndIDs sends each route what it does not take.
func TestUnknownParametersAndIDs(t *testing.T) {
	h := open(t, nil)
	for _, r := range h.server.routes {
		if r.Style == api.Socket || r.Style == api.Page && r.Others || r.Approval || r.Role == "" && r.Method == "POST" {
			continue
		}
		a := h.send(ask{method: r.Method, path: example(r) + "?brnach=main&secret=canary"})
		p := a.refused(posthouse.CodeInvalid)
		if p.Field != "brnach" && p.Field != "secret" || strings.Contains(string(a.body), "canary") {
			t.Errorf("r.Method %s, r.Path %s, a.body %s", r.Method, r.Path, a.body)
		}
		if strings.Contains(r.Path, "{id}") && r.Style != api.Page { // what a page is about is asked for by its script
			pattern := strings.NewReplacer("{version}", "1", "{seq}", "1").Replace(r.Path)
			for _, id := range []string{"unknown", "gate-unknown", "run:7$x._-"} {
				h.send(ask{method: r.Method, path: strings.Replace(pattern, "{id}", id, 1)}).refused(posthouse.CodeNotFound)
			}
			odd, field := []string{"a%20b", "%c3%a4", "a%27%29%20OR%201=1--", "%2a", "%3e", "a~b", "a%2fb"}, "id"
			bad := []string{"a%0ab", strings.Repeat("a", 201), "%ff", "%c2%85"} // "a%2" no client can send; see TestRawPaths
			if name := api.NameOf(r.Path, "id"); name != "" {
				field = name
				for _, id := range odd {
					h.send(ask{method: r.Method, path: strings.Replace(pattern, "{id}", id, 1)}).refused(posthouse.CodeNotFound)
				}
			} else {
				bad = append(bad, odd...)
			}
			for _, id := range bad {
				path := strings.Replace(pattern, "{id}", id, 1)
				p := h.send(ask{method: r.Method, path: path}).refused(posthouse.CodeInvalid)
				if p.Field != field {
					t.Errorf("%s %s blames %q", r.Method, path, p.Field)
				}
			}
		}
		if r.Body == nil && !r.Form && r.Method == "POST" {
			h.send(ask{method: r.Method, path: example(r), body: `{"x":1}`}).refused(posthouse.CodeInvalid)
			if a := h.send(ask{method: r.Method, path: example(r), body: "{ }\n"}); strings.Contains(string(a.body), "is not read by this path") {
				t.Errorf("%s %s refuses an empty object", r.Method, r.Path)
			}
		}
	}
}

// TestBodies sends each route that takes JSON a body that is not JSON.
func TestBodies(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Body, o.Limits.State = 100<<10, 200<<10 })
	cp, g := h.waiting("t1")
	for _, r := range h.server.routes {
		if r.Body == nil || r.Approval {
			continue
		}
		id := string(cp)
		if strings.HasPrefix(r.Path, "/api/gates") {
			id = string(g.ID)
		}
		path := strings.NewReplacer("{id}", id, "{agent}", "dispatch", "{program}", "refund", "{signal}", "go", "{version}", "1").Replace(r.Path)
		if strings.HasPrefix(r.Path, "/api/threads") {
			path = strings.Replace(path, id, "t1", 1)
		}
		for _, bad := range []string{`{`, `[]`, `null`, `{"nonsense":1}`, `{"reason":"a","reason":"b"}`, "{\"reason\":\"\xff\"}",
			`{"value":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, `{"reason":"\ud800"}`} {
			if _, any := r.Body.(json.RawMessage); any && (bad == "[]" || bad == "null" || strings.Contains(bad, "nonsense")) {
				continue // any JSON will do
			}
			h.send(ask{method: r.Method, path: path, body: bad}).refused(posthouse.CodeInvalid)
		}
		h.send(ask{method: r.Method, path: path, body: "message=x", header: []string{"Content-Type: application/x-www-form-urlencoded"}}).refused(problem.CodeMediaType)
		h.send(ask{method: r.Method, path: path, body: "{}", header: []string{"Content-Type: text/plain"}}).refused(problem.CodeMediaType)
		h.send(ask{method: r.Method, path: path, body: "{}", header: []string{"Content-Type: "}}).refused(problem.CodeMediaType)
		big := `{"message":"` + strings.Repeat("a", int(h.server.router.bodyLimit(r))) + `"}`
		h.send(ask{method: r.Method, path: path, body: big}).refused(posthouse.CodeTooLarge)
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
		a.refused(problem.CodeMethod)
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
	if d.OpenAPI != "3.1.0" || d.Info.Version != api.Version || d.Info.Title == "" {
		t.Errorf("the document is %s %+v", d.OpenAPI, d.Info)
	}
	seen, names := 0, map[string]bool{}
	for _, r := range h.server.routes {
		op, ok := d.Paths[strings.TrimSuffix(r.Path, "{$}")][strings.ToLower(r.Method)]
		if !ok {
			t.Errorf("%s %s is not described", r.Method, r.Path)
			continue
		}
		seen++
		if op.Summary == "" || op.OperationID == "" || names[op.OperationID] {
			t.Errorf("%s %s has the operation %q and the summary %q", r.Method, r.Path, op.OperationID, op.Summary)
		}
		names[op.OperationID] = true
		want := strings.Count(r.Path, "{") - strings.Count(r.Path, "{$}") + len(r.Query)
		if r.TakesKey() {
			want++
		}
		if len(op.Parameters) != want || (op.RequestBody != nil) != (r.Body != nil || r.Form || r.Signed) {
			t.Errorf("%s %s has %d parameters, want %d; body %s", r.Method, r.Path, len(op.Parameters), want, op.RequestBody)
		}
		if (r.Role == "") != (op.Security != nil) || len(op.Responses) < 2+len(statusesOf(r)) {
			t.Errorf("%s %s: security %s, responses %v", r.Method, r.Path, op.Security, op.Responses)
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

func statusesOf(r *api.Route) map[int]bool {
	m := map[int]bool{}
	for _, a := range r.Answers {
		m[a.Status] = true
	}
	return m
}
