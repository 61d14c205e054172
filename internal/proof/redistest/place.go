package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/posthouse/posthouse/internal/proof/service"
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

// Again starts a server again that was killed, on the same port. It fails where the kill has torn
// the end of the server's file: see [Server.Recover].
func (s *Server) Again() error { return s.run() }

// Recover is Again for an operator: if the kill has torn an append, which was never answered, it
// repairs the file and then starts the server. It reports whether it did.
func (s *Server) Recover() (repaired bool, err error) {
	err = s.run()
	if err == nil || !strings.Contains(err.Error(), "Unexpected end of file") {
		return false, err
	}
	if err := Repair(s.dir); err != nil {
		return false, err
	}
	return true, s.run()
}

// Repair cuts the torn end off the file of a server, with Redis's own tool. The directory is that
// of the server, which does not run.
func Repair(dir string) error {
	fix := exec.Command("redis-check-aof", "--fix", filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest"))
	fix.Stdin = strings.NewReader("y\n")
	if text, err := fix.CombinedOutput(); err != nil {
		return fmt.Errorf("redis-check-aof: %w\n%s", err, text)
	}
	return nil
}
