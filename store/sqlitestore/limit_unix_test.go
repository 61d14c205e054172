//go:build unix

package sqlitestore_test

import (
	"os/signal"
	"syscall"
)

// limitFileSize makes writes beyond n bytes of a file fail.
func limitFileSize(n uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}
