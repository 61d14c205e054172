package natslink

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/loopback"
	"github.com/posthouse/posthouse/internal/base/seldom"
	"github.com/posthouse/posthouse/task/link"
)

// maxPayload fits a slot and an input of 1 MiB each, as they are sent.
const maxPayload = 4 << 20

// lookEvery is how often connected workers' tokens are looked at again.
const lookEvery = 2 * time.Second

// An ownServer is a NATS server in this process, which carries tasks and nothing else.
type ownServer struct {
	server *server.Server
	guard  *guard
	done   chan struct{} // closed to end the guard's looks
	work   sync.WaitGroup
}

// listen starts the server, and returns how this process connects to it.
func (l *natsLink) listen(o *link.Options, log *slog.Logger) ([]nats.Option, error) {
	so, err := serverOptions(o)
	if err != nil {
		return nil, err
	}
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails: crypto/rand aborts the program instead
	seldom := seldom.New(log, time.Now)
	g := &guard{own: hex.EncodeToString(secret[:]), allow: o.Allow, log: seldom, workers: map[uint64]string{}}
	so.CustomClientAuthentication = g
	probe, err := net.Listen("tcp", o.Listen) // the server says in its log only that an address is taken
	if err != nil {
		return nil, taken(o.Listen, err)
	}
	_ = probe.Close()
	s, err := server.NewServer(so)
	if err != nil {
		return nil, invalid("Listen", "is not possible: "+err.Error(), "as in 127.0.0.1:4222")
	}
	l.own = &ownServer{server: s, guard: g, done: make(chan struct{})}
	said := &lastLine{to: seldom}
	s.SetLoggerV2(said, false, false, false)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return nil, taken(o.Listen, fmt.Errorf("%s", said.last()))
	}
	scheme := "nats://"
	if so.TLSConfig != nil {
		scheme = "tls://"
	}
	l.address = scheme + s.Addr().String()
	l.own.work.Go(func() { g.watch(s, l.own.done) })
	return []nats.Option{nats.InProcessServer(s), nats.Token(g.own)}, nil
}

// serverOptions checks what the server may listen on.
func serverOptions(o *link.Options) (*server.Options, error) {
	host, port, err := net.SplitHostPort(o.Listen)
	n, perr := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || perr != nil:
		return nil, invalid("Listen", "is not HOST:PORT", "as in 127.0.0.1:4222")
	case o.Allow == nil:
		return nil, invalid("Allow", "is missing", "nothing listens without authentication")
	case (o.Cert == "") != (o.Key == ""):
		return nil, invalid("Cert", "and Key belong together", "give both, or none")
	case o.Credentials != "" || o.CA != "" || o.Token != "":
		return nil, invalid("Credentials", "and CA go with URL, not with Listen", "workers show tokens of this server")
	case o.Cert == "" && !loopback.Is(host):
		return nil, &posthouse.Error{
			Code: posthouse.CodeForbidden, Field: "Listen", Message: "is reachable from other machines, and without TLS tokens and tasks would cross the network in the clear",
			Hint: "listen on 127.0.0.1, or give a certificate and its key",
		}
	}
	so := &server.Options{
		ServerName: "posthouse-tasks", Host: host, Port: int(n), NoSigs: true, MaxPayload: maxPayload,
		AuthTimeout: 5, PingInterval: 10 * time.Second, MaxPingsOut: 2, WriteDeadline: 10 * time.Second,
	}
	so.Cluster.NoAdvertise = true // of addresses that the certificate may not name
	if n == 0 {
		so.Port = server.RANDOM_PORT
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, unreadable("Cert", err)
		}
		so.TLSConfig, so.TLS, so.TLSTimeout = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, true, 5
	}
	return so, nil
}

func taken(addr string, err error) error {
	return &posthouse.Error{Code: posthouse.CodeLocked, Message: "cannot listen for workers on " + addr, Err: err, Hint: "another process may listen there; choose another address"}
}

func (s *ownServer) stop() {
	select {
	case <-s.done:
		return
	default:
		close(s.done)
	}
	s.work.Wait()
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// A guard lets workers in by their token, and out when it is good no more.
type guard struct {
	own   string // the token of this process
	allow func(token string) (bool, error)
	log   *seldom.Log

	mu      sync.Mutex
	workers map[uint64]string // tokens by connection
}

// Check implements [server.Authentication].
func (g *guard) Check(c server.ClientAuthentication) bool {
	token := c.GetOpts().Token
	if subtle.ConstantTimeCompare([]byte(token), []byte(g.own)) == 1 {
		c.RegisterUser(&server.User{Username: "engine"})
		return true
	}
	if !g.good(token) {
		why := "nobody has this token, or it may not take tasks"
		if token == "" {
			why = "there is none"
		}
		g.log.Warn("posthouse: a worker's token was refused", "from", addressOf(c), "why", why)
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.connections(token); n >= maxConnections {
		g.log.Warn("posthouse: a worker's token has as many connections as it may have", "from", addressOf(c), "connections", n)
		return false
	}
	name := link.AddressOf(sha256.Sum256([]byte(token)))
	c.RegisterUser(&server.User{Username: "worker", Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"posthouse.task." + name + ".*.*"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"posthouse.answer." + name + ".>"}},
	}})
	g.workers[c.GetID()] = token
	return true
}

func addressOf(c server.ClientAuthentication) string {
	if a := c.RemoteAddress(); a != nil {
		return a.String()
	}
	return "this process"
}

// maxConnections bounds the connections that show one token.
const maxConnections = 1_000

// connections counts those of a token. Callers hold g.mu.
func (g *guard) connections(token string) (n int) {
	for _, t := range g.workers {
		if t == token {
			n++
		}
	}
	return n
}

func (g *guard) good(token string) bool {
	if token == "" {
		return false
	}
	ok, err := g.allow(token)
	if err != nil {
		g.log.Warn("posthouse: workers' tokens cannot be looked up", "error", err)
	}
	return ok && err == nil
}

// watch disconnects workers when their tokens are no longer good, until done.
func (g *guard) watch(s *server.Server, done <-chan struct{}) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.look(s)
		case <-done:
			return
		}
	}
}

func (g *guard) look(s *server.Server) {
	g.mu.Lock()
	workers := maps.Clone(g.workers)
	g.mu.Unlock()
	for id, token := range workers {
		here := s.GetClient(id) != nil
		if here && g.good(token) {
			continue
		}
		if here {
			_ = s.DisconnectClientByID(id) // it may have gone by now
		}
		g.mu.Lock()
		delete(g.workers, id)
		g.mu.Unlock()
	}
}

// A lastLine passes on what the server warns about, and keeps the last. A client that is not
// let in is the guard's to tell of: the server's line has the name that was sent, which may be a
// token in the wrong place.
type lastLine struct {
	to   *seldom.Log
	mu   sync.Mutex
	line string
}

func (l *lastLine) say(format string, v ...any) {
	line := strings.TrimSpace(fmt.Sprintf(format, v...))
	if !strings.Contains(line, "authentication error") {
		l.to.Warn("posthouse: NATS in this process", "says", line)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line = line
}

func (l *lastLine) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line
}

func (l *lastLine) Noticef(string, ...any)         {}
func (l *lastLine) Debugf(string, ...any)          {}
func (l *lastLine) Tracef(string, ...any)          {}
func (l *lastLine) Warnf(format string, v ...any)  { l.say(format, v...) }
func (l *lastLine) Errorf(format string, v ...any) { l.say(format, v...) }
func (l *lastLine) Fatalf(format string, v ...any) { l.say(format, v...) }
