package golden_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/sign/statement"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// backedUp are stores that copy themselves while they are in use, as posthouse backup does.
var backedUp = map[string]kind{
	"files, by their own backup": {
		func(t *testing.T) (posthouse.Store, func(*testing.T) map[string][]byte) {
			store := opened[*filestore.Store](t)(filestore.Open(t.Context(), filepath.Join(t.TempDir(), "store"), nil))
			copied := filepath.Join(t.TempDir(), "backup")
			return backsUp{store, t, copied}, dumpOf(copied)
		}, restoreFiles,
	},
	"sqlite, by its own backup": {
		func(t *testing.T) (posthouse.Store, func(*testing.T) map[string][]byte) {
			store := opened[*sqlitestore.Store](t)(sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "posthouse.db"), nil))
			copied := filepath.Join(t.TempDir(), "backup.db")
			return backsUp{store, t, copied}, dumpOf(filepath.Dir(copied))
		}, restoreSQLite,
	},
}

// A backsUp store makes its backup just before it is closed.
type backsUp struct {
	posthouse.Store
	t  *testing.T
	to string
}

func (s backsUp) Close() error {
	return errors.Join(s.Store.(posthouse.Backuper).Backup(s.t.Context(), s.to), s.Store.Close())
}

func restoreSQLite(t *testing.T, files map[string][]byte) posthouse.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	if err := os.WriteFile(path, files["backup.db"], 0o600); err != nil {
		t.Fatal(err)
	}
	return opened[*sqlitestore.Store](t)(sqlitestore.Open(t.Context(), path, nil))
}

// TestOldBackupIsFound puts a backup in the place of a store that has grown since: on every
// kind of store, by what its operators restore. The store is consistent in itself, and a
// witness of the grown one tells which threads are shorter and which are gone.
func TestOldBackupIsFound(t *testing.T) {
	all := map[string]kind{}
	for _, some := range []map[string]kind{kinds, backedUp} {
		for name, k := range some {
			all[name] = k
		}
	}
	ring, err := sign.NewRing(testKey(t).Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range all {
		t.Run(name, func(t *testing.T) {
			store, dump := k.create(t)
			grow(t, store, "grows", "stays")
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			backup := dump(t)

			grown := k.restore(t, backup)
			before := witnessOf(t, grown)
			grow(t, grown, "grows", "new")
			after := witnessOf(t, grown)
			wantFaults(t, grown, ring, before, nil)
			wantFaults(t, grown, ring, after, nil)

			old := k.restore(t, backup)
			wantFaults(t, old, ring, nil, nil) // the control: nothing to be seen without a witness
			wantFaults(t, old, ring, before, nil)
			wantFaults(t, old, ring, after, map[string]sign.FaultKind{"grows": sign.FaultRewound, "new": sign.FaultVanished})
		})
	}
}

// grow appends to each thread, signed.
func grow(t *testing.T, store posthouse.Store, threads ...string) {
	t.Helper()
	l, err := ledger.Open(store, &ledger.Options{Signer: testKey(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range threads {
		for n := range 3 {
			_, err := l.Commit(t.Context(), &ledger.Draft{Thread: name, Checkpoint: &posthouse.Change{
				Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Next: []string{"n"},
				Parts: []posthouse.Part{{Name: "n", Codec: "raw", Data: []byte{byte(n)}}},
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func witnessOf(t *testing.T, store posthouse.Store) *sign.Head {
	t.Helper()
	head, err := statement.Witness(t.Context(), store, testKey(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// wantFaults verifies a store and wants one fault for each thread named, and no other.
func wantFaults(t *testing.T, store posthouse.Store, ring *sign.Ring, witness *sign.Head, want map[string]sign.FaultKind) {
	t.Helper()
	report, err := sign.Verify(t.Context(), store, ring, &sign.VerifyOptions{Witness: witness, RequireSigned: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Faults) != len(want) {
		t.Errorf("faults %+v, want %v", report.Faults, want)
	}
	for _, f := range report.Faults {
		if want[f.Thread] != f.Kind {
			t.Errorf("thread %s: %+v, want %s", f.Thread, f, want[f.Thread])
		}
	}
}
