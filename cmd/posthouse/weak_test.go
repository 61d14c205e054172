package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A weakServer loses acknowledged writes.
type weakServer struct {
	url     string
	setting string // by which
	refused bool   // it tells its clients
}

func weakServers(t *testing.T) map[string]weakServer {
	n, err := server.NewServer(&server.Options{Port: -1, Host: "127.0.0.1", JetStream: true, StoreDir: t.TempDir(), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	if !n.ReadyForConnections(time.Minute) {
		t.Fatal("NATS does not start")
	}
	return map[string]weakServer{
		"redis":    {redistest.Start(t, "appendfsync", "everysec").URL(), "appendfsync", true},
		"postgres": {pgtest.URL(t) + "&schema=weak&synchronous_commit=off", "synchronous_commit", true},
		"nats":     {n.ClientURL(), "sync_interval", false},
	}
}

// weakened runs a command line and returns its exit code and what it says.
func weakened(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "posthouse", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &o, &e
	_ = cmd.Run() // the code says it
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// TestWeakStores: what a server is set to lose is refused unless it is accepted, and then
// said by the check, the log, and /readyz.
func TestWeakStores(t *testing.T) {
	if testing.Short() {
		t.Skip("what it runs is tested by app/internal/conform, server and the stores")
	}
	from := "sqlite:" + filepath.Join(t.TempDir(), "from.db")
	s, err := sqlitestore.Open(t.Context(), strings.TrimPrefix(from, "sqlite:"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, w := range weakServers(t) {
		t.Run(name, func(t *testing.T) {
			code, out, errs := weakened(t, "store", "check", w.url, "--only", "append/", "--json")
			var report struct {
				Passed     int
				Failed     []any
				Durability struct{ Weak []string }
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil {
				t.Fatalf("%v\n%s%s", err, out, errs)
			}
			if weak := report.Durability.Weak; code != posthouse.ExitCorrupt || report.Passed < 5 || len(report.Failed) > 0 || len(weak) != 1 || !strings.Contains(weak[0], w.setting) {
				t.Errorf("the check exits with %d, and says %s", code, out)
			}
			dir := t.TempDir()
			for _, args := range [][]string{
				{"serve", "--addr", "127.0.0.1:0", "--data-dir", dir, "--store", w.url},
				{"store", "copy", from, w.url},
			} {
				if !w.refused {
					continue
				}
				if code, _, errs := weakened(t, args...); code == 0 || !strings.Contains(errs, w.setting) || !strings.Contains(errs, "--allow-weak-store") {
					t.Errorf("%v exits with %d, and says %s", args, code, errs)
				}
			}
			if code, _, errs := weakened(t, "store", "copy", from, w.url, "--allow-weak-store"); code != 0 {
				t.Errorf("a copy exits with %d, and says %s", code, errs)
			}
			servesWeakly(t, dir, w)
		})
	}
}

// servesWeakly serves a store that is accepted as it is.
func servesWeakly(t *testing.T, dir string, w weakServer) {
	var errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "posthouse", "serve", "--addr", "127.0.0.1:0", "--data-dir", dir, "--store", w.url, "--json")
	if w.refused {
		cmd.Args = append(cmd.Args, "--allow-weak-store")
	}
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var banner struct{ Page string }
	if err := json.NewDecoder(out).Decode(&banner); err != nil {
		_ = cmd.Wait()
		t.Fatalf("%v\n%s", err, &errs)
	}
	resp, err := http.Get(banner.Page + "readyz")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	var ready struct{ Weak []string }
	if err == nil {
		err = json.Unmarshal(body, &ready)
	}
	if err != nil || resp.StatusCode != http.StatusOK || len(ready.Weak) != 1 || !strings.Contains(ready.Weak[0], w.setting) {
		t.Errorf("/readyz says %s, %v", body, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	if said := errs.String(); !strings.Contains(said, "may lose acknowledged writes") || !strings.Contains(said, w.setting) {
		t.Errorf("the log says %s", said)
	}
}
