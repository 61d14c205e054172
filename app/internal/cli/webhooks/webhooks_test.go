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
