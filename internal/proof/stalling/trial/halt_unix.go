//go:build unix

package trial

import (
	"errors"
	"os"
	"syscall"
)

// halts says that halt can.
const halts = true

// halt stops a child, or lets it go on. It reports whether it could. A stop has been made when it
// returns: until then threads of the child may still run. The child must not end meanwhile.
func halt(p *os.Process, stop bool) bool {
	if !stop {
		return p.Signal(syscall.SIGCONT) == nil
	}
	if p.Signal(syscall.SIGSTOP) != nil {
		return false
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil)
		if !errors.Is(err, syscall.EINTR) {
			return err == nil && status.Stopped()
		}
	}
}
