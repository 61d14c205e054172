//go:build unix

package filelock

import (
	"bytes"
	"os"
	"sync"
)

// bootID identifies this start of the machine. With it a pid in an old lock file is not
// taken for a process of today.
var bootID = sync.OnceValue(func() string {
	const uuid = 36 // bytes
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	b = bytes.TrimSpace(b)
	if err != nil || len(b) != uuid {
		return "unknown"
	}
	return string(b)
})
