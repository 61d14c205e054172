package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
)

// TestDevSaysWhatItKept: the data stays, questions wait from before, and a store that is
// damaged does not start without a word.
func TestDevSaysWhatItKept(t *testing.T) {
	d := clitest.New(t)
	d.Config.Dev = &cli.Dev{Programs: func(context.Context, *host.Env) (*host.Set, error) { return &host.Set{}, nil }}
	told := func(do func(*host.Host)) string {
		t.Helper()
		var out clitest.Buffer
		h, stop := d.Live(&out, "dev")
		if do != nil {
			do(h)
		}
		stop()
		return out.String()
	}
	clitest.Wants(t, "a first start", told(func(h *host.Host) {
		state := posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte(`"order"`)}}
		_, err := h.Ledger.Commit(t.Context(), &ledger.Draft{
			Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, State: state},
			Gates: []posthouse.Gate{{Name: "pay", Text: "Pay Bob?", Payload: json.RawMessage(`{"amount":1}`)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}), "the data stays", "delete "+d.Path)
	clitest.Wants(t, "a second start", told(nil), "1 question waiting from before: posthouse inbox")
	changed := 0
	for _, name := range []string{"posthouse.db", "posthouse.db-wal"} {
		path := filepath.Join(d.Path, name)
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the log was merged
		}
		changed += bytes.Count(data, []byte("Pay Bob?"))
		if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte("Pay Bob?"), []byte("Pay Eve?")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if changed == 0 {
		t.Fatal("the question is not in the files")
	}
	clitest.Wants(t, "a start over a damaged store", told(nil), "warning: the store is damaged", "posthouse verify")
}

// TestDevServesWherePORTSays: dev and health read PORT alike. An address of all interfaces is
// printed as one that clients can call.
func TestDevServesWherePORTSays(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	d := clitest.New(t)
	d.Config.Dev = &cli.Dev{Programs: func(context.Context, *host.Env) (*host.Set, error) { return &host.Set{}, nil }}
	d.Vars = map[string]string{"PORT": port}
	clitest.Wants(t, "dev at a port that is taken", d.Run(posthouse.ErrLocked.Code.ExitCode(), "dev"), "cannot listen on 127.0.0.1:"+port)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	err = d.Serve([]string{"--addr", "0.0.0.0:0", "--allow-insecure"}, func(h *host.Host) {
		if !strings.HasPrefix(h.URL, "http://127.0.0.1:") {
			t.Errorf("the banner says %s", h.URL)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
