package redistest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
const sharedEnv = "POSTHOUSE_TEST_REDIS"

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
		t.Fatalf("redistest: %v", err)
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
	bin, dir, addr string
	settings       []string
	cmd            *exec.Cmd
	ended          chan struct{}
}

// Addr returns its host and port.
func (s *Server) Addr() string { return s.addr }

// URL returns the URL of its first database.
func (s *Server) URL() string { return "redis://" + s.addr }

func start(t TB, settings ...string) *Server {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("POSTHOUSE_REQUIRE_SERVICES") != "" {
			t.Fatalf("redistest: no Redis is installed: redis-server is not in PATH")
		}
		t.Skipf("no Redis is installed; set POSTHOUSE_REQUIRE_SERVICES to make this an error")
	}
	s := &Server{bin: bin, settings: settings}
	if s.dir, err = os.MkdirTemp("", "redis"); err == nil {
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
		if err = l.Close(); err != nil {
			return err
		}
		if err = s.run(); err == nil || !strings.Contains(err.Error(), "already in use") {
			return err
		}
	}
	return err
}

// run starts the server and returns once it takes commands.
func (s *Server) run() error {
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return err
	}
	logFile := filepath.Join(s.dir, "log")
	args := []string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--logfile", logFile, "--save", "", "--maxmemory-policy", "noeviction",
		"--appendonly", "yes", "--appendfsync", "always",
	}
	for i := 0; i+1 < len(s.settings); i += 2 {
		args = append(args, "--"+s.settings[i], s.settings[i+1])
	}
	s.cmd = exec.Command(s.bin, args...)
	s.cmd.SysProcAttr = attributes()
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
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	patience := time.NewTimer(time.Minute)
	defer patience.Stop()
	for {
		if s.ping() {
			return nil
		}
		select {
		case <-tick.C:
			continue
		case <-s.ended:
		case <-patience.C:
		}
		text, _ := os.ReadFile(logFile)
		return fmt.Errorf("the server in %s does not answer\n%s", s.dir, text)
	}
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
			return pong && line == "process_id:"+strconv.Itoa(s.cmd.Process.Pid)
		}
	}
	return false
}

// Kill ends the server as SIGKILL does.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// Restart starts the server again after [Server.Kill].
func (s *Server) Restart(t TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatalf("redistest: %v", err)
	}
}

func (s *Server) remove() {
	s.Kill()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// A Main runs the tests of a package and then ends the shared server. It goes where a
// *testing.M goes, as in goleak.VerifyTestMain(redistest.Main{m}).
type Main struct{ M interface{ Run() int } }

// Run runs the tests.
func (m Main) Run() int {
	defer Stop()
	return m.M.Run()
}
