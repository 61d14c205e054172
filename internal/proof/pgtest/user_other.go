//go:build !linux

package pgtest

import "syscall"

func own(string) error { return nil }

func attributes() *syscall.SysProcAttr { return nil }
