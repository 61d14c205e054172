package service

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieTogether makes a process get a signal when the thread that started it ends.
func dieTogether(cmd *exec.Cmd, sig syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = sig
}

// keepThread keeps the thread of this goroutine for as long as that runs.
func keepThread() { runtime.LockOSThread() }
