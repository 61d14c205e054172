package httptask_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/wire"
)

// A hostile client sends what no worker's library would.
type hostile struct {
	e      *engine
	secret string
}

// send makes a request, and returns the status and the code of the problem.
func (h hostile) send(method, path, body string, header ...string) (status int, code posthouse.Code) {
	h.e.t.Helper()
	r, err := http.NewRequestWithContext(h.e.t.Context(), method, h.e.http.URL+path, strings.NewReader(body))
	must.Do(h.e.t, err)
	r.Header.Set("Authorization", "Bearer "+h.secret)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	c := *h.e.http.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Do(r)
	must.Do(h.e.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	must.Do(h.e.t, err)
	var p struct {
		Code posthouse.Code `json:"code"`
	}
	_ = json.Unmarshal(data, &p) // a page is no problem document
	return resp.StatusCode, p.Code
}

// record is all that a store has on record: each thread's name and length.
func (e *engine) record() string {
	e.t.Helper()
	var b strings.Builder
	for info, err := range e.ledger.Threads(e.t.Context(), posthouse.ThreadQuery{}) {
		must.Do(e.t, err)
		fmt.Fprintln(&b, info.Thread, info.Tail.Seq, info.Status)
	}
	return b.String()
}

// TestAHostileWorker has a token of the role worker, and tries all that the server's API
// offers. It reaches its own calls and nothing else: no other route, and at its own routes no
// session, claim, slot, step, thread, group or task of another, whatever it knows of them.
func TestAHostileWorker(t *testing.T) {
	e := startEngineWith(t, true, &ledger.Options{LeaseTTL: time.Minute}) // the victim sends no heartbeats
	victim := e.reach("victim", tokens.Worker)
	_, err := e.app.Run(t.Context(), "t", 1)
	must.Do(t, err)
	session, err := victim.Connect(t.Context(), hello())
	must.Do(t, err)
	claim, err := victim.Claim(t.Context(), session.ID)
	must.Do(t, err)
	must.Do(t, victim.Save(t.Context(), claim.ID, 1, []byte("the victim's")))
	secret, err := e.tokens.Create("mallory", tokens.Worker, nil)
	must.Do(t, err)
	h := hostile{e, secret}
	own, err := e.reachWith(secret).Connect(t.Context(), hello())
	must.Do(t, err)
	before := e.record()

	t.Run("other routes", func(t *testing.T) { h.otherRoutes(t, claim) })
	t.Run("another's calls", func(t *testing.T) { h.anothersCalls(t, session.ID, own.ID, claim) })
	t.Run("bodies", func(t *testing.T) { h.wrongBodies(t) })
	t.Run("what it says of itself", func(t *testing.T) { h.claimsToBe(t) })

	if after := e.record(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if v, err := victim.Load(t.Context(), claim.ID); err != nil || string(v) != "the victim's" {
		t.Errorf("the slot: %q, %v", v, err)
	}
	must.Do(t, victim.Resolve(t.Context(), claim.ID, task.Verdict{Action: task.Complete, Output: json.RawMessage("2")}))
	e.done("t")
	g, err := e.ledger.Gate(t.Context(), claim.ID.Gate)
	if err != nil || g.Decision.By != "worker:victim" {
		t.Errorf("%+v, %v", g, err)
	}
}

// otherRoutes tries each route of the server's own list that is no worker's.
func (h hostile) otherRoutes(t *testing.T, claim *task.Claim) {
	resp, err := h.e.http.Client().Get(h.e.http.URL + "/openapi.json")
	must.Do(t, err)
	defer resp.Body.Close()
	var d struct {
		Paths map[string]map[string]struct {
			Security json.RawMessage `json:"security"` // of one that anybody may use, or with an approval token
		} `json:"paths"`
	}
	must.Do(t, json.NewDecoder(resp.Body).Decode(&d))
	tried := 0
	for path, methods := range d.Paths {
		for method, op := range methods {
			if strings.HasPrefix(path, "/api/worker/") || op.Security != nil {
				continue // its own, or one that looks at no access token
			}
			at := strings.NewReplacer("{id}", string(claim.ID.Gate), "{gate}", string(claim.ID.Gate), "{agent}", "f", "{signal}", "go", "{version}", "1", "{name}", "x").Replace(path)
			for _, header := range [][]string{nil, {"X-HTTP-Method-Override", "GET", "X-Forwarded-User", "root"}} {
				tried++
				if status, code := h.send(strings.ToUpper(method), at, "", header...); status != http.StatusForbidden || code != "" && code != posthouse.CodeForbidden {
					t.Errorf("%s %s: %d %s", method, at, status, code)
				}
			}
		}
	}
	if tried < 80 {
		t.Errorf("%d routes only", tried)
	}
	for _, path := range []string{"/api/worker/claim/../../threads", "/api/worker/%2e%2e/threads", "/api//threads", "/api/worker/", "/api/worker/x", "/API/threads"} {
		if status, _ := h.send("GET", path, ""); status < 300 {
			t.Errorf("%s: status %d", path, status)
		}
	}
}

// anothersCalls tries each call about a session and a claim that the worker knows of and that
// are another's.
func (h hostile) anothersCalls(t *testing.T, session, own string, claim *task.Claim) {
	for _, as := range []string{"", session, own, "worker-x"} {
		for _, fence := range []uint64{claim.ID.Fence, 0, claim.ID.Fence + 1, 1<<63 + 1} {
			id, err := json.Marshal(task.ClaimID{Gate: claim.ID.Gate, Fence: fence, Session: as})
			must.Do(t, err)
			for call, more := range map[string]string{
				wire.Load: "", wire.Save: `,"value":"eA==","n":9`, wire.Records: "", wire.Stream: `,"chunk":"x"`,
				wire.Signal:  `,"thread":"t","signal":{"name":"go","by":"ceo","value":1}`,
				wire.Record:  `,"step":{"name":"s","n":0,"result":"1"}`,
				wire.Begin:   `,"begin":{"use":{"name":"pay","grant":"gate-x"},"nonce":"0123456789abcdef"}`,
				wire.End:     `,"end":{"name":"pay","nonce":"0123456789abcdef","failed":"x"}`,
				wire.Resolve: `,"verdict":{"action":"complete","output":7}`,
			} {
				if status, code := h.send("POST", "/api/worker/"+call, `{"claim":`+string(id)+more+`}`); status != http.StatusConflict && status != http.StatusNotFound && code != posthouse.CodeInvalid {
					t.Errorf("%s of %s: %d %s", call, id, status, code)
				}
			}
		}
	}
	for _, call := range []string{wire.Claim, wire.Heartbeat} {
		if status, code := h.send("POST", "/api/worker/"+call, `{"session":"`+session+`"}`); status != http.StatusNotFound {
			t.Errorf("%s: status %d, code %s", call, status, code)
		}
	}
	if status, code := h.send("POST", "/api/worker/"+wire.Disconnect, `{"session":"`+session+`"}`); status >= 500 {
		t.Errorf("disconnect: %d %s", status, code) // it has no such session to end
	}
	for _, id := range []string{"$process", "$approvals", "engine-x", "worker-", "../x", "t", strings.Repeat("w", 5000), "worker-\u202e"} {
		body, err := json.Marshal(map[string]string{"session": id})
		must.Do(t, err)
		for _, call := range []string{wire.Claim, wire.Heartbeat} {
			if status, code := h.send("POST", "/api/worker/"+call, string(body)); status != http.StatusNotFound && status != http.StatusBadRequest {
				t.Errorf("%s of session %.20q: %d %s", call, id, status, code)
			}
		}
	}
}

// wrongBodies sends bodies that are too large, or no call.
func (h hostile) wrongBodies(t *testing.T) {
	for _, m := range wire.Methods() {
		for what, body := range map[string]string{
			"huge":          `{"session":"` + strings.Repeat("x", wire.MaxRequest) + `"}`,
			"many claims":   `{"session":"worker-x","have":[` + strings.Repeat(`{"gate":"g"},`, 10_000) + `{"gate":"g"}]}`,
			"deep":          `{"chunk":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
			"twice":         `{"session":"worker-x","session":"worker-y"}`,
			"another case":  `{"Session":"worker-x"}`,
			"unknown":       `{"session":"worker-x","by":"ceo"}`,
			"kind":          `{"session":7,"claim":"x"}`,
			"list":          `[]`,
			"null":          `null`,
			"nothing":       `{}`,
			"not UTF-8":     "{\"session\":\"\xff\"}",
			"negative":      `{"claim":{"gate":"g","fence":-1}}`,
			"gate's name":   `{"claim":{"gate":"` + strings.Repeat("g", 300) + `","fence":1}}`,
			"empty session": `{"session":""}`,
		} {
			if status, code := h.send("POST", "/api/worker/"+m.Name, body); status < 400 || status >= 500 {
				t.Errorf("%s of %s is answered with %d %s; want 4xx", m.Name, what, status, code)
			}
		}
	}
}

// claimsToBe connects as what it is not.
func (h hostile) claimsToBe(t *testing.T) {
	for what, change := range map[string]func(*task.Hello){
		"a group that its token does not name": func(h *task.Hello) { h.Group = "gpu" },
		"a name that is too long":              func(h *task.Hello) { h.Worker = strings.Repeat("x", 10_000) },
		"too many tasks": func(h *task.Hello) {
			for i := range 50_000 {
				h.Tasks = append(h.Tasks, fmt.Sprint("t", i))
			}
		},
		"a task's name that is too long": func(h *task.Hello) { h.Tasks = []string{strings.Repeat("x", 10_000)} },
		"too much at once":               func(h *task.Hello) { h.Concurrency = 1 << 40 },
		"another protocol":               func(h *task.Hello) { h.Protocol = 99 },
	} {
		one := hello()
		change(&one)
		body, err := json.Marshal(map[string]any{"hello": one})
		must.Do(t, err)
		if status, code := h.send("POST", "/api/worker/"+wire.Connect, string(body)); status < 400 || status >= 500 && code != posthouse.CodeUnsupported {
			t.Errorf("%s: status %d, code %s", what, status, code)
		}
	}
	one := hello()
	one.Worker = "victim"
	s, err := h.e.reachWith(h.secret).Connect(t.Context(), one)
	must.Do(t, err)
	all, err := h.e.tasks.Workers(t.Context())
	must.Do(t, err)
	for _, w := range all {
		if w.Session == s.ID && w.Token != "mallory" {
			t.Errorf("on record it is %+v", w)
		}
	}
}
