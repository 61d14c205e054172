package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/host"
)

// TestVanishedStore: a store that is gone, or is an empty file, beside a key that
// has signed is not replaced unasked; verify says what it is.
func TestVanishedStore(t *testing.T) {
	e := &encrypted{t: t, dir: t.TempDir(), env: map[string]string{"HOME": t.TempDir()}}
	db := filepath.Join(e.dir, "posthouse.db")
	if err := e.serve(serveFlags{}, func(r *host.Host) { e.save(r, "t", "x") }); err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		err := e.serve(serveFlags{}, nil)
		var pe *posthouse.Error
		if !errors.As(err, &pe) || pe.Code != posthouse.CodeNotFound || !strings.Contains(pe.Hint, "--new-store") {
			t.Errorf("%s: it starts, or says %v", what, err)
		}
	}
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	refused("without the file")
	if _, err := os.Stat(db); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a new store was made all the same: %v", err)
	}
	for _, content := range []string{"", "x"} {
		if err := os.WriteFile(db, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := e.cli(posthouse.ExitCorrupt, "verify"); !strings.Contains(out, "holds no store") {
			t.Errorf("verify of %d bytes says\n%s", len(content), out)
		}
		e.cli(posthouse.ExitCorrupt, "compact")
	}
	if err := os.Truncate(db, 0); err != nil {
		t.Fatal(err)
	}
	refused("with an empty file")
	a := e.app(&bytes.Buffer{})
	a.dataDir = e.dir
	r, err := a.open(t.Context(), &serveFlags{addr: "127.0.0.1:0", logLevel: "error", newStore: true})
	if err != nil {
		t.Fatal("with --new-store: ", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := e.serve(serveFlags{}, nil); err != nil {
		t.Error("and then: ", err)
	}
}
