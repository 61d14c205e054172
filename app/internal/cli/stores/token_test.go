package stores_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestRevokedTokenFile: the file of the first token may hold one that was revoked.
func TestRevokedTokenFile(t *testing.T) {
	e := clitest.New(t)
	gone := func() (gone bool) {
		if err := e.Serve(nil, func(r *host.Host) { gone = r.TokenGone }); err != nil {
			t.Fatal(err)
		}
		return gone
	}
	if gone() {
		t.Error("a token that was just made is revoked")
	}
	e.Run(0, "token", "create", "--name", "alice", "--role", "viewer")
	e.Run(0, "token", "revoke", "operator", "--yes")
	if !gone() {
		t.Error("nothing says that the token in the file was revoked")
	}
}

// TestApprovalToken makes an approval token at a server over SQLite, and decides with it
// at the next one, with no other access.
func TestApprovalToken(t *testing.T) {
	e := clitest.New(t)
	e.Config.Programs = clitest.Refunds
	out := filepath.Join(t.TempDir(), "alice.token")
	serve := func(do func(h *host.Host, cli func(code int, args ...string) string)) {
		t.Helper()
		h, stop := e.Live(io.Discard)
		do(h, func(code int, args ...string) string { return e.Run(code, append(args, "--server", h.URL)...) })
		stop()
	}
	var gates []struct{ ID, Thread string }
	serve(func(_ *host.Host, cli func(int, ...string) string) {
		cli(0, "send", "dispatch", "please refund order 1")
		cli(0, "send", "dispatch", "please refund order 2")
		if err := json.Unmarshal([]byte(cli(0, "inbox", "--json")), &gates); err != nil || len(gates) != 2 {
			t.Fatalf("the inbox has %+v, %v", gates, err)
		}
		cli(2, "token", "approval", gates[0].ID, "--for", "alice", "--expires", "30d")
		if said := cli(2, "token", "approval", gates[0].ID, "--for", "alice", "--out", e.Path); !strings.Contains(said, "name a file that is not there yet") {
			t.Errorf("it says %q", said)
		}
		if said := cli(0, "token", "approval", gates[0].ID, "--for", "alice", "--out", out); !strings.Contains(said, "the approval token is in "+out) || !strings.Contains(said, " for alice until ") {
			t.Errorf("it says %q", said)
		}
	})
	secret, err := datadir.ReadToken(out)
	if err != nil || !tokens.IsApproval(secret) {
		t.Fatalf("the file has %q, %v", secret, err)
	}
	serve(func(h *host.Host, cli func(int, ...string) string) {
		gate, other := gates[0].ID, gates[1].ID
		cli(6, "approve", other, "--token-file", out)
		cli(6, "inbox", "--token-file", out)
		if said := cli(2, "approve", gate, "--token-file", out, "--by", "bob"); !strings.Contains(said, "leave --by out") {
			t.Errorf("it says %q", said)
		}
		if said := cli(0, "approve", gate, "--token-file", out, "--reason", "fine"); !strings.Contains(said, "approved by alice (by an approval token of operator)") {
			t.Errorf("it says %q", said)
		}
		cli(4, "reject", gate, "--token-file", out)
		// The thread went on.
		g, err := h.Ledger.Gate(t.Context(), posthouse.ID(gate))
		if err != nil {
			t.Fatal(err)
		}
		for ev, err := range h.Ledger.Watch(t.Context(), ledger.WatchQuery{Thread: g.Thread}) {
			if err != nil {
				t.Fatal(err)
			}
			if c := ev.Checkpoint; c != nil && c.Status == posthouse.StatusDone {
				break
			}
		}
		if said := cli(0, "log", g.Thread); strings.Contains(said, secret) || !strings.Contains(said, "by an approval token of operator") {
			t.Errorf("the log says %q", said)
		}
		if said := cli(0, "token", "approval", other, "--verdict", "reject", "--json"); !strings.Contains(said, `"token": "`) || !strings.Contains(said, `"for": "operator"`) {
			t.Errorf("it says %q", said)
		}
	})
	files, err := filepath.Glob(filepath.Join(e.Path, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), secret) {
			t.Errorf("%s has the token", name)
		}
	}
}
