//go:build !unix

package project

import "os/exec"

// apart does nothing: this system has no process groups that a terminal signals.
func apart(*exec.Cmd) {}
