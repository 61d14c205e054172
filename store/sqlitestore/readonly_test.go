//go:build unix

package sqlitestore_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func TestReadOnlyBesideAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	w := open(t, path, nil)
	l := newLine("t", idSource())
	fill(t, w, l, 5, 300)
	r := open(t, path, &sqlitestore.Options{ReadOnly: true})
	verify(t, r, "t", 5)
	fill(t, w, l, 200, 3000) // through several folds of the log
	verify(t, r, "t", 205)
	if r.Exclusive() {
		t.Error("a reader is not exclusive")
	}
	ctx := t.Context()
	for name, err := range map[string]error{
		"Append": r.Append(ctx, l.node(nil)), "Compact": second(r.Compact(ctx)),
		"Remove": second(r.Remove(ctx, posthouse.Removal{Thread: "t", All: true})),
		"Slot":   second(r.Slot(ctx, posthouse.SlotKey{Thread: "t", Step: "s"}, posthouse.SlotOp{Verb: posthouse.SlotPut})),
	} {
		if !errors.Is(err, posthouse.ErrReadOnly) || !strings.Contains(err.Error(), "open for writing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Slot(ctx, posthouse.SlotKey{Thread: "t", Step: "s"}, posthouse.SlotOp{}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("reading a slot: %v", err)
	}
	if err := r.Backup(ctx, filepath.Join(t.TempDir(), "copy.db")); err != nil {
		t.Errorf("Backup: %v", err)
	}
	if _, err := w.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	verify(t, r, "t", 205)
}

// TestReadOnlyLeavesAStoppedStoreAlone reads a store that no process has open.
func TestReadOnlyLeavesAStoppedStoreAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "posthouse.db")
	sample(t, path)
	before := hashFiles(t, path)
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, &sqlitestore.Options{ReadOnly: true})
	verify(t, s, "alpha", 9)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if hashFiles(t, path) != before {
		t.Error("the database was changed")
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if info, err := os.Stat(n); n != path && (err != nil || info.Size() > 32<<10 || !strings.HasSuffix(n, "-shm") && !strings.HasSuffix(n, "-wal")) {
			t.Errorf("it left %s behind", n)
		}
	}
	open(t, path, nil) // no lock was taken that stays
}

// TestReadOnlyAfterAKill reads what a killed writer left in its log.
func TestReadOnlyAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	acked := killed(t, "append", path, 50*time.Millisecond)
	s := open(t, path, &sqlitestore.Options{ReadOnly: true})
	if lost := missing(t, s, acked); len(lost) > 0 {
		t.Errorf("lost: %v", lost)
	}
	noDifference(t, s)
}

// TestReadOnlyDirectory reads in a directory that the reader cannot write to.
func TestReadOnlyDirectory(t *testing.T) {
	dir, err := os.MkdirTemp("", "readonly") // not below a private directory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(dir, 0o700)
		_ = os.RemoveAll(dir)
	})
	path := filepath.Join(dir, "posthouse.db")
	sample(t, path)
	answer := func() string { return asNobody(t, dir, path) }

	clean := answer()
	if clean != "alpha 9\nbeta 3\n" {
		t.Errorf("without a log it says %q", clean)
	}
	// With a log that needs to be recovered it cannot be read there.
	keep := conn(t, path)
	script(t, keep, "BEGIN; SELECT count(*) FROM entries")
	inspect(t, path, func(c *sqlite.Conn) { script(t, c, "UPDATE tails SET seq = seq") })
	killedDir := copyFiles(t, path)
	if err := keep.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if err := os.WriteFile(path+suffix, contents(t, filepath.Join(killedDir, "posthouse.db"+suffix)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := answer(); !strings.Contains(got, "copy the database together with its -wal file") {
		t.Errorf("with a log it says %q", got)
	}
}

// asNobody reads the store in a process that may not write in its directory.
func asNobody(t *testing.T, dir, path string) string {
	t.Helper()
	binary := filepath.Join(dir, "test.bin")
	if _, err := os.Stat(binary); err != nil {
		if err := os.WriteFile(binary, contents(t, os.Args[0]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{dir: 0o555, path: 0o444, path + "-wal": 0o444} {
		if err := os.Chmod(name, mode); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	defer func() { _ = os.Chmod(dir, 0o755) }()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childEnv+"=read", childDB+"="+path)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = "/"
	}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	said, _, _ := strings.Cut(string(out), "error: coverage") // which it may not write either
	return said
}

// TestWatchFromAnotherProcess follows a writer through a store opened for
// reading, which looks again and again.
func TestWatchFromAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	w := open(t, path, nil)
	l := newLine("t", idSource())
	fill(t, w, l, 2, 100)
	r := open(t, path, &sqlitestore.Options{ReadOnly: true, Poll: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	next, seen := make(chan bool), make(chan uint64)
	watch := r.Watch(ctx, "now")
	go func() {
		defer close(seen)
		for e, err := range watch {
			if err != nil {
				return
			}
			seen <- e.Seq
			<-next
		}
	}()
	for want := uint64(3); want < 8; want++ {
		fill(t, w, l, 1, 100)
		if got := <-seen; got != want {
			t.Errorf("saw entry %d, want %d", got, want)
		}
		next <- true
	}
	cancel()
	<-seen
	for _, bad := range []string{"x", "-1", "9999999999999999999999"} {
		for _, err := range r.Watch(t.Context(), bad) {
			if !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	}
}
