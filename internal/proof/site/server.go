package site

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/internal/proof/service"
)

type postgres struct{ *pgtest.Server }

func startPostgres(dir string) (server, error) {
	data := filepath.Join(dir, "data")
	if err := openUp(dir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(data); err != nil { // else a server has been here before
		if err := pgtest.Init(data); err != nil {
			return nil, err
		}
	}
	s, err := pgtest.Open(data)
	if err != nil {
		return nil, err
	}
	return &postgres{s}, nil
}

// openUp lets the user of a server into a directory, which is below that for temporary
// files.
func openUp(dir string) error {
	for {
		info, err := os.Stat(dir)
		if err == nil && info.Mode().Perm()&0o001 == 0 {
			err = os.Chmod(dir, info.Mode().Perm()|0o011)
		}
		up := filepath.Dir(dir)
		if err != nil || up == dir {
			return err
		}
		dir = up
	}
}

func (p *postgres) addr() (network, addr string) {
	u, err := url.Parse(p.URL())
	if err != nil {
		panic(err) // it is ours
	}
	return "unix", filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")
}

func (p *postgres) kill()        { p.KillAll() }
func (p *postgres) again() error { return p.Again() }

func (p *postgres) close() {
	p.KillAll()
	p.Close()
}

type redis struct{ *redistest.Server }

func startRedis(dir string) (server, error) {
	s, err := redistest.Open(filepath.Join(dir, "data"), filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	return redis{s}, nil
}

func (r redis) addr() (network, addr string) { return "tcp", r.Addr() }
func (r redis) kill()                        { r.Kill() }
func (r redis) close()                       { r.Kill() }

func (r redis) again() error {
	_, err := r.Recover()
	return err
}

// buckets is a service of buckets in this process.
type buckets struct{ *s3test.Server }

func startS3(string) (server, error) { return &buckets{s3test.Start()}, nil }

func (b *buckets) addr() (network, addr string) {
	return "tcp", strings.TrimPrefix(b.Endpoint(), "http://")
}
func (b *buckets) kill()        {}
func (b *buckets) again() error { return nil }
func (b *buckets) close()       { b.Close() }

// servingEnv has what a server in another process is to do.
const servingEnv = "POSTHOUSE_SITE_SERVER"

// A serving is a NATS server.
type serving struct {
	Dir  string
	Port int
	Name string // that it greets with: another process may have taken the port
}

// nats is a NATS server in another process.
type nats struct {
	service.Process
	serving
}

// startNATS starts a server on a free port. Another process may take that first: then it tries again.
func startNATS(dir string) (s server, err error) {
	for range 5 {
		s, err = listenNATS(dir)
		if err == nil {
			return s, nil
		}
	}
	return nil, err
}

func listenNATS(dir string) (server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &nats{serving: serving{Dir: filepath.Join(dir, "data"), Port: l.Addr().(*net.TCPAddr).Port, Name: rand.Text()}}
	if err := l.Close(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(n.serving)
	if err != nil {
		return nil, err
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n.Process = service.Process{Ready: n.answers, End: syscall.SIGKILL, Start: func() *exec.Cmd {
		cmd := exec.Command(own)
		cmd.Env = append(os.Environ(), servingEnv+"="+string(text))
		cmd.Stderr = os.Stderr
		return cmd
	}}
	if err := n.Run(); err != nil {
		n.Kill()
		return nil, err
	}
	_, n.Address = n.addr()
	return n, nil
}

func (n *nats) addr() (network, addr string) { return "tcp", fmt.Sprint("127.0.0.1:", n.Port) }
func (n *nats) kill()                        { n.Kill() }
func (n *nats) again() error                 { return n.Run() }
func (n *nats) close()                       { n.Kill() }

// answers reports whether the server, and no other at its port, greets who connects.
func (n *nats) answers() bool {
	c, err := net.Dial(n.addr())
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	patience := time.AfterFunc(5*time.Second, func() { _ = c.Close() })
	defer patience.Stop()
	hello, err := bufio.NewReader(c).ReadString('\n')
	return err == nil && strings.HasPrefix(hello, "INFO ") && strings.Contains(hello, n.Name)
}

// Serving runs this process as a server and ends it, if that is what it was started for.
func Serving() {
	text := os.Getenv(servingEnv)
	if text == "" {
		return
	}
	var s serving
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = s.run()
	}
	fmt.Fprintln(os.Stderr, "site:", err)
	os.Exit(1)
}

// run serves until the process is killed.
func (s *serving) run() error {
	signal.Ignore(os.Interrupt) // the parent decides
	o := &natsserver.Options{
		ServerName: s.Name, Host: "127.0.0.1", Port: s.Port, JetStream: true, StoreDir: s.Dir, SyncAlways: true, NoSigs: true, NoLog: true,
	}
	n, err := natsserver.NewServer(o)
	if err != nil {
		return err
	}
	n.Start()
	n.WaitForShutdown()
	return fmt.Errorf("the server in %s has ended", s.Dir)
}
