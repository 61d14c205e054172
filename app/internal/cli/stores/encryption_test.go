package stores_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/ledger"
)

// TestEncryptionWalk encrypts, rotates and retires as the documentation says,
// and takes the keys away.
func TestEncryptionWalk(t *testing.T) {
	e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(e.Serve(nil, func(r *host.Host) { e.Save(r, "before", "plain") }))
	if out := e.Run(0, "encryption", "status"); !strings.Contains(out, "not encrypted") {
		t.Errorf("status of a plain store:\n%s", out)
	}
	ok(e.Serve([]string{"--encrypt"}, func(r *host.Host) { e.Save(r, "a", "open sesame") }))
	ok(e.Serve(nil, func(r *host.Host) { e.Save(r, "b", "open sesame") })) // the key file is there: it goes on encrypting
	for _, f := range []string{"posthouse.db", "posthouse.db-wal"} {
		data, err := os.ReadFile(filepath.Join(e.Path, f))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("open sesame")) {
			t.Errorf("%s holds the secret", f)
		}
	}
	e.Run(0, "verify")

	type key struct {
		ID               string
		Current, Missing bool
		Wraps            int
	}
	var status struct{ Keys []key }
	read := func() []key {
		t.Helper()
		status.Keys = nil
		ok(json.Unmarshal([]byte(e.Run(0, "encryption", "status", "--json")), &status))
		return status.Keys
	}
	old := read()[0]
	if !old.Current || old.Wraps != 2 {
		t.Errorf("old %+v", old)
	}
	e.Run(0, "encryption", "rotate", "--yes")
	if keys := read(); len(keys) != 2 || keys[0].Wraps != 2 || !keys[1].Current || keys[1].Wraps != 0 {
		t.Errorf("rotated: %+v", keys)
	}
	e.Run(posthouse.ExitConflict, "encryption", "retire", old.ID, "--yes")
	e.Run(posthouse.ExitConflict, "encryption", "retire", old.ID, "--dry-run")
	if out := e.Run(0, "encryption", "rewrap", "--dry-run", "--json"); !strings.Contains(out, `"keys": 2`) || !strings.Contains(out, `"current": 0`) {
		t.Errorf("rewrap --dry-run says %q", out)
	}
	if keys := read(); keys[0].Wraps != 2 {
		t.Errorf("after a dry run: %+v", keys)
	}
	ok(e.Serve(nil, func(r *host.Host) { r.Rewrap(t.Context()) }))
	if keys := read(); keys[0].Wraps != 0 || keys[1].Wraps != 2 {
		t.Errorf("restarted: %+v", keys)
	}
	if out := e.Run(0, "encryption", "rewrap"); !strings.Contains(out, "wrapped 0 data keys anew; 2 were before") {
		t.Errorf("rewrap says %q", out)
	}
	e.Run(0, "encryption", "retire", old.ID, "--dry-run")
	e.Run(0, "encryption", "retire", old.ID, "--yes")
	e.Run(posthouse.ExitNotFound, "encryption", "retire", old.ID, "--dry-run")
	e.Run(posthouse.ExitNotFound, "encryption", "retire", old.ID, "--yes")

	elsewhere := filepath.Join(t.TempDir(), "keys")
	ok(os.Rename(filepath.Join(e.Path, "encryption.keys"), elsewhere))
	if err := e.Serve(nil, nil); !errors.Is(err, posthouse.ErrSealed) || !strings.Contains(err.Error(), "POSTHOUSE_KEYS") {
		t.Errorf("without the key file it starts: %v", err)
	}
	if err := e.Serve([]string{"--keys", elsewhere + ".not"}, nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("with a key file that is not there: %v", err)
	}
	if keys := read(); len(keys) != 1 || !keys[0].Missing {
		t.Errorf("the key is missing: %+v", keys)
	}
	e.Vars["POSTHOUSE_KEYS"] = elsewhere
	if keys := read(); len(keys) != 1 || keys[0].Missing || keys[0].Wraps != 2 {
		t.Errorf("with POSTHOUSE_KEYS: %+v", keys)
	}
	ok(e.Serve([]string{"--keys", elsewhere}, func(r *host.Host) {
		for _, thread := range []string{"before", "a", "b"} {
			if _, err := r.Ledger.Latest(context.Background(), ledger.LatestQuery{Thread: thread}); err != nil {
				t.Errorf("thread %s: %v", thread, err)
			}
		}
	}))
}

// TestEncryptedAfterPlainThreads: a server without the key file is refused,
// however many plain threads the store had before it was encrypted; somebody can
// decide otherwise, on record.
func TestEncryptedAfterPlainThreads(t *testing.T) {
	e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	const plain = 1200
	if err := e.Serve(nil, func(r *host.Host) {
		for i := range plain {
			e.Save(r, fmt.Sprintf("a%05d", i), "plain")
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := e.Serve([]string{"--encrypt"}, func(r *host.Host) { e.Save(r, "z", "open sesame") }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(e.Path, "encryption.keys")); err != nil {
		t.Fatal(err)
	}
	if err := e.Serve(nil, nil); !errors.Is(err, posthouse.ErrSealed) {
		t.Fatalf("without the key file it starts: %v", err)
	}
	if out := e.Run(0, "encryption", "status"); !strings.Contains(out, "the store is encrypted") {
		t.Errorf("status says\n%s", out)
	}
	e.Run(posthouse.ExitUsage, "encryption", "clear", "--yes", "--by", "ann")
	e.Run(0, "encryption", "clear", "--yes", "--by", "ann", "--reason", "the keys are lost")
	if err := e.Serve(nil, func(r *host.Host) { e.Save(r, "new", "plain") }); err != nil {
		t.Error(err)
	}
	if out := e.Run(0, "encryption", "status"); !strings.Contains(out, "ann decided to write in the clear: the keys are lost") {
		t.Errorf("status says\n%s", out)
	}
}
