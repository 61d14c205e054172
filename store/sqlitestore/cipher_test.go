package sqlitestore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func keyring(t testing.TB) *crypt.Keyring {
	t.Helper()
	r, err := crypt.NewKeyring(map[string][]byte{"k1": bytes.Repeat([]byte("k"), 32)}, "k1")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLedgerRulesWithACipher runs what the Ledger promises with all bodies sealed.
func TestLedgerRulesWithACipher(t *testing.T) {
	if testing.Short() {
		t.Skip("the Ledger over a store in memory has the same rules")
	}
	h := harness()
	h.Only = "ledger/"
	ledgertest.Run(t, h, &ledgertest.Options{Cipher: keyring(t)})
}

// secretThread puts the secret wherever a thread can have it.
func secretThread(t testing.TB, s posthouse.Store, c posthouse.Cipher, secret string) posthouse.ID {
	t.Helper()
	l, err := ledger.Open(s, &ledger.Options{Cipher: c})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(d ledger.Draft) *posthouse.Committed {
		t.Helper()
		d.Thread = "t"
		done, err := l.Commit(t.Context(), &d)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	for range 5 {
		commit(ledger.Draft{Steps: []posthouse.Step{{Task: "1/n", Name: "s", Value: posthouse.Value{Codec: "raw", Data: []byte(secret)}}}})
	}
	done := commit(ledger.Draft{Checkpoint: &posthouse.Change{
		Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Metadata: map[string]string{"m": secret},
		State: posthouse.State{"a": {Codec: "raw", Data: []byte(secret)}, "b": {Codec: "raw", Data: []byte("b" + secret)}},
	}, Gates: []posthouse.Gate{{Name: "g", Payload: []byte(`"` + secret + `"`)}}})
	if _, err := l.Decide(t.Context(), done.Gates[0].ID, posthouse.Decision{
		Verdict: posthouse.Edit, By: "ann", Reason: secret, Value: []byte(`"` + secret + `"`),
	}); err != nil {
		t.Fatal(err)
	}
	return done.Checkpoint.ID
}

// inFiles names the files of a directory that hold the secret.
func inFiles(t testing.TB, dir, secret string) (found []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(secret)) {
			found = append(found, f.Name())
		}
	}
	return found
}

// TestNothingInTheClearOnDisk looks into the database, its write-ahead log with
// everything in it and emptied, a compacted file and a backup. The control arm
// without a cipher must be found.
func TestNothingInTheClearOnDisk(t *testing.T) {
	for _, arm := range []struct {
		name   string
		cipher posthouse.Cipher
		found  bool
	}{{"sealed", keyring(t), false}, {"plain", nil, true}} {
		t.Run(arm.name, func(t *testing.T) {
			dir, secret := t.TempDir(), "open-sesame-0815"
			path := filepath.Join(dir, "posthouse.db")
			s := open(t, path, nil)
			id := secretThread(t, s, arm.cipher, secret)
			look := func(when string) {
				t.Helper()
				if found := inFiles(t, dir, secret); len(found) > 0 != arm.found {
					t.Errorf("%s: the secret is in %v", when, found)
				}
			}
			if st, err := os.Stat(path + "-wal"); err != nil || st.Size() == 0 {
				t.Fatalf("the write-ahead log is empty, so that looking at it says nothing: %v", err)
			}
			look("in the write-ahead log")
			if err := s.Backup(t.Context(), filepath.Join(dir, "backup.db")); err != nil {
				t.Fatal(err)
			}
			look("with a backup")
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			look("closed, the log folded in")
			s = open(t, path, nil)
			if arm.cipher != nil {
				if _, err := s.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
				look("compacted")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{path, filepath.Join(dir, "backup.db")} {
				s = open(t, file, nil)
				l, err := ledger.Open(s, &ledger.Options{Cipher: arm.cipher})
				if err != nil {
					t.Fatal(err)
				}
				if c, err := l.Get(t.Context(), id); err != nil || string(c.State["a"].Data) != secret {
					t.Errorf("%s: read back: %v", filepath.Base(file), err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestCompactLeavesSealedBodiesAlone compacts a thread that was begun in the
// clear and went on sealed: only what is plain is rewritten.
func TestCompactLeavesSealedBodiesAlone(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	defer closeStore(t, s)
	long := strings.Repeat("all work and no play ", 100)
	for i, c := range []posthouse.Cipher{nil, keyring(t)} {
		secretThread(t, s, c, long)
		done, err := s.Compact(t.Context())
		if err != nil || (done.Bodies > 0) != (i == 0) {
			t.Errorf("cipher %v: %+v, %v", c != nil, done, err)
		}
		again, err := ledger.Open(s, &ledger.Options{Cipher: keyring(t)})
		if err != nil {
			t.Fatal(err)
		}
		for c, err := range again.ListStates(t.Context(), posthouse.Query{Thread: "t"}) {
			if err != nil || string(c.State["a"].Data) != long {
				t.Errorf("read back: %v", err)
			}
		}
	}
}

func closeStore(t testing.TB, s *sqlitestore.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
