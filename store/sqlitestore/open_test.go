package sqlitestore_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "a", "b", "posthouse.db")
	s := open(t, path, nil)
	fill(t, s, newLine("t", idSource()), 3, 100)
	for name, want := range map[string]fs.FileMode{
		"a": 0o700, "a/b": 0o700, "a/b/posthouse.db": 0o600, "a/b/posthouse.db-wal": 0o600,
		"a/b/posthouse.db-shm": 0o600, "a/b/posthouse.db.lock": 0o600,
	} {
		info, err := os.Stat(filepath.Join(base, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
	if !s.Exclusive() {
		t.Error("not exclusive")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	for _, q := range []string{"wal", "shm"} {
		if _, err := os.Stat(path + "-" + q); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after Close the -%s file is there: %v", q, err)
		}
	}
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	open(t, path, &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	want := map[string]string{
		"application_id": fmt.Sprint(0x706f7374), "user_version": "8", "page_size": "4096", "journal_mode": "wal",
	}
	inspect(t, path, func(c *sqlite.Conn) {
		for pragma, v := range want {
			if got := value(t, c, "PRAGMA "+pragma); got != v {
				t.Errorf("%s is %s, want %s", pragma, got, v)
			}
		}
	})
	if err := sqlitestore.CheckEngine(3051002); err == nil {
		t.Error("SQLite 3.51.2 passed")
	}
	if err := sqlitestore.CheckEngine(3051003); err != nil {
		t.Error(err)
	}
}

func TestOneProcessWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	_, err := sqlitestore.Open(t.Context(), path, nil)
	if !errors.Is(err, posthouse.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) ||
		!strings.Contains(err.Error(), "stop that process") {
		t.Errorf("a second Open: %v", err)
	}
	lock, err := os.ReadFile(path + ".lock")
	if err != nil || !strings.Contains(string(lock), "boot ") {
		t.Errorf("the lock file says %q, %v", lock, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, nil)
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := filepath.Join(dir, "other.db")
	inspectNew(t, other, func(c *sqlite.Conn) { script(t, c, "CREATE TABLE x (a)") })
	stamped := filepath.Join(dir, "stamped.db")
	inspectNew(t, stamped, func(c *sqlite.Conn) { script(t, c, "PRAGMA application_id=5; PRAGMA user_version=1") })
	for _, c := range []struct {
		name, path string
		o          *sqlitestore.Options
		want       error
		says       string
	}{
		{"no path", "", nil, posthouse.ErrInvalid, "memory:"},
		{"memory", ":memory:", nil, posthouse.ErrInvalid, "memory:"},
		{"a directory", dir, nil, posthouse.ErrInvalid, "posthouse.db"},
		{"a file for a directory", filepath.Join(write("file", "x"), "db"), nil, posthouse.ErrInvalid, "directory"},
		{"no database", write("text", strings.Repeat("not a database ", 500)), nil, posthouse.ErrCorrupt, "backup"},
		{"another's database", other, nil, posthouse.ErrCorrupt, "did not make"},
		{"another's stamp", stamped, nil, posthouse.ErrCorrupt, "did not make"},
		{"nothing to read", filepath.Join(dir, "none.db"), &sqlitestore.Options{ReadOnly: true}, posthouse.ErrNotFound, "no store"},
		{"an empty file to read", write("empty.db", ""), &sqlitestore.Options{ReadOnly: true}, posthouse.ErrCorrupt, "holds no store"},
		{"sync", other, &sqlitestore.Options{Sync: 9}, posthouse.ErrInvalid, "Sync"},
		{"readers", other, &sqlitestore.Options{Readers: 65}, posthouse.ErrInvalid, "Readers"},
		{"busy", other, &sqlitestore.Options{BusyTimeout: -1}, posthouse.ErrInvalid, "BusyTimeout"},
		{"poll", other, &sqlitestore.Options{Poll: -1}, posthouse.ErrInvalid, "Poll"},
	} {
		_, err := sqlitestore.Open(t.Context(), c.path, c.o)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// They left no lock.
	if err := os.Remove(filepath.Join(dir, "text")); err != nil {
		t.Fatal(err)
	}
	open(t, filepath.Join(dir, "text"), nil)
}

// TestNewerSchema refuses a database of a newer program, also one that was
// killed and left its log, and does not change a byte of it.
func TestNewerSchema(t *testing.T) {
	for _, killed := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "posthouse.db")
		s := open(t, path, nil)
		fill(t, s, newLine("t", idSource()), 20, 500)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var keep *sqlite.Conn
		if killed { // a reader keeps the log from being folded in
			keep = conn(t, path)
			script(t, keep, "BEGIN; SELECT count(*) FROM entries")
		}
		inspect(t, path, func(c *sqlite.Conn) { script(t, c, "PRAGMA user_version=10; UPDATE tails SET seq = seq") })
		if killed {
			dir = copyFiles(t, path)
			path = filepath.Join(dir, "posthouse.db")
			if err := keep.Close(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
				t.Fatalf("there is no log to leave alone: %v", err)
			}
		}
		before := hashFiles(t, path, path+"-wal")
		for _, o := range []*sqlitestore.Options{nil, {ReadOnly: true}} {
			_, err := sqlitestore.Open(t.Context(), path, o)
			if !errors.Is(err, posthouse.ErrNewer) || !strings.Contains(err.Error(), "version 10") || !strings.Contains(err.Error(), "up to 8") {
				t.Errorf("killed %v: %v", killed, err)
			}
		}
		if after := hashFiles(t, path, path+"-wal"); after != before {
			t.Errorf("killed %v: the file was changed", killed)
		}
	}
}

func TestManyOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []*sqlitestore.Store
	for range 20 {
		wg.Go(func() {
			s, err := sqlitestore.Open(t.Context(), path, nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won = append(won, s)
			case !errors.Is(err, posthouse.ErrLocked):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Fatalf("%d have it open", len(won))
	}
	if err := won[0].Close(); err != nil {
		t.Error(err)
	}
}

func TestAfterClose(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	l := newLine("t", idSource())
	fill(t, s, l, 2, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, find := s.Find(ctx, "x")
	_, compact := s.Compact(ctx)
	_, remove := s.Remove(ctx, posthouse.Removal{Thread: "t", All: true})
	_, slot := s.Slot(ctx, posthouse.SlotKey{Thread: "t", Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut})
	for name, err := range map[string]error{
		"Append": s.Append(ctx, l.node([]byte("x"))), "Find": find, "Compact": compact, "Remove": remove, "Slot": slot,
		"Backup": s.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")),
	} {
		if !errors.Is(err, posthouse.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBusy holds the database's write lock as another program would.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, &sqlitestore.Options{BusyTimeout: time.Millisecond})
	l := newLine("t", idSource())
	batch := l.node([]byte("x"))
	inspect(t, path, func(c *sqlite.Conn) {
		script(t, c, "BEGIN IMMEDIATE")
		if err := s.Append(t.Context(), batch); !errors.Is(err, posthouse.ErrLocked) {
			t.Errorf("while another program writes: %v", err)
		}
		script(t, c, "ROLLBACK")
	})
	if err := s.Append(t.Context(), batch); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func open(t testing.TB, path string, o *sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// conn opens the database beside the store.
func conn(t testing.TB, path string) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func inspect(t testing.TB, path string, fn func(*sqlite.Conn)) {
	t.Helper()
	c := conn(t, path)
	fn(c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func inspectNew(t testing.TB, path string, fn func(*sqlite.Conn)) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	fn(c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func script(t testing.TB, c *sqlite.Conn, sql string) {
	t.Helper()
	for sql = strings.TrimSpace(sql); sql != ""; {
		one, rest, _ := strings.Cut(sql, ";")
		if err := sqlitex.ExecuteTransient(c, one, nil); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		sql = strings.TrimSpace(rest)
	}
}

func value(t testing.TB, c *sqlite.Conn, sql string) (v string) {
	t.Helper()
	err := sqlitex.ExecuteTransient(c, sql, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		v = stmt.ColumnText(0)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// copyFiles copies a database and its log, as a killed machine leaves them.
func copyFiles(t testing.TB, path string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)+suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hashFiles(t testing.TB, paths ...string) (sum [32]byte) {
	t.Helper()
	h := sha256.New()
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		fmt.Fprintln(h, len(b))
		h.Write(b)
	}
	h.Sum(sum[:0])
	return sum
}
