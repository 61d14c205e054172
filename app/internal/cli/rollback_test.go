package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/host"
)

// wantBehind has a start refuse a store that was put back, and name what is missing.
func wantBehind(t *testing.T, e *clitest.Dir, what string) {
	t.Helper()
	err := e.Serve(nil, nil)
	var pe *posthouse.Error
	if !errors.As(err, &pe) || pe.Code != posthouse.CodeConflict || !strings.Contains(pe.Message, "late entry 1") || !strings.Contains(pe.Hint, "accept-rollback") {
		t.Errorf("%s: it starts, or says %v", what, err)
	}
}

// A store that was put back by hand is refused until somebody says that this is meant; restore says so
// itself, and keeps what was there.
func TestRollbackIsNoticed(t *testing.T) {
	e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	db, backup := filepath.Join(e.Path, "posthouse.db"), filepath.Join(t.TempDir(), "backup.db")
	serve := func(thread string) {
		t.Helper()
		if err := e.Serve(nil, func(h *host.Host) { e.Save(h, thread, "x") }); err != nil {
			t.Fatal(err)
		}
	}
	serve("early")
	e.Run(0, "backup", backup)
	serve("late")
	data, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(db + beside); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(db, data, 0o600); err != nil {
		t.Fatal(err)
	}
	wantBehind(t, e, "put back by hand")
	wantBehind(t, e, "again")
	clitest.Wants(t, "accept-rollback --dry-run", e.Run(0, "store", "accept-rollback", "--dry-run"), "missing: thread late entry 1", "would be marked", "nothing was written")
	wantBehind(t, e, "after a dry run")
	clitest.Wants(t, "accept-rollback", e.Run(0, "store", "accept-rollback", "--yes", "--by", "ann"), "missing: thread late entry 1", "put back to", "1 thread marked")
	serve("later")
	e.Run(0, "verify")

	serve("late")
	clitest.Wants(t, "restore --dry-run", e.Run(0, "restore", backup, "--dry-run"), "would be marked", "nothing was written")
	out := e.Run(0, "restore", backup, "--yes")
	clitest.Wants(t, "restore", out, db+".before-restore", "put back to")
	serve("last")
	e.Run(0, "verify")
	e.Run(0, "verify", "--store", "sqlite:"+db+".before-restore")
	if left, err := filepath.Glob(db + ".restoring*"); err != nil || len(left) > 0 {
		t.Errorf("restore left %v, %v", left, err)
	}
}
