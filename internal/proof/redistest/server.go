package redistest

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/posthouse/posthouse/internal/proof/service"
)

// A TB is what the package needs of a test.
type TB = service.TB

var shared = service.Shared{Env: "POSTHOUSE_TEST_REDIS"}

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
// goleak.VerifyTestMain(redistest.Main(m)).
func Main(m interface{ Run() int }) service.Main { return service.Main{Tests: m, Then: Stop} }

// Start starts a server for one test, with settings as in "appendfsync", "no". It ends
// with the test.
func Start(t TB, settings ...string) *Server {
	t.Helper()
	s := start(t, settings...)
	t.Cleanup(s.remove)
	return s
}

// A Server is a running Redis.
type Server struct {
	service.Process
	bin, dir, addr string
	logFile        string // unless it is in dir
	settings       []string
}

// Addr returns its host and port.
func (s *Server) Addr() string { return s.addr }

// URL returns the URL of its first database.
func (s *Server) URL() string { return "redis://" + s.addr }

func start(t TB, settings ...string) *Server {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		service.Missing(t, "Redis", "redis-server is not in PATH")
	}
	s := &Server{bin: bin, settings: settings}
	s.Process = service.Process{Start: s.command, Ready: s.ping, End: syscall.SIGKILL}
	s.dir, err = os.MkdirTemp("", "redis")
	if err == nil {
		err = s.listen()
	}
	if err != nil {
		s.remove()
		t.Fatalf("redistest: %v", err)
	}
	return s
}

// listen starts the server on a free port. Another process may take that first: then it
// tries again.
func (s *Server) listen() (err error) {
	for range 5 {
		l, lerr := net.Listen("tcp", "127.0.0.1:0")
		if lerr != nil {
			return lerr
		}
		s.addr = l.Addr().String()
		err = l.Close()
		if err != nil {
			return err
		}
		err = s.run()
		if err == nil || !strings.Contains(err.Error(), "already in use") {
			s.Address = s.addr // it keeps that
			return err
		}
	}
	return err
}

func (s *Server) log() string { return cmp.Or(s.logFile, filepath.Join(s.dir, "log")) }

func (s *Server) command() *exec.Cmd {
	host, port, _ := strings.Cut(s.addr, ":")
	args := []string{
		"--port", port, "--bind", host, "--dir", s.dir, "--logfile", s.log(), "--save", "", "--maxmemory-policy", "noeviction",
		"--appendonly", "yes", "--appendfsync", "always", "--aof-load-truncated", "no",
	}
	for i := 0; i+1 < len(s.settings); i += 2 {
		args = append(args, "--"+s.settings[i], s.settings[i+1])
	}
	return exec.Command(s.bin, args...)
}

func (s *Server) run() error {
	err := s.Run()
	if err != nil {
		text, _ := os.ReadFile(s.log())
		return fmt.Errorf("the server in %s: %w\n%s", s.dir, err, text)
	}
	return nil
}

// ping reports whether this server, and no other on its port, has loaded its data.
func (s *Server) ping() bool {
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	patience := time.AfterFunc(5*time.Second, func() { _ = c.Close() })
	defer patience.Stop()
	if _, err := c.Write([]byte("PING\r\nINFO server\r\n")); err != nil {
		return false
	}
	lines := bufio.NewScanner(c)
	for pong := false; lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "+PONG":
			pong = true
		case strings.HasPrefix(line, "-"):
			return false
		case strings.HasPrefix(line, "process_id:"):
			return pong && line == "process_id:"+strconv.Itoa(s.PID())
		}
	}
	return false
}

// Restart starts the server again after [Server.Kill], which ends it as SIGKILL does, as
// [Server.Recover] does.
func (s *Server) Restart(t TB) {
	t.Helper()
	if _, err := s.Recover(); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

func (s *Server) remove() {
	s.Kill()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}
