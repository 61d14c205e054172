//go:build unix

package sqlitestore

import (
	"strings"
	"syscall"
)

// bootID tells one start of the machine from the next, so that a pid in an old
// lock file is not taken for a process of today. Package os would ask about
// polling the file first; this runs whenever a store is opened.
func bootID() string {
	fd, err := syscall.Open("/proc/sys/kernel/random/boot_id", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "unknown"
	}
	defer func() { _ = syscall.Close(fd) }()
	var b [36]byte
	n, err := syscall.Read(fd, b[:])
	if err != nil || n <= 0 {
		return "unknown"
	}
	return strings.TrimSpace(string(b[:n]))
}
