package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/posthouse/posthouse/internal/proof/service"
)

// A TB is what the package needs of a test.
type TB = service.TB

var shared = service.Shared{Env: "POSTHOUSE_TEST_POSTGRES"}

// URL returns the URL of a server that all tests of this process share. [Stop] ends it.
func URL(t TB) string {
	t.Helper()
	return shared.URL(t, func() (string, func()) {
		s := start(t)
		return s.URL(), s.remove
	})
}

// Stop ends the shared server, if there is one, after the last test.
func Stop() { shared.Stop() }

// Main returns what runs the tests of m and then ends the shared server, as in
// goleak.VerifyTestMain(pgtest.Main(m)).
func Main(m interface{ Run() int }) service.Main { return service.Main{Tests: m, Then: Stop} }

// Start starts a server for one test, with settings as in "fsync=off". It ends with the
// test.
func Start(t TB, settings ...string) *Server {
	t.Helper()
	s := start(t, settings...)
	t.Cleanup(s.remove)
	return s
}

// A Server is a running Postgres.
type Server struct {
	service.Process
	dir      string // of the socket and the log, and unless place is set of the data
	place    string // of the data
	bin      string
	settings []string
	log      *os.File
}

// URL returns the URL of its first database.
func (s *Server) URL() string { return "postgres:///postgres?user=postgres&host=" + s.dir }

func start(t TB, settings ...string) *Server {
	t.Helper()
	bin := find()
	if bin == "" {
		service.Missing(t, "Postgres", "initdb is neither in PATH nor below /usr/lib/postgresql")
	}
	s := &Server{bin: bin, settings: settings}
	s.Process = service.Process{Start: s.command, Ready: s.answers, End: syscall.SIGQUIT}
	err := s.create()
	if err == nil {
		err = s.run()
	}
	if err != nil {
		s.remove()
		t.Fatalf("pgtest: %v", err)
	}
	return s
}

// find returns the directory of the binaries, the newest if there are several.
func find() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path)
		if err == nil && isThere(filepath.Join(filepath.Dir(path), "postgres")) {
			return filepath.Dir(path)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) + bytes.Compare([]byte(b), []byte(a)) })
	for _, path := range found {
		return filepath.Dir(path)
	}
	return ""
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// create makes the data directory.
func (s *Server) create() (err error) {
	err = s.makeDirs()
	if err != nil {
		return err
	}
	return initdb(s.bin, s.data(), s.dir)
}

// makeDirs makes the directory of the socket and the log.
func (s *Server) makeDirs() (err error) {
	s.dir, err = os.MkdirTemp("", "pg")
	if err != nil { // short: a socket's path has 107 bytes
		return err
	}
	err = own(s.dir)
	if err != nil {
		return err
	}
	s.log, err = os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	return err
}

func initdb(bin, data, dir string) error {
	cmd := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	cmd.SysProcAttr, cmd.Dir = attributes(), dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (s *Server) data() string {
	if s.place != "" {
		return s.place
	}
	return filepath.Join(s.dir, "data")
}

func (s *Server) command() *exec.Cmd {
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=300"}
	for _, v := range s.settings {
		args = append(args, "-c", v)
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	cmd.SysProcAttr, cmd.Dir = attributes(), s.dir
	cmd.Stdout, cmd.Stderr = s.log, s.log
	return cmd
}

func (s *Server) answers() bool {
	return exec.Command(filepath.Join(s.bin, "pg_isready"), "-q", "-h", s.dir).Run() == nil
}

func (s *Server) run() error {
	err := s.Run()
	if err != nil {
		text, _ := os.ReadFile(s.log.Name())
		return fmt.Errorf("the server in %s: %w\n%s", s.dir, err, text)
	}
	return nil
}

// Restart starts the server again after [Server.Kill], which ends it as a crash does: it
// aborts what runs, and recovers at its next start.
func (s *Server) Restart(t TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
}

func (s *Server) remove() {
	s.Kill()
	if s.log != nil {
		_ = s.log.Close()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}
