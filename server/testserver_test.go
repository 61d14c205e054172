package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task/deadletter"
)

// A testServer is a server over a ledger in memory with a small program: a request
// is analyzed, waits for a decision, and has one effect once that is there.
type testServer struct {
	t       *testing.T
	store   *memstore.Store
	ledger  *ledger.Ledger
	tokens  *tokens.List
	server  *Server
	http    *httptest.Server
	program *program
	tasks   *dispatch.Dispatcher // finds tasks where a test runs it
	log     *lockedBuffer
	secrets map[tokens.Role]string
	dir     string         // of the tokens
	ticks   chan time.Time // of heartbeats
}

func open(t *testing.T, change func(*Options)) *testServer {
	t.Helper()
	h := &testServer{t: t, log: &lockedBuffer{}, secrets: map[tokens.Role]string{}, ticks: make(chan time.Time)}
	h.store = memstore.New()
	var err error
	h.ledger, err = ledger.Open(h.store, &ledger.Options{Validate: gate.Validator()})
	must.Do(t, err)
	h.dir = t.TempDir()
	h.tokens, err = tokens.Open(h.dir, nil)
	must.Do(t, err)
	for _, r := range tokens.Roles() {
		h.secrets[r], err = h.tokens.Create(string(r)+"-token", r, nil)
		must.Do(t, err)
	}
	h.program = &program{ledger: h.ledger}
	h.tasks, err = dispatch.New(h.ledger, nil)
	must.Do(t, err)
	o := Options{
		Ledger: h.ledger, Tasks: h.tasks, Letters: deadletter.NewMemory(time.Now), Tokens: h.tokens, Agents: map[string]Agent{"dispatch": h.program}, Runner: h.program,
		Logger: slog.New(slog.NewJSONHandler(h.log, nil)), Version: "test", Limits: Limits{Wait: 10 * time.Second},
	}
	if change != nil {
		change(&o)
	}
	h.server, err = New(o)
	must.Do(t, err)
	h.server.events.Streams.Tick = func(time.Duration) (<-chan time.Time, func()) { return h.ticks, func() {} }
	h.http = httptest.NewUnstartedServer(nil)
	h.http.Config = h.server.HTTPServer("")
	h.http.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := h.server.Close(ctx); err != nil {
			t.Errorf("closing the server: %v", err)
		}
		h.http.Close()
		must.Do(t, h.ledger.Close())
		must.Do(t, h.store.Close())
	})
	return h
}

// resourceOf returns a resource of the server by its type.
func resourceOf[T resource](h *testServer) T {
	h.t.Helper()
	for _, r := range h.server.resources {
		if found, ok := r.(T); ok {
			return found
		}
	}
	var none T
	h.t.Fatalf("the server has no %T", none)
	return none
}

// A program is Agent and Runner at once. It runs when it is waited for.
type program struct {
	ledger *ledger.Ledger

	mu      sync.Mutex
	effects []string      // one for each request carried out
	resumed []string      // branches
	hold    chan struct{} // if set, Wait waits for it
	handle  func(ctx context.Context, message string, o *HandleOptions) (*Reply, error)
	settle  error
	idle    bool   // Wait runs nothing
	fails   string // why each request ends as failed; "" does it
	refuse  func(c *posthouse.Checkpoint) error
}

func (p *program) CheckReplay(_ context.Context, c *posthouse.Checkpoint) error {
	if p.refuse == nil {
		return nil
	}
	return p.refuse(c)
}

func (p *program) Handle(ctx context.Context, message string, o *HandleOptions) (*Reply, error) {
	if p.handle != nil {
		return p.handle(ctx, message, o)
	}
	o.Event(AgentEvent{Kind: "AgentDispatched", Data: map[string]string{"agentName": "analyzer"}})
	o.Event(AgentEvent{Kind: "AgentCompleted", Data: map[string]string{"agentName": "analyzer"}})
	c, err := p.ask(ctx, o.Thread, message, o.By)
	if err != nil {
		return nil, err
	}
	text := "Analysis complete. Checkpointed: " + string(c.Checkpoint.ID)
	o.Text(text)
	return &Reply{Thread: o.Thread, Checkpoint: c.Checkpoint.ID, Gate: c.Gates[0].ID, Text: text}, nil
}

