package webhooks_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/webhook"
)

// A server is started with a file of webhooks. A run that ends reaches the receiver, signed; the
// commands list, test, replay and resume.
func TestWebhooksOfAServer(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e := clitest.New(t)
	dir := t.TempDir()
	secretPath, file := filepath.Join(dir, "ops.secret"), filepath.Join(dir, "notify.yaml")
	secret := strings.TrimSpace(e.Run(0, "webhook", "secret"))
	must.Do(t, os.WriteFile(secretPath, []byte(secret), 0o600))
	parsed := must.Get(webhook.ParseSecret(secret))(t)

	var status atomic.Int32
	status.Store(http.StatusOK)
	came := make(chan notify.Event, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if _, err := webhook.Verify(r.Header, body, time.Now(), parsed); err != nil {
			t.Error(err)
		}
		var event notify.Event
		if err := json.Unmarshal(body, &event); err != nil {
			t.Error(err)
		}
		if s := int(status.Load()); s != http.StatusOK {
			w.WriteHeader(s)
			return
		}
		came <- event
	}))
	defer receiver.Close()
	must.Do(t, os.WriteFile(file, []byte("webhooks:\n  - {name: ops, url: \""+receiver.URL+"/hook?key=hidden\", insecure: true, allow: [127.0.0.1], secretFile: ops.secret}\n"), 0o600))
	e.Run(0, "webhook", "check", file)
	if out := e.Run(2, "webhook", "check", secretPath); !strings.Contains(out, "ops.secret") {
		t.Errorf("a file that is no file of webhooks: %s", out)
	}

	var counts *flow.App[string, int]
	var served clitest.Buffer
	e.Config.Programs = func(_ context.Context, at *host.Env) (_ *host.Set, err error) {
		counts, err = flow.New("count", func(_ context.Context, text string) (int, error) { return len(text), nil }).Open(at.Ledger, nil)
		return &host.Set{Programs: []posthouse.Program{counts}}, err
	}
	h, stop := e.Live(&served, "--ephemeral", "--notify", file)
	defer stop()
	hook := func(code int, args ...string) string {
		return e.Run(code, append(append([]string{"webhook"}, args...), "--server", h.URL)...)
	}
	wait := func(want string) {
		t.Helper()
		for !strings.Contains(hook(0, "list"), want) {
			runtime.Gosched()
		}
	}
	wait("  ok  ")
	must.Get(counts.Run(t.Context(), "t1", "one two"))(t)
	event := <-came
	if event.Type != notify.ThreadEnded || event.Data.Thread != "t1" {
		t.Errorf("the receiver was told %+v", event)
	}
	hook(0, "test", "ops")
	if event := <-came; event.Type != notify.Test {
		t.Errorf("a test sent %+v", event)
	}
	hook(3, "test", "sales")
	hook(0, "replay", "ops", "--since", "1h")
	if event := <-came; event.Type != notify.ThreadEnded || event.Data.Thread != "t1" {
		t.Errorf("a replay sent %+v", event)
	}
	wait("is done: 1 sent, 0 given up")
	if out := hook(0, "list"); strings.Contains(out, "hidden") || strings.Contains(out, secret) {
		t.Errorf("the list shows secrets: %s", out)
	}
	hook(2, "replay", "ops")
	hook(2, "replay", "ops", "--since", "yesterday")

	status.Store(http.StatusGone)
	if out := hook(7, "test", "ops"); !strings.Contains(out, "410") {
		t.Errorf("a test of a receiver that is gone: %s", out)
	}
	must.Get(counts.Run(t.Context(), "t2", "three"))(t)
	wait("  gone  ")
	status.Store(http.StatusOK)
	hook(0, "resume", "ops")
	if event := <-came; event.Data.Thread != "t2" {
		t.Errorf("after it was resumed the receiver was told %+v", event)
	}
}

func TestAServerWithoutWebhooks(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e := clitest.New(t)
	var served clitest.Buffer
	h, stop := e.Live(&served, "--ephemeral")
	defer stop()
	if out := e.Run(0, "webhook", "list", "--server", h.URL); !strings.Contains(out, "no webhook is configured") {
		t.Errorf("the list is %s", out)
	}
	if out := e.Run(3, "webhook", "test", "ops", "--server", h.URL); !strings.Contains(out, "--notify") {
		t.Errorf("a test says %s", out)
	}
}

