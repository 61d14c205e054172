//go:build unix

package project

import (
	"os/exec"
	"syscall"
)

// apart gives a program a process group of its own: an interrupt that a terminal sends to the whole
// group comes to it once, from us.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