// ask commits a waiting checkpoint with one gate for each name.
func (p *program) ask(ctx context.Context, thread, request, by string, gates ...string) (*posthouse.Committed, error) {
	if len(gates) == 0 {
		gates = []string{"refund"}
	}
	state, err := posthouse.Opaque(nil, map[string]string{"request": request, "recommendation": "refund"})
	if err != nil {
		return nil, err
	}
	d := &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Graph: "dispatch", Coordination: "dispatch",
		Agent: "analyzer", Next: []string{"approver"}, State: state, Metadata: map[string]string{"risk": "low"},
	}}
	for _, name := range gates {
		d.Gates = append(d.Gates, posthouse.Gate{
			Name: name, Text: "Refund?", Payload: json.RawMessage(`{"amount":40}`), RequestedBy: by, AllowRequest: true,
		})
	}
	return p.ledger.Commit(ctx, d)
}

func (p *program) Wait(ctx context.Context, thread, branch string, _ uint64) (*posthouse.Header, error) {
	if p.hold != nil {
		select {
		case <-p.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if p.settle != nil {
		return nil, p.settle
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	head, err := p.ledger.Latest(ctx, ledger.LatestQuery{Thread: thread, Branch: branch})
	if err != nil {
		return nil, err
	}
	info, err := p.ledger.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if b, _ := info.Branch(branch); p.idle || b.Status != posthouse.StatusReady && b.Status != posthouse.StatusRunning {
		return &head.Header, nil
	}
	if p.fails != "" {
		ended, err := p.ledger.Commit(ctx, &ledger.Draft{Thread: thread, Branch: branch, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindFail, Status: posthouse.StatusFailed, Graph: "dispatch", Agent: "approver", Next: []string{"approver"}, State: head.State, Error: p.fails,
		}})
		if err != nil {
			return nil, err
		}
		return ended.Checkpoint, nil
	}
	state, err := p.effect(ctx, head)
	if err != nil {
		return nil, err
	}
	done, err := p.ledger.Commit(ctx, &ledger.Draft{Thread: thread, Branch: branch, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusDone, Graph: "dispatch", Agent: "approver", State: state,
	}})
	if err != nil {
		return nil, err
	}
	return done.Checkpoint, nil
}

// effect carries the request out, which the callers' lock makes happen once.
func (p *program) effect(ctx context.Context, head *posthouse.Checkpoint) (posthouse.State, error) {
	s, err := posthouse.Decode[map[string]string](head.State[posthouse.OpaquePart])
	if err != nil {
		return nil, err
	}
	out := map[string]string{"request": s["request"]}
	for _, id := range head.Gates {
		g, err := p.ledger.Gate(ctx, id)
		if err != nil {
			return nil, err
		}
		if g.Decision == nil {
			continue
		}
		out["by"] = g.Decision.By
		out["verdict"] = string(g.Decision.Verdict)
		if g.Decision.Verdict == posthouse.Edit {
			var edit map[string]string
			if err := json.Unmarshal(g.Decision.Value, &edit); err != nil {
				return nil, err
			}
			out["request"] = edit["request"]
		}
	}
	p.effects = append(p.effects, out["request"])
	return posthouse.Opaque(nil, out)
}

func (p *program) Resume(ctx context.Context, thread, branch string) error {
	p.mu.Lock()
	p.resumed = append(p.resumed, thread+"/"+branch)
	p.mu.Unlock()
	head, err := p.ledger.Latest(ctx, ledger.LatestQuery{Thread: thread, Branch: branch})
	if err != nil {
		return err
	}
	_, err = p.ledger.Commit(ctx, &ledger.Draft{Thread: thread, Branch: branch, Checkpoint: &posthouse.Change{
		Kind: posthouse.KindNode, Status: posthouse.StatusDone, Graph: "dispatch", Agent: "resumed", State: head.State,
	}})
	return err
}

func (p *program) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.effects)
}

// waiting commits a request that waits and returns its checkpoint and gate.
func (h *testServer) waiting(thread string) (posthouse.ID, *posthouse.Gate) {
	h.t.Helper()
	c, err := h.program.ask(h.t.Context(), thread, "please refund order 1234", "somebody")
	must.Do(h.t, err)
	return c.Checkpoint.ID, &c.Gates[0]
}

