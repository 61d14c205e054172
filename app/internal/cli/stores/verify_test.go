package stores_test

import (
	"encoding/json"
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

// writeStore makes the store of a data directory, with a run that ended.
func writeStore(t *testing.T, dir string, signer posthouse.Signer) {
	t.Helper()
	path := filepath.Join(dir, "posthouse.db")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	store, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(store, &ledger.Options{Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	c := posthouse.Root("order-1", posthouse.State{})
	c.Status = posthouse.StatusDone
	_, err = l.Save(t.Context(), c, nil)
	if err := errors.Join(err, l.Close(), store.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyWantsSignatures rewrites history without signatures, sound in
// itself, as whoever can write to the database could.
func TestVerifyWantsSignatures(t *testing.T) {
	e := clitest.New(t)
	key, err := sign.LoadOrCreate(datadir.Dir(e.Path).Key())
	if err != nil {
		t.Fatal(err)
	}
	wants := func(code int, text string, args ...string) {
		t.Helper()
		if out := e.Run(code, append([]string{"verify"}, args...)...); !strings.Contains(out, text) {
			t.Errorf("verify %v does not say %q:\n%s", args, text, out)
		}
	}
	writeStore(t, e.Path, key)
	wants(0, "ok")

	writeStore(t, e.Path, nil)
	wants(posthouse.ExitCorrupt, "the end of a run is covered by no signature")
	wants(posthouse.ExitCorrupt, "nothing in it is signed: if that is right, pass --allow-unsigned")
	wants(0, "ok", "--allow-unsigned")

	ring := datadir.Dir(e.Path).Key() + sign.PublicSuffix
	away := filepath.Join(t.TempDir(), "ring.pem")
	if err := os.Rename(ring, away); err != nil {
		t.Fatal(err)
	}
	wants(posthouse.ExitCorrupt, "FAULT unsigned: there are no public keys")
	wants(0, "ok", "--allow-unsigned")
	wants(posthouse.ExitCorrupt, "the end of a run is covered by no signature", "--key", away)
	writeStore(t, e.Path, key)
	wants(posthouse.ExitCorrupt, "FAULT unsigned: there are no public keys")
	wants(0, "ok", "--key", away)
	wants(3, "not-found", "--key", "nowhere.pem", "--json")

	var report sign.Report
	if err := json.Unmarshal([]byte(e.Run(posthouse.ExitCorrupt, "verify", "--json")), &report); err != nil || len(report.Faults) != 1 {
		t.Errorf("as JSON: %v, %+v", err, report)
	}
}
