//go:build unix && !linux

package command

import "syscall"

// attributes give a process a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
