package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/tokens"
)

// TestInboxSaysWhatItLacks: a gate that cannot be read is a line like the others
// and exit code 8, and a list that was cut says so.
func TestInboxSaysWhatItLacks(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("limit") == "3" {
			w.Header().Set("X-Next-Cursor", "gate-3")
		}
		fmt.Fprint(w, `[{"id":"gate-1","thread":"a","error":{"detail":"record 1 is damaged","hint":"verify"}},
			{"id":"gate-2","thread":"b","name":"refund","text":"Refund?"},{"id":"gate-3","thread":"c","name":"refund"}]`)
	}))
	defer s.Close()
	e := &encrypted{t: t, dir: t.TempDir()}
	out := e.cli(8, "inbox", "--server", s.URL)
	for _, want := range []string{"gate-1  cannot be read: record 1 is damaged", "gate-2  refund: Refund?", "gate-3", "next: posthouse approve gate-2"} {
		if !strings.Contains(out, want) {
			t.Errorf("the inbox lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "there are more") {
		t.Errorf("there are no more:\n%s", out)
	}
	out = e.cli(8, "inbox", "--server", s.URL, "--limit", "2")
	if !strings.Contains(out, "there are more: --limit 0 shows all") || strings.Contains(out, "gate-3") {
		t.Errorf("two of three:\n%s", out)
	}
}

// TestListedCheckpointThatCannotBeRead is marked, and the exit code is 8, also
// where the list is JSON.
func TestListedCheckpointThatCannotBeRead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		damaged := ""
		if r.URL.Query().Get("state") != "false" {
			name := "error"
			if strings.HasPrefix(r.URL.Path, "/api/checkpoints") {
				name = "problem"
			}
			damaged = `,"` + name + `":{"detail":"record 0 is damaged","hint":"verify"}`
		}
		fmt.Fprint(w, `[{"id":"cp-1","kind":"node","size":10,"thread":"a"`+damaged+`},{"id":"cp-2","kind":"node","size":20,"thread":"b"}]`)
	}))
	defer s.Close()
	e := &encrypted{t: t, dir: t.TempDir()}
	out := e.cli(8, "checkpoint", "list", "--states", "--server", s.URL)
	if strings.Count(out, "cannot be read: record 0 is damaged") != 1 || !strings.Contains(out, "cp-2") || !strings.Contains(out, "waits on: verify") {
		t.Errorf("the list is\n%s", out)
	}
	for _, list := range [][]string{{"checkpoint", "list", "--states"}, {"inbox"}, {"inbox", "--session"}} {
		if out := e.cli(8, append(list, "--json", "--server", s.URL)...); !strings.Contains(out, `"cp-2"`) {
			t.Errorf("%q: the list as JSON is\n%s", list, out)
		}
	}
	if out := e.cli(0, "checkpoint", "list", "--server", s.URL); strings.Contains(out, "cannot") {
		t.Errorf("without states:\n%s", out)
	}
}

// TestRevokedTokenFile: the file of the first token may hold one that was revoked.
func TestRevokedTokenFile(t *testing.T) {
	e := &encrypted{t: t, dir: t.TempDir()}
	gone := func() (gone bool) {
		if err := e.serve(serveFlags{}, func(r *host.Host) { gone = r.TokenGone }); err != nil {
			t.Fatal(err)
		}
		return gone
	}
	if gone() {
		t.Error("a token that was just made is revoked")
	}
	e.cli(0, "token", "create", "--name", "alice", "--role", "viewer")
	e.cli(0, "token", "revoke", "operator", "--yes")
	if !gone() {
		t.Error("nothing says that the token in the file was revoked")
	}
}

// TestDeletedThreadWithAnError: what went is printed, and why something it
// waited for goes on; that is the exit code.
func TestDeletedThreadWithAnError(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"checkpoints":3,"gates":1,"error":{"title":"Conflict","status":409,"code":"busy","detail":"the thread is gone; somebody runs the other"}}`)
	}))
	defer s.Close()
	e := &encrypted{t: t, dir: t.TempDir()}
	for _, x := range []struct{ want, flag string }{{"deleted: checkpoints 3", "--yes"}, {`"checkpoints": 3`, "--json"}} {
		out := e.cli(4, "thread", "delete", "t", "--yes", x.flag, "--server", s.URL)
		if !strings.Contains(out, x.want) || !strings.Contains(out, "somebody runs the other") {
			t.Errorf("%s: the deletion prints\n%s", x.flag, out)
		}
	}
}

// TestApprovalToken makes an approval token at a server over SQLite, and decides with it
// at the next one, with no other access.
func TestApprovalToken(t *testing.T) {
	e := &encrypted{t: t, dir: t.TempDir()}
	out := filepath.Join(t.TempDir(), "alice.token")
	serve := func(do func(h *host.Host, cli func(code int, args ...string) string)) {
		t.Helper()
		a := e.app(&lockedBuffer{})
		a.dataDir, a.Programs = e.dir, refunds
		ctx, cancel := context.WithCancel(t.Context())
		h, err := a.open(ctx, &serveFlags{addr: "127.0.0.1:0", logLevel: "error"})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- h.Run(ctx) }()
		do(h, func(code int, args ...string) string { return e.cli(code, append(args, "--server", h.URL)...) })
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	var gates []struct{ ID, Thread string }
	serve(func(_ *host.Host, cli func(int, ...string) string) {
		cli(0, "send", "dispatch", "please refund order 1")
		cli(0, "send", "dispatch", "please refund order 2")
		if err := json.Unmarshal([]byte(cli(0, "inbox", "--json")), &gates); err != nil || len(gates) != 2 {
			t.Fatalf("the inbox has %+v, %v", gates, err)
		}
		cli(2, "token", "approval", gates[0].ID, "--for", "alice", "--expires", "30d")
		if said := cli(2, "token", "approval", gates[0].ID, "--for", "alice", "--out", e.dir); !strings.Contains(said, "name a file that is not there yet") {
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
	files, err := filepath.Glob(filepath.Join(e.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), secret) {
			t.Errorf("%s has the token", name)
		}
	}
}
