//go:build unix

package chaos

import "syscall"

// halt stops the process, as a machine that stalls does.
func (p *process) halt() error { return p.signal(syscall.SIGSTOP) }

// thaw lets a halted process go on.
func (p *process) thaw() error { return p.signal(syscall.SIGCONT) }
