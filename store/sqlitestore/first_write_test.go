package sqlitestore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestCloseWithoutAWrite folds in and removes what a killed writer left, also
// when the store was only read, by as many connections as there may be.
func TestCloseWithoutAWrite(t *testing.T) {
	for _, readers := range []int{0, 1, 4} {
		path := filepath.Join(t.TempDir(), "posthouse.db")
		s := open(t, path, nil)
		fill(t, s, newLine("t", idSource()), 3, 100)
		killed := filepath.Join(copyFiles(t, path), "posthouse.db")
		if info, err := os.Stat(killed + "-wal"); err != nil || info.Size() == 0 {
			t.Fatalf("there is no log to fold in: %v", err)
		}

		s = open(t, killed, nil)
		release := make([]func(), 0, readers)
		for range readers {
			release = append(release, s.HoldReader(t))
		}
		for _, r := range release { // the first lent is the first back
			r()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{"wal", "shm"} {
			if _, err := os.Stat(killed + "-" + q); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d readers: after Close the -%s file is there: %v", readers, q, err)
			}
		}
		verify(t, open(t, killed, nil), "t", 3)
	}
}

// TestFirstWriteFails says why a database cannot be written that could be
// opened, goes on reading it, and writes once that is possible.
func TestFirstWriteFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	l := newLine("t", idSource())
	fill(t, s, l, 2, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	inspect(t, path, func(c *sqlite.Conn) { script(t, c, "ALTER TABLE slots RENAME TO away") })
	s = open(t, path, nil)
	batch := l.node([]byte("x"))
	for range 2 {
		err := s.Append(t.Context(), batch)
		if !errors.Is(err, posthouse.ErrReadOnly) || !strings.Contains(err.Error(), "find the end of the log") {
			t.Errorf("without a table: %v", err)
		}
	}
	if n := count(t, s, "t"); n != 2 {
		t.Errorf("read %d entries, want 2", n)
	}
	inspect(t, path, func(c *sqlite.Conn) { script(t, c, "ALTER TABLE away RENAME TO slots") })
	if err := s.Append(t.Context(), batch); err != nil {
		t.Errorf("with the table back: %v", err)
	}
	if n := count(t, s, "t"); n != 3 {
		t.Errorf("read %d entries, want 3", n)
	}
}

func count(t *testing.T, s *sqlitestore.Store, thread string) (n int) {
	t.Helper()
	for _, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestLockFileIsWrittenOver leaves nothing of who had the lock before.
func TestLockFileIsWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	last := "pid 4294967295\nboot 00000000-1111-2222-3333-444444444444\n"
	if err := os.WriteFile(path+".lock", []byte(last), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, path, nil)
	b := contents(t, path+".lock")
	lines := strings.Split(string(b), "\n")
	if len(lines) != 3 || lines[0] == "pid 4294967295" || strings.Contains(string(b), "-1111-") {
		t.Errorf("the lock file says %q", b)
	}
}

// TestWriterSettings reads back how the connection writes, and what the store says of it.
func TestWriterSettings(t *testing.T) {
	for sync, want := range map[sqlitestore.Sync]int64{sqlitestore.SyncFull: 2, sqlitestore.SyncNormal: 1} {
		s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), &sqlitestore.Options{Sync: sync})
		for pragma, v := range map[string]int64{
			"synchronous": want, "secure_delete": 1, "journal_size_limit": 16 << 20, "wal_autocheckpoint": 1000,
			"trusted_schema": 0, "cell_size_check": 1, "mmap_size": 0,
		} {
			if got, err := s.WriterPragma(t.Context(), pragma); err != nil || got != v {
				t.Errorf("sync %d: %s is %d, %v; want %d", sync, pragma, got, err, v)
			}
		}
		weak, err := s.Weak(t.Context())
		if err != nil || len(weak) != int(sync) || sync == sqlitestore.SyncNormal && !strings.Contains(weak[0], "SyncNormal") {
			t.Errorf("sync %d: weak by %q, %v", sync, weak, err)
		}
	}
}
