package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/posthouse/posthouse/internal/service"
)

// Installed reports whether there is a binary.
func Installed() bool {
	_, err := exec.LookPath("redis-server")
	return err == nil
}

// Open starts a server over a directory, with a file for its log elsewhere and with
// settings as in "appendfsync", "no". The caller ends it with
// Kill.
func Open(dir, log string, settings ...string) (*Server, error) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	s := &Server{bin: bin, dir: dir, logFile: log, settings: settings}
	s.Process = service.Process{Start: s.command, Ready: s.ping, End: syscall.SIGKILL}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// Again starts a server of [Open] again that was killed, on the same port.
func (s *Server) Again() error { return s.run() }
