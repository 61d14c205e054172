//go:build unix

package trial

import (
	"os"
	"syscall"
)

// halt stops a process, or lets it go on. It reports whether it could.
func halt(p *os.Process, stop bool) bool {
	if stop {
		return p.Signal(syscall.SIGSTOP) == nil
	}
	return p.Signal(syscall.SIGCONT) == nil
}

// halts says that halt can.
const halts = true
