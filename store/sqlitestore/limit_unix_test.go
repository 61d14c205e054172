//go:build unix

package sqlitestore_test

import (
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/posthouse/posthouse"
)

// limitFileSize makes writes beyond n bytes of a file fail.
func limitFileSize(n uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}

// TestWritesThatFail gives a process a limit on the size of its files, so that
// the operating system itself refuses a write.
func TestWritesThatFail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	cmd, out := startChild(t, "limited", path)
	acked, said := 0, map[string]string{}
	for out.Scan() {
		what, rest, _ := strings.Cut(out.Text(), " ")
		said[what] = rest
		if what == "acknowledged" {
			acked++
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if said["failed"] != string(posthouse.CodeUnknown) || said["then"] != string(posthouse.CodeReadOnly) {
		t.Errorf("the child said %v", said)
	}
	if acked < 10 || said["reads"] != fmt.Sprint(acked) {
		t.Errorf("%d acknowledged, %s read", acked, said["reads"])
	}
	verify(t, open(t, path, nil), "t", acked)
}
