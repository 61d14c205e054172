//go:build unix

package filelock_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestCloseWhileAProcessStarts gives a lock back while the file is open a second time, as it is
// in a process between fork and exec.
func TestCloseWhileAProcessStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	f := take(t, path)
	child, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(child)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := take(t, path).Close(); err != nil {
		t.Error(err)
	}
}
