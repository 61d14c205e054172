package redisstore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestTornTransaction cuts the server's file off in the middle of an append, as a power
// cut does, or a kill of the server while it writes. With aof-load-truncated no the server does not start before redis-check-aof
// has cut off the rest of it, and nothing acknowledged is lost. With yes, which is refused,
// it keeps half of the transaction, and writes acknowledged after it are in a file that is not valid.
func TestTornTransaction(t *testing.T) {
	redistest.URL(t) // or there is no server here
	for _, truncated := range []string{"no", "yes"} {
		t.Run(truncated, func(t *testing.T) {
			dir := t.TempDir()
			server, err := redistest.Open(dir, filepath.Join(t.TempDir(), "log"), "aof-load-truncated", truncated)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { server.Kill() }()
			s := openAt(t, server.URL(), redisstore.Options{AllowWeak: true})
			l := storetest.NewBuilder().Log("a")
			servertest.Take(t, s, l)
			torn := l.Next(l.Step("s", []byte("x")))
			if err := s.Append(t.Context(), torn); err != nil {
				t.Fatal(err)
			}
			server.Kill()
			cutTail(t, dir)
			err = server.Again()
			if truncated == "no" {
				if err == nil {
					t.Fatal("a server with a torn file has started")
				}
				var repaired bool
				repaired, err = server.Recover()
				if !repaired {
					t.Errorf("it was not repaired: %v", err)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), torn); err != nil { // its outcome was unknown, so it is asked again
				t.Fatal(err)
			}
			l.Took(torn)
			servertest.Take(t, s, l)
			server.Kill()
			text, err := checkAOF(dir)
			if truncated == "yes" {
				if err == nil {
					t.Errorf("a file with half a transaction in it is valid: the setting could be allowed\n%s", text)
				}
				return
			}
			if err != nil {
				t.Errorf("%v\n%s", err, text)
			}
			if err := server.Again(); err != nil {
				t.Fatal(err)
			}
			servertest.WantSound(t, s, "a", 3)
		})
	}
}

// cutTail cuts the end of the last transaction off.
func cutTail(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q: %v", files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], info.Size()-int64(len("EXEC\r\n"))); err != nil {
		t.Fatal(err)
	}
}

func checkAOF(dir string) (string, error) {
	text, err := exec.Command("redis-check-aof", filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest")).CombinedOutput()
	return string(text), err
}
