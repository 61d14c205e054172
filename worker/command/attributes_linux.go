package command

import "syscall"

// attributes give a process a group of its own. It is killed when its worker dies.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
