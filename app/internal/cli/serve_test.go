package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestServeEnds starts dev, uses it, asks it to end, and looks for what is left.
func TestServeEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var out bytes.Buffer
	a := &app{env: func(string) string { return "" }, dataDir: t.TempDir(), Config: Config{Dev: &Dev{Programs: refunds}}}
	a.Term = term.Term{In: strings.NewReader(""), Out: &out, Err: &out}
	s := &serveFlags{addr: "127.0.0.1:0", ephemeral: true, logLevel: "error", dev: true}
	ctx, cancel := context.WithCancel(t.Context())
	begin := time.Now()
	r, err := a.open(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("ready after %v", d)
	}
	a.banner(r)
	for _, want := range []string{"API ", "Page ", "Docs ", "memory: (gone when this process ends)", "Token file ", "PID ", "next: posthouse send dispatch"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the banner lacks %q:\n%s", want, out.String())
		}
	}
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
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
	asksAtATerminal(t, r, a.dataDir, reply.Gate, reply.Checkpoint)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("asked to end, it failed: %v", err)
	}
}

// refunds is a coordinator that asks before it does anything.
func refunds(_ context.Context, env *host.Env) (*host.Set, error) {
	fleet, err := coord.NewFleet()
	if err != nil {
		return nil, err
	}
	c, err := coord.New(env.Ledger, "dispatch", fleet, func(ctx context.Context, message string, _ *coord.Fleet, _ *coord.Session) error {
		_, err := gate.Ask[any](ctx, gate.Question{Name: "refund", Text: "Carry out: " + message, AllowRequester: true})
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return &host.Set{Programs: []posthouse.Program{c}, Next: `send dispatch "please refund order 1"`}, nil
}

// asksAtATerminal decides by gate and by checkpoint as a person who then says
// no: the question is shown either way.
func asksAtATerminal(t *testing.T, r *host.Host, dir string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		var out bytes.Buffer
		a := &app{env: func(string) string { return "" }}
		a.Term = term.Term{In: strings.NewReader("n\n"), Out: &out, Err: &out, Interactive: true}
		code := a.run(t.Context(), []string{"approve", id, "--server", r.URL, "--data-dir", dir})
		if said := out.String(); code != 0 || !strings.Contains(said, "approve refund: Carry out: please refund order 1") || !strings.Contains(said, "nothing was decided") {
			t.Errorf("approve %s: exit code %d, %q", id, code, said)
		}
	}
}

// open opens what the flags say, as serve does, for a test to look at.
func (a *app) open(ctx context.Context, s *serveFlags) (*host.Host, error) {
	o, err := a.hostOptions(s)
	if err != nil {
		return nil, err
	}
	return host.Open(ctx, o)
}

// TestPasswordsAreNotPrinted: whatever commands say of a store's address, for people and
// as JSON, they leave its password out.
func TestPasswordsAreNotPrinted(t *testing.T) {
	const url = "postgres://me:hunter2@127.0.0.1/db"
	inMemory := func(context.Context, string, *local.Options) (posthouse.Store, error) { return memstore.New(), nil }
	for _, asJSON := range []bool{false, true} {
		var out bytes.Buffer
		a := &app{env: func(string) string { return "" }, dataDir: t.TempDir(), Config: Config{Dev: &Dev{Programs: refunds}, OpenStore: inMemory}}
		a.Term = term.Term{In: strings.NewReader(""), Out: &out, Err: &out, JSON: asJSON}
		h, err := a.open(t.Context(), &serveFlags{addr: "127.0.0.1:0", logLevel: "debug", dev: true, store: url})
		if err != nil {
			t.Fatal(err)
		}
		a.banner(h)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		for _, cmd := range []*cobra.Command{a.storeCopy()} {
			cmd.SetArgs([]string{url, url})
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Errorf("%s: %v", cmd.Name(), err)
			}
		}
		if s := out.String(); strings.Contains(s, "hunter2") || !strings.Contains(s, "postgres://me:xxxxx@127.0.0.1/db") {
			t.Errorf("with the password, or without the address:\n%s", s)
		}
	}
}
