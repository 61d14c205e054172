package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/certtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task/natslink"
)

// counting is a flow whose one step is a task, with where its App goes.
func counting(app **flow.App[string, int]) func(context.Context, *host.Env) (*host.Set, error) {
	return func(_ context.Context, env *host.Env) (_ *host.Set, err error) {
		*app, err = flow.New("count", func(ctx context.Context, text string) (int, error) {
			return step.Remote[int](ctx, "words", "words", text)
		}).Open(env.Ledger, nil)
		return &host.Set{Programs: []posthouse.Program{*app}}, err
	}
}

// TestWorkerOverNATS: serve listens with a certificate, and a worker with a token of its role
// handles a task.
func TestWorkerOverNATS(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	certs := certtest.New(t, "127.0.0.1")
	e := &encrypted{t: t, dir: t.TempDir()}
	var counts *flow.App[string, int]
	var served lockedBuffer
	a := e.app(&served)
	a.dataDir, a.Programs, a.OpenLink = e.dir, counting(&counts), natslink.Open
	ctx, cancel := context.WithCancel(t.Context())
	h, err := a.open(ctx, &serveFlags{
		addr: "127.0.0.1:0", ephemeral: true, logLevel: "error", listen: "0.0.0.0:0", nats: natsFlags{cert: certs.Cert, key: certs.Key},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.banner(h)
	ended := make(chan error, 2)
	go func() { ended <- h.Run(ctx) }()
	token := filepath.Join(t.TempDir(), "gpu-1.token")
	e.cli(0, "token", "create", "--name", "gpu-1", "--role", "worker", "--out", token)
	e.cli(0, "token", "create", "--name", "eve", "--role", "viewer", "--out", token+".viewer")

	_, port, _ := strings.Cut(strings.TrimPrefix(h.Link.Address(), "tls://"), "]:")
	if port == "" {
		_, port, _ = strings.Cut(strings.TrimPrefix(h.Link.Address(), "tls://"), ":")
	}
	at := "tls://127.0.0.1:" + port
	if !strings.Contains(served.String(), "NATS") || !strings.Contains(served.String(), ":"+port) {
		t.Errorf("the banner does not say where workers come:\n%s", served.String())
	}
	args := []string{"worker", "--plain", "--task", "words=wc -w", "--data-dir", e.dir, "--nats", at, "--nats-ca", certs.CA}
	var out lockedBuffer
	w := e.app(&out)
	w.OpenLink = natslink.Open
	if code := w.run(ctx, append(args, "--token-file", token+".viewer")); code != posthouse.CodeForbidden.ExitCode() {
		t.Errorf("a viewer's token: exit code %d\n%s", code, out.String())
	}
	go func() {
		w := e.app(&out)
		w.OpenLink = natslink.Open
		if code := w.run(ctx, append(args, "--token-file", token)); code != 0 {
			ended <- errors.New("the worker ended otherwise")
			return
		}
		ended <- nil
	}()
	if _, err := counts.Run(t.Context(), "t1", "one two three"); err != nil {
		t.Fatal(err)
	}
	for ev, err := range h.Ledger.Watch(t.Context(), ledger.WatchQuery{Thread: "t1"}) {
		if err != nil {
			t.Fatal(err)
		}
		if d := ev.Decision; d != nil && string(d.Value) != "3" {
			t.Errorf("the worker says %s", d.Value)
		}
		if ev.Checkpoint != nil && ev.Checkpoint.Status == posthouse.StatusDone {
			break
		}
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if s := out.String(); !strings.Contains(s, "handling words of "+at) {
		t.Error(s)
	}
}

// TestNATSFlagsAreChecked: a mistake names its flag, and nothing is made for it.
func TestNATSFlagsAreChecked(t *testing.T) {
	certs := certtest.New(t, "127.0.0.1")
	e := &encrypted{t: t, dir: filepath.Join(t.TempDir(), "data")}
	token := filepath.Join(t.TempDir(), "token")
	e.cli(0, "token", "create", "--name", "gpu-1", "--role", "worker", "--out", token)
	e.dir += "2"
	for want, args := range map[string][]string{
		"nats-listen is reachable":   {"serve", "--nats-listen", "0.0.0.0:0"},
		"nats-listen and a URL":      {"serve", "--nats-listen", "127.0.0.1:0", "--nats", "nats://h"},
		"nats is not the URL":        {"serve", "--nats", "http://h"},
		"nats-creds cannot be used":  {"serve", "--nats", "nats://h", "--nats-creds", certs.CA + ".not"},
		"nats-ca has no certificate": {"worker", "--task", "a=cat", "--nats", "tls://h", "--nats-ca", certs.Key},
		"nats is another machine":    {"worker", "--task", "a=cat", "--nats", "nats://h.example", "--token-file", token},
	} {
		var out lockedBuffer
		a := e.app(&out)
		a.OpenLink = natslink.Open
		args = append(args, "--data-dir", e.dir)
		if args[0] == "serve" {
			args = append(args, "--addr", "127.0.0.1:0", "--ephemeral")
		}
		if code := a.run(t.Context(), args); code != 2 && code != posthouse.CodeForbidden.ExitCode() || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit code %d, it lacks %q\n%s", args, code, want, out.String())
		}
	}
	var out lockedBuffer
	if code := e.app(&out).run(t.Context(), []string{"serve", "--nats", "nats://h"}); code != 2 || !strings.Contains(out.String(), "unknown flag: --nats") {
		t.Errorf("without Programs.OpenLink: exit code %d\n%s", code, out.String())
	}
}
