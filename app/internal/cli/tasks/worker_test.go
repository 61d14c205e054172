package tasks_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/certtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/task/natslink"
)

// TestWorkerOverNATS: serve listens with a certificate, and a worker with a token of its role
// handles a task.
func TestWorkerOverNATS(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	certs := certtest.New(t, "127.0.0.1")
	e := clitest.New(t)
	var counts *flow.App[string, int]
	var served clitest.Buffer
	e.Config = cli.Config{Programs: clitest.Counting(&counts), OpenLink: natslink.Open}
	h, stop := e.Live(&served, "--ephemeral", "--nats-listen", "0.0.0.0:0", "--nats-cert", certs.Cert, "--nats-key", certs.Key)
	token := filepath.Join(t.TempDir(), "gpu-1.token")
	e.Run(0, "token", "create", "--name", "gpu-1", "--role", "worker", "--out", token)
	e.Run(0, "token", "create", "--name", "eve", "--role", "viewer", "--out", token+".viewer")

	_, port, _ := strings.Cut(strings.TrimPrefix(h.Link.Address(), "tls://"), "]:")
	if port == "" {
		_, port, _ = strings.Cut(strings.TrimPrefix(h.Link.Address(), "tls://"), ":")
	}
	at := "tls://127.0.0.1:" + port
	if !strings.Contains(served.String(), "NATS") || !strings.Contains(served.String(), ":"+port) {
		t.Errorf("the banner does not say where workers come:\n%s", served.String())
	}
	args := []string{"worker", "--plain", "--task", "words=wc -w", "--nats", at, "--nats-ca", certs.CA}
	var out clitest.Buffer
	if code := e.Start(t.Context(), &out, append(args, "--token-file", token+".viewer")...); code != posthouse.CodeForbidden.ExitCode() {
		t.Errorf("a viewer's token: exit code %d\n%s", code, out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- e.Start(ctx, &out, append(args, "--token-file", token)...) }()
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
	if code := <-ended; code != 0 {
		t.Errorf("the worker ends with exit code %d\n%s", code, out.String())
	}
	stop()
	if s := out.String(); !strings.Contains(s, "handling words of "+at) {
		t.Error(s)
	}
}

// TestNATSFlagsAreChecked: a mistake names its flag, and nothing is made for it.
func TestNATSFlagsAreChecked(t *testing.T) {
	certs := certtest.New(t, "127.0.0.1")
	e := &clitest.Dir{T: t, Path: filepath.Join(t.TempDir(), "data")}
	token := filepath.Join(t.TempDir(), "token")
	e.Run(0, "token", "create", "--name", "gpu-1", "--role", "worker", "--out", token)
	e.Path += "2"
	for want, args := range map[string][]string{
		"nats-listen is reachable":   {"serve", "--nats-listen", "0.0.0.0:0"},
		"nats-listen and a URL":      {"serve", "--nats-listen", "127.0.0.1:0", "--nats", "nats://h"},
		"nats is not the URL":        {"serve", "--nats", "http://h"},
		"nats-creds cannot be used":  {"serve", "--nats", "nats://h", "--nats-creds", certs.CA + ".not"},
		"nats-ca has no certificate": {"worker", "--task", "a=cat", "--nats", "tls://h", "--nats-ca", certs.Key},
		"nats is another machine":    {"worker", "--task", "a=cat", "--nats", "nats://h.example", "--token-file", token},
	} {
		var out clitest.Buffer
		e.Config.OpenLink = natslink.Open
		if args[0] == "serve" {
			args = append(args, "--addr", "127.0.0.1:0", "--ephemeral")
		}
		if code := e.Start(t.Context(), &out, args...); code != 2 && code != posthouse.CodeForbidden.ExitCode() || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit code %d, it lacks %q\n%s", args, code, want, out.String())
		}
	}
	var out clitest.Buffer
	e.Config.OpenLink = nil
	if code := e.Start(t.Context(), &out, "serve", "--nats", "nats://h"); code != 2 || !strings.Contains(out.String(), "unknown flag: --nats") {
		t.Errorf("without Programs.OpenLink: exit code %d\n%s", code, out.String())
	}
}
