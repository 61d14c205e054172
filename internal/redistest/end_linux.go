package redistest

import (
	"runtime"
	"syscall"
)

// attributes make a process end when the thread that started it does.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// forever keeps the thread of this goroutine for as long as that runs.
func forever() { runtime.LockOSThread() }