// saved saves a checkpoint with opaque JSON by hand.
func (h *testServer) saved(thread, state string) *posthouse.Checkpoint {
	h.t.Helper()
	c := posthouse.Root(thread, posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(state)}})
	if head, err := h.ledger.Latest(h.t.Context(), ledger.LatestQuery{Thread: thread}); err == nil {
		c.Parent = head.ID
	}
	c, err := h.ledger.Save(h.t.Context(), c, nil)
	must.Do(h.t, err)
	return c
}

// A call to the server; zero fields are the usual.
type ask struct {
	method, path string
	body         string
	as           tokens.Role // default Operator; "-": no token
	host         string      // of the Host header
	header       []string
	client       *http.Client
}

type reply struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   []byte
}

func (h *testServer) request(a ask) *http.Request {
	h.t.Helper()
	var body io.Reader
	if a.body != "" {
		body = strings.NewReader(a.body)
	}
	r, err := http.NewRequestWithContext(h.t.Context(), a.method, h.http.URL+a.path, body)
	must.Do(h.t, err)
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.as == "" {
		a.as = tokens.Operator
	}
	if secret := h.secrets[a.as]; secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	if a.host != "" {
		r.Host = a.host
	}
	for _, line := range a.header {
		name, value, _ := strings.Cut(line, ": ")
		if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, value)
		}
	}
	return r
}

func (h *testServer) send(a ask) *reply {
	h.t.Helper()
	client := a.client
	if client == nil {
		client = h.client()
	}
	resp, err := client.Do(h.request(a))
	must.Do(h.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must.Do(h.t, err)
	return &reply{h.t, a.method + " " + a.path, resp.StatusCode, resp.Header, body}
}

// client does not follow redirects.
func (h *testServer) client() *http.Client {
	c := *h.http.Client()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

func (h *testServer) get(path string) *reply {
	h.t.Helper()
	return h.send(ask{method: "GET", path: path})
}

func (h *testServer) post(path, body string) *reply {
	h.t.Helper()
	return h.send(ask{method: "POST", path: path, body: body})
}

func (r *reply) want(status int) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s answered %d, want %d\n%s", r.what, r.status, status, r.body)
	}
	return r
}

// into reads the answer, of a list the items.
func (r *reply) into(v any) {
	r.t.Helper()
	body := r.body
	if reflect.TypeOf(v).Elem().Kind() == reflect.Slice && bytes.HasPrefix(body, []byte("{")) {
		var page struct{ Items json.RawMessage }
		must.Do(r.t, json.Unmarshal(body, &page))
		body = page.Items
	}
	if err := json.Unmarshal(body, v); err != nil {
		r.t.Fatalf("%s answered no JSON: %v\n%s", r.what, err, r.body)
	}
}

// refused asserts a complete problem of this code and returns it.
func (r *reply) refused(code posthouse.Code) *problem.Details {
	r.t.Helper()
	var p problem.Details
	if ct := r.header.Get("Content-Type"); ct != "application/problem+json" {
		r.t.Fatalf("%s answered %d with %q, want a problem\n%s", r.what, r.status, ct, r.body)
	}
	r.into(&p)
	if p.Code != code || p.Status != r.status || r.status != problem.Status(code) {
		r.t.Fatalf("%s answered %d, want %q\n%s", r.what, r.status, code, r.body)
	}
	if p.Title == "" || p.Detail == "" || !strings.HasPrefix(p.Type, "https://") || !strings.HasPrefix(p.Instance, "urn:posthouse:request:") {
		r.t.Errorf("%s answered an incomplete problem\n%s", r.what, r.body)
	}
	return &p
}

func (r *reply) checkpoint() *Checkpoint {
	r.t.Helper()
	var c Checkpoint
	r.into(&c)
	return &c
}

func (r *reply) list() []*Checkpoint {
	r.t.Helper()
	var cs []*Checkpoint
	r.into(&cs)
	return cs
}

// lockedBuffer collects the log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func ids(cs []*Checkpoint) string {
	var out []string
	for _, c := range cs {
		out = append(out, string(c.ID))
	}
	return fmt.Sprint(out)
}

// countedProbe is a store's answer to readiness, counted.
func (h *testServer) countedProbe(asked *int, failure *error) func(context.Context) error {
	return func(context.Context) error { *asked++; return *failure }
}
