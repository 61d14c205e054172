//go:build !linux

package service

import (
	"os/exec"
	"syscall"
)

func dieTogether(*exec.Cmd, syscall.Signal) {}

func keepThread() {}
