//go:build unix

package command

import "syscall"

// signalGroup asks the processes of a group to end, or kills them. It may be empty.
func signalGroup(leader int, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-leader, sig)
}
