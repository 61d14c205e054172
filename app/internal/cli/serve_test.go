package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestServeEnds starts dev, uses it, asks it to end, and looks for what is left.
func TestServeEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var out clitest.Buffer
	d := clitest.New(t)
	d.Config.Dev = &cli.Dev{Programs: clitest.Refunds}
	begin := time.Now()
	r, stop := d.Live(&out, "dev", "--ephemeral")
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("ready after %v", took)
	}
	for _, want := range []string{"API ", "Page ", "Docs ", "memory: (gone when this process ends)", "Token file ", "PID ", "next: posthouse send dispatch"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the banner lacks %q:\n%s", want, out.String())
		}
	}
	token, err := datadir.ReadToken(r.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.URL+"/api/agents/dispatch", strings.NewReader(`{"message":"please refund order 1"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var reply struct{ Gate, Checkpoint string }
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || reply.Gate == "" {
		t.Errorf("the reply: %+v, %v", reply, err)
	}
	resp.Body.Close()
	asksAtATerminal(d, r, reply.Gate, reply.Checkpoint)
	stop()
}

// asksAtATerminal decides by gate and by checkpoint as a person who then says
// no: the question is shown either way.
func asksAtATerminal(d *clitest.Dir, r *host.Host, ids ...string) {
	d.T.Helper()
	for _, id := range ids {
		said := d.AtTerminal("n\n", 0, "approve", id, "--server", r.URL)
		clitest.Wants(d.T, "approve "+id, said, "approve refund: Carry out: please refund order 1", "nothing was decided")
	}
}

// TestPasswordsAreNotPrinted: whatever commands say of a store's address, for people and
// as JSON, they leave its password out.
func TestPasswordsAreNotPrinted(t *testing.T) {
	const url = "postgres://me:hunter2@127.0.0.1/db"
	inMemory := func(context.Context, string, *local.Options) (posthouse.Store, error) { return memstore.New(), nil }
	for _, asJSON := range []bool{false, true} {
		d := clitest.New(t)
		d.Config = cli.Config{Dev: &cli.Dev{Programs: clitest.Refunds}, OpenStore: inMemory, Serve: func(_ context.Context, h *host.Host) error { return h.Close() }}
		flags := []string{}
		if asJSON {
			flags = append(flags, "--json")
		}
		out := d.Run(0, append([]string{"dev", "--store", url, "--addr", "127.0.0.1:0", "--log-level", "debug"}, flags...)...)
		out += d.Run(0, append([]string{"store", "copy", url, url}, flags...)...)
		if strings.Contains(out, "hunter2") || !strings.Contains(out, "postgres://me:xxxxx@127.0.0.1/db") {
			t.Errorf("with the password, or without the address:\n%s", out)
		}
	}
}

// TestBannerNamesTheFallback: a store that DATABASE_URL named is shown with that, and dev leaves
// it alone.
func TestBannerNamesTheFallback(t *testing.T) {
	inMemory := func(context.Context, string, *local.Options) (posthouse.Store, error) { return memstore.New(), nil }
	d := clitest.New(t)
	d.Vars = map[string]string{"DATABASE_URL": "postgres://me:hunter2@127.0.0.1/db"}
	d.Config = cli.Config{Dev: &cli.Dev{Programs: clitest.Refunds}, OpenStore: inMemory, Serve: func(_ context.Context, h *host.Host) error { return h.Close() }}
	clitest.Wants(t, "the banner", d.Run(0, "serve", "--addr", "127.0.0.1:0"), "postgres://me:xxxxx@127.0.0.1/db (from DATABASE_URL)")
	d.Path = t.TempDir()
	clitest.Wants(t, "the banner in JSON", d.Run(0, "serve", "--addr", "127.0.0.1:0", "--json"), `"storeFrom": "DATABASE_URL"`)
	d.Path = t.TempDir()
	if out := d.Run(0, "dev", "--addr", "127.0.0.1:0"); strings.Contains(out, "postgres:") {
		t.Errorf("dev uses DATABASE_URL:\n%s", out)
	}
}
