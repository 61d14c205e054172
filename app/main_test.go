package app

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
)

// TestAClosedTerminalEndsUnlessIgnored: SIGHUP is asked for, and stays ignored under nohup.
func TestAClosedTerminalEndsUnlessIgnored(t *testing.T) {
	if !signal.Ignored(syscall.SIGHUP) && !slices.Contains(endings(), os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP does not end it in order")
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if slices.Contains(endings(), os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP is not left ignored")
	}
}
