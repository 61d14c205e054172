package pgtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A TB is what the package needs of a test.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// sharedEnv has the URL of the server that tests share. A test binary that is started
// again by one of its tests finds that of its parent there.
const sharedEnv = "POSTHOUSE_TEST_POSTGRES"

var shared struct {
	sync.Mutex
	server *Server
}

// URL returns the URL of a server that all tests of this process share. [Stop] ends it.
func URL(t TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if url := os.Getenv(sharedEnv); url != "" {
		return url
	}
	s := start(t)
	shared.server = s
	if err := os.Setenv(sharedEnv, s.URL()); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return s.URL()
}

// Stop ends the shared server, if there is one, after the last test.
func Stop() {
	shared.Lock()
	defer shared.Unlock()
	if s := shared.server; s != nil {
		s.remove()
		shared.server = nil
		_ = os.Unsetenv(sharedEnv)
	}
}

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
	dir      string // of the socket, with the data below
	bin      string
	settings []string
	cmd      *exec.Cmd
	ended    chan struct{}
	log      *os.File
}

// URL returns the URL of its first database.
func (s *Server) URL() string { return "postgres:///postgres?user=postgres&host=" + s.dir }

func start(t TB, settings ...string) *Server {
	t.Helper()
	bin := find()
	if bin == "" {
		if os.Getenv("POSTHOUSE_REQUIRE_SERVICES") != "" {
			t.Fatalf("pgtest: no Postgres is installed: initdb is neither in PATH nor below /usr/lib/postgresql")
		}
		t.Skipf("no Postgres is installed; set POSTHOUSE_REQUIRE_SERVICES to make this an error")
	}
	s := &Server{bin: bin, settings: settings}
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
		if path, err = filepath.EvalSymlinks(path); err == nil && isThere(filepath.Join(filepath.Dir(path), "postgres")) {
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
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil { // short: a socket's path has 107 bytes
		return err
	}
	if err = own(s.dir); err != nil {
		return err
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir = attributes(), s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s.log, err = os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	return err
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run starts the server and returns once it takes connections.
func (s *Server) run() error {
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=300"}
	for _, v := range s.settings {
		args = append(args, "-c", v)
	}
	s.cmd = exec.Command(filepath.Join(s.bin, "postgres"), args...)
	s.cmd.SysProcAttr, s.cmd.Dir = attributes(), s.dir
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.ended = make(chan struct{})
	begun := make(chan error)
	go func(cmd *exec.Cmd, ended chan struct{}) {
		forever() // the server ends with the thread that started it
		err := cmd.Start()
		begun <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}(s.cmd, s.ended)
	if err := <-begun; err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_isready"), "-q", "-h", s.dir)
		if ready.Run() == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return s.failure("it ended")
		case <-ctx.Done():
			return s.failure("it does not answer")
		}
	}
}

func (s *Server) failure(what string) error {
	out, _ := os.ReadFile(s.log.Name())
	return fmt.Errorf("the server in %s: %s\n%s", s.dir, what, out)
}

// Kill ends the server as a crash does: it aborts what runs, and recovers at its next
// start.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.ended
	}
}

// Restart starts the server again after [Server.Kill].
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

// A Main runs the tests of a package and then ends the shared server. It goes where a
// *testing.M goes, as in goleak.VerifyTestMain(pgtest.Main{m}).
type Main struct{ M interface{ Run() int } }

// Run runs the tests.
func (m Main) Run() int {
	defer Stop()
	return m.M.Run()
}
