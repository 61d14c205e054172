package service_test

import (
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/service"
)

// TestRunWaitsForItsAddress: somebody else's connection may have the port of a server that is
// down.
func TestRunWaitsForItsAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	begun := false
	p := service.Process{
		Start: func() *exec.Cmd { begun = true; return exec.Command("sleep", "60") },
		Ready: func() bool { return true }, End: syscall.SIGKILL, Address: l.Addr().String(),
	}
	ended := make(chan error)
	go func() { ended <- p.Run() }()
	select {
	case err := <-ended:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil || !begun {
		t.Errorf("begun %v, error %v", begun, err)
	}
	p.Kill()
}
