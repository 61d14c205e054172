//go:build !linux

package service

// KillAll ends the server as [Process.Kill] does.
func (p *Process) KillAll() { p.Kill() }
