//go:build !unix

package command

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

// signalGroup kills a process: there are no groups, and no signal asks it to end.
func signalGroup(leader int, _ bool) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
		_ = p.Release()
	}
}
