package stores_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// fillThread saves three checkpoints of a thread, the last of them an end.
func fillThread(t *testing.T, dir string, signer posthouse.Signer) {
	t.Helper()
	writeStore(t, dir, signer)
	store, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "posthouse.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(store, &ledger.Options{Signer: signer})
	if err == nil {
		var c *posthouse.Checkpoint
		for range 2 {
			c, err = l.Latest(t.Context(), ledger.LatestQuery{Thread: "order-1"})
			if err != nil {
				break
			}
			c = c.Derive(posthouse.State{})
			c.Status = posthouse.StatusDone
			_, err = l.Save(t.Context(), c, nil)
			if err != nil {
				break
			}
		}
		err = errors.Join(err, l.Close())
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRetainWantsTheSigningKey: an unsigned removal is a fault to verify, so a
// signed store gets no unsigned one.
func TestRetainWantsTheSigningKey(t *testing.T) {
	e := clitest.New(t)
	path := datadir.Dir(e.Path).Key()
	key, err := sign.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	fillThread(t, e.Path, key)
	refused := func(what string) {
		t.Helper()
		out := e.Run(posthouse.ExitNotFound, "retain", "--max-per-thread", "1")
		for _, want := range []string{path, "--data-dir", "--allow-unsigned"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: it does not name %s:\n%s", what, want, out)
			}
		}
		if out := e.Run(0, "retain", "--max-per-thread", "1", "--dry-run"); !strings.Contains(out, "would remove 2 checkpoints") {
			t.Errorf("%s: a dry run says %s", what, out)
		}
	}
	hide := func(path string) (back func()) {
		t.Helper()
		away := filepath.Join(t.TempDir(), "away")
		if err := os.Rename(path, away); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.Rename(away, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	keyBack := hide(path)
	refused("a ring without its key")
	ringBack := hide(path + sign.PublicSuffix)
	refused("a signed store of elsewhere")
	keyBack()
	ringBack()
	e.Run(0, "retain", "--max-per-thread", "2")
	e.Run(0, "verify")

	hide(path)
	e.Run(0, "retain", "--max-per-thread", "1", "--allow-unsigned")
	e.Run(posthouse.ExitCorrupt, "verify")

	hide(path + sign.PublicSuffix)
	fillThread(t, e.Path, nil)
	e.Run(0, "retain", "--max-per-thread", "1") // nothing is signed here
}
