//go:build linux

package hosts

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/certtest"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
)

// Machines are the hosts of a script, each with an address of this machine and a home.
type machines struct {
	t       *testing.T
	dir     string
	ports   map[string]string // in the script to those that are free here
	prelude map[string]string // by host: what it exports
	running map[string]*exec.Cmd
	last    string // command line
}

var addresses = map[string]string{"host-1": "127.77.0.1", "host-2": "127.77.0.2", "gpu-1": "127.77.0.3"}

// TestMoreThanOneMachine runs the script of that section of docs/operations.md, with an address for
// each host and a Postgres. Then the first server is killed before a worker has the task that
// it began, and the second goes on.
func TestMoreThanOneMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a binary, and runs it in processes of their own")
	}
	page, err := os.ReadFile("../../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## More than one machine\n")
	_, script, _ := strings.Cut(section, "```sh\n")
	script, _, ok := strings.Cut(script, "\n```")
	if !ok {
		t.Fatal("docs/operations.md has no section with a script")
	}
	m := newMachines(t)
	host := ""
	for line := range strings.SplitSeq(script, "\n") {
		name, isHost := strings.CutPrefix(line, "# on ")
		switch {
		case isHost:
			host, _, _ = strings.Cut(name, ":")
			if addresses[host] == "" {
				t.Fatalf("%q names no host", line)
			}
		case line == "":
		case strings.HasPrefix(line, "export "):
			m.prelude[host] += line + "\n"
		case strings.HasSuffix(line, " &"):
			m.start(host, strings.TrimSuffix(line, " &"))
		default:
			m.last = line
			m.run(host, line)
		}
	}
	if len(m.running) != 3 || !strings.Contains(m.last, "words log job-1") {
		t.Fatalf("the script starts %d processes and ends with %q", len(m.running), m.last)
	}
	m.untilDone(m.last)

	m.signal("gpu-1", syscall.SIGSTOP)
	m.run("host-2", `words send count "one two" --thread job-2 --server https://host-1:8095`)
	m.signal("host-1", syscall.SIGKILL)
	m.signal("gpu-1", syscall.SIGCONT)
	m.untilDone("words log job-2 --server https://host-2:8095")
	m.run("host-2", "words verify --store \"$DATABASE\"")
}

func newMachines(t *testing.T) *machines {
	m := &machines{t: t, dir: t.TempDir(), ports: map[string]string{}, prelude: map[string]string{}, running: map[string]*exec.Cmd{}}
	t.Setenv("DATABASE", pgtest.URL(t)+"&schema=machines")
	build := exec.Command("go", "build", "-o", filepath.Join(m.dir, "bin", "words"), "../../../../examples/words")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	certs := certtest.New(t, addresses["host-1"], addresses["host-2"])
	for host := range addresses {
		home := filepath.Join(m.dir, host)
		if err := os.MkdirAll(filepath.Join(home, ".local", "share"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, from := range map[string]string{"ca.pem": certs.CA, "cert.pem": certs.Cert, "key.pem": certs.Key} {
			pem, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(filepath.Join(home, name), pem, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, port := range []string{":8095", ":4222"} {
		l, err := net.Listen("tcp", addresses["host-1"]+":0")
		if err != nil {
			t.Fatal(err)
		}
		_, free, _ := net.SplitHostPort(l.Addr().String())
		m.ports[port] = ":" + free
		_ = l.Close()
	}
	return m
}

// file is a path on another host, as scp takes it.
var file = regexp.MustCompile(`\b(host-\d):([^\d\s]\S*)`)

// command is a line of the script as a process on a host.
func (m *machines) command(host, line string) *exec.Cmd {
	line = file.ReplaceAllString(line, m.dir+"/$1/$2")
	if rest, ok := strings.CutPrefix(line, "scp "); ok {
		line = "cp -r " + strings.TrimPrefix(rest, "-r ")
	}
	line = strings.ReplaceAll(line, "0.0.0.0", addresses[host])
	for port, free := range m.ports {
		line = strings.ReplaceAll(line, port, free)
	}
	for _, name := range []string{"host-1", "host-2"} {
		line = strings.ReplaceAll(line, "//"+name, "//"+addresses[name])
		line = strings.ReplaceAll(line, "-host "+name, "-host "+addresses[name])
	}
	cmd := exec.Command("bash", "-c", m.prelude[host]+line)
	cmd.Dir = filepath.Join(m.dir, host)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "POSTHOUSE_") && !strings.HasPrefix(kv, "XDG_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+cmd.Dir, "PATH="+filepath.Join(m.dir, "bin")+":"+os.Getenv("PATH"), "NO_COLOR=1")
	return cmd
}

func (m *machines) run(host, line string) string {
	m.t.Helper()
	out, err := m.command(host, line).CombinedOutput()
	if err != nil {
		m.t.Fatalf("on %s: %s: %v\n%s", host, line, err, out)
	}
	return string(out)
}

// start starts a process that goes on, and waits until it says that it is ready.
func (m *machines) start(host, line string) {
	m.t.Helper()
	cmd := m.command(host, "exec "+line)
	log, err := os.Create(filepath.Join(m.dir, host, "log"))
	if err != nil {
		m.t.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.running[host] = cmd
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have been
		_ = cmd.Wait()
		if text, _ := os.ReadFile(log.Name()); m.t.Failed() {
			m.t.Logf("what %s says:\n%s", host, text)
		}
		_ = log.Close()
	})
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "next: ") || strings.HasPrefix(lines.Text(), "handling ") {
				ready <- true
				break
			}
		}
		close(ready)
		_, _ = io.Copy(io.Discard, out) // ends with the process
	}()
	select {
	case ok := <-ready:
		if !ok {
			m.t.Fatalf("on %s: %s: it ends", host, line)
		}
	case <-time.After(time.Minute):
		m.t.Fatalf("on %s: %s: it does not get ready", host, line)
	}
}

func (m *machines) signal(host string, s syscall.Signal) {
	m.t.Helper()
	if err := m.running[host].Process.Signal(s); err != nil {
		m.t.Fatal(err)
	}
}

// untilDone repeats a log until its thread is done.
func (m *machines) untilDone(line string) {
	m.t.Helper()
	until(m.t, "it is not done: "+line, func() bool {
		out := m.run("host-2", line)
		if !strings.Contains(strings.SplitN(out, "\n", 2)[0], "  done") {
			return false
		}
		if n := strings.Count(out, "answered by worker:"); n != 1 {
			m.t.Errorf("%d answers of the worker:\n%s", n, out)
		}
		return true
	})
}
