package sqlitestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/damage"
)

// TestTruncatedFile cuts the database off at many lengths: it is found, or changes no
// answer. Of a file of no bytes nothing is served.
func TestTruncatedFile(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.db")
	sample(t, base)
	whole, want := contents(t, base), answers(t, base)
	path := filepath.Join(dir, "posthouse.db")
	tally := damage.Begin(t)
	for size := 0; size < len(whole); size += stride(len(whole), 300) {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		switch got := answers(t, path); {
		case strings.Contains(got, "error"):
			tally.Found("cut off")
		case got != want:
			tally.Served("cut off", "cut off at byte %d of %d: the answers are others and nobody noticed", size, len(whole))
		default:
			tally.Same("cut off")
		}
		_ = os.Remove(path + "-wal")
		_ = os.Remove(path + "-shm")
	}
	if tally.Of("cut off").Found == 0 {
		t.Error("nothing was found")
	}
}

// TestTruncatedWAL cuts the write-ahead log off at many lengths. The store is then as it
// was after an earlier commit, whole, or says that it is damaged. That the last commits
// are missing only a witness can tell.
func TestTruncatedWAL(t *testing.T) {
	dir := t.TempDir()
	base, path := filepath.Join(dir, "base.db"), filepath.Join(dir, "posthouse.db")
	sample(t, base)
	s := open(t, base, nil)
	ids := idSource()
	put := func(db, wal []byte) string {
		for name, b := range map[string][]byte{path: db, path + "-wal": wal} {
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_ = os.Remove(path + "-shm")
		return answers(t, path)
	}
	states := map[string]bool{answers(t, base): true}
	var db, wal []byte
	for _, name := range []string{"gamma", "delta", "epsilon"} {
		l := newLine(name, ids)
		for range 3 {
			commit(t, s, l.node([]byte(`"state"`)))
			db, wal = contents(t, base), contents(t, base+"-wal")
			states[put(db, wal)] = true
		}
	}
	if len(states) != 10 || len(wal) == 0 {
		t.Fatalf("%d states, and a log of %d bytes", len(states), len(wal))
	}
	for state := range states {
		if strings.Contains(state, "error") {
			t.Fatal(state)
		}
	}
	tally, older := damage.Begin(t), map[string]bool{}
	for size := 0; size < len(wal); size += stride(len(wal), 200) {
		switch got := put(db, wal[:size]); {
		case strings.Contains(got, "error"):
			tally.Found("log cut off")
		case !states[got]:
			tally.Served("log cut off", "cut off at byte %d of %d: the store is as it never was", size, len(wal))
		default:
			tally.Older("log cut off")
			older[got] = true
		}
	}
	t.Logf("%d earlier states", len(older))
}