// A webhook that carries the right to decide gets a link. Looking decides nothing, the verdict is taken
// once, in the person's name, and wakes the program. A question that is another person's has no approval.
func TestAWebhookThatDecides(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	e := clitest.New(t)
	came := make(chan notify.Event, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event notify.Event
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			t.Error(err)
		}
		came <- event
	}))
	defer receiver.Close()
	const base = "https://posthouse.example.com"
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "ops.secret"), []byte(webhook.NewSecret()), 0o600))
	file := filepath.Join(dir, "notify.yaml")
	must.Do(t, os.WriteFile(file, []byte("url: "+base+"\nwebhooks:\n  - {name: ops, url: \""+receiver.URL+"\", insecure: true, allow: [127.0.0.1], secretFile: ops.secret, decideFor: alice}\n"), 0o600))

	var refunds *flow.App[string, bool]
	e.Config.Programs = func(_ context.Context, at *host.Env) (_ *host.Set, err error) {
		refunds, err = flow.New("refunds", func(ctx context.Context, who string) (bool, error) {
			a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "refund", Text: "Refund order 7?", Assignees: []string{who}})
			return a.Verdict == posthouse.Approve, err
		}).Open(at.Ledger, nil)
		return &host.Set{Programs: []posthouse.Program{refunds}}, err
	}
	var served clitest.Buffer
	h, stop := e.Live(&served, "--ephemeral", "--notify", file)
	defer stop()
	for !strings.Contains(e.Run(0, "webhook", "list", "--server", h.URL), "  ok  ") {
		runtime.Gosched()
	}
	ask := func(thread, who string) *notify.Gate {
		_, err := refunds.Run(t.Context(), thread, who)
		must.Do(t, err)
		return (<-came).Data.Gate
	}
	if g := ask("t0", "bob"); g.Approval != nil {
		t.Errorf("a question of bob's has the approval %+v of alice", g.Approval)
	}
	g := ask("t1", "alice")
	if g.Approval == nil || g.Approval.For != "alice" || g.Approval.Link != base+"/decide/"+string(g.ID)+"#"+g.Approval.Token {
		t.Fatalf("the approval is %+v", g.Approval)
	}
	send := func(method, link, body, token string) int {
		req := must.Get(http.NewRequestWithContext(t.Context(), method, h.URL+strings.TrimPrefix(link, base), strings.NewReader(body)))(t)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		res := must.Get(http.DefaultClient.Do(req))(t)
		defer func() { _ = res.Body.Close() }()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	defer http.DefaultClient.CloseIdleConnections()
	page, _, _ := strings.Cut(g.Approval.Link, "#")
	for range 2 {
		if code := send(http.MethodGet, page, "", ""); code != http.StatusOK {
			t.Errorf("the page of the link answers %d", code)
		}
	}
	if now := must.Get(h.Ledger.Gate(t.Context(), g.ID))(t); now.Decision != nil {
		t.Fatal("opening the link decided")
	}
	if code := send(http.MethodPost, g.Approval.URL, `{"verdict":"approve","reason":"by mail"}`, g.Approval.Token); code != http.StatusOK {
		t.Fatalf("the decision is answered with %d", code)
	}
	if event := <-came; event.Type != notify.GateDecided || event.Data.Decision.By != "alice" || event.Data.Gate.Approval != nil {
		t.Errorf("then came %+v", event)
	}
	if event := <-came; event.Type != notify.ThreadEnded || event.Data.Thread != "t1" {
		t.Errorf("the program did not go on: then came %+v", event)
	}
	if d := must.Get(h.Ledger.Gate(t.Context(), g.ID))(t).Decision; d.By != "alice" || d.Actor != "endpoint:ops" || d.Shown != g.Shown {
		t.Errorf("on record is %+v", d)
	}
	if code := send(http.MethodPost, g.Approval.URL, `{"verdict":"reject"}`, g.Approval.Token); code != http.StatusConflict {
		t.Errorf("a second use is answered with %d", code)
	}
}
