package pgtest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/posthouse/posthouse/internal/proof/service"
)

// Installed reports whether there are binaries.
func Installed() bool { return find() != "" }

// Init makes the data of a server in a directory that is not there yet. Its owner is the
// user that servers run as.
func Init(data string) error {
	bin := find()
	if bin == "" {
		return errors.New("pgtest: no Postgres is installed")
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	if err := own(data); err != nil {
		return err
	}
	return initdb(bin, data, filepath.Dir(data))
}

// Open starts a server over data that [Init] made, with settings as in "fsync=off".
// The caller ends it with [Server.Close].
func Open(data string, settings ...string) (*Server, error) {
	s := &Server{bin: find(), settings: settings, place: data}
	if s.bin == "" {
		return nil, errors.New("pgtest: no Postgres is installed")
	}
	s.Process = service.Process{Start: s.command, Ready: s.answers, End: syscall.SIGQUIT}
	err := s.makeDirs()
	if err == nil {
		err = s.run()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Again starts a server of [Open] again that was ended.
func (s *Server) Again() error { return s.run() }

// Close ends a server of [Open] as a crash does, and keeps its data.
func (s *Server) Close() { s.remove() }
