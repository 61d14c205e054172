//go:build unix

package sqlitestore

import (
	"bytes"
	"os"
	"sync"
)

// bootID tells one start of the machine from the next, so that a pid in an old
// lock file is not taken for a process of today. It is read once.
var bootID = sync.OnceValue(func() string {
	const uuid = 36 // bytes; what is longer is none
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if b = bytes.TrimSpace(b); err != nil || len(b) != uuid {
		return "unknown"
	}
	return string(b)
})
