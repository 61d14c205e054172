package site

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/s3store"
)

// A Kind is a kind of store.
type Kind struct {
	Name    string
	Shared  bool // several processes may have a store open at once
	Durable bool // what a store holds outlives its process

	installed func() bool                      // nil: always
	start     func(dir string) (server, error) // nil: there is no server
	url       func(s *Site, name, addr string) string
}

// Kinds are all kinds.
func Kinds() []*Kind {
	return []*Kind{
		{Name: "memory", url: func(*Site, string, string) string { return "memory:" }},
		{Name: "file", Durable: true, url: below("file:", "")},
		{Name: "sqlite", Durable: true, url: below("sqlite:", ".db")},
		{Name: "postgres", Shared: true, Durable: true, installed: pgtest.Installed, start: startPostgres, url: postgresURL},
		{Name: "redis", Shared: true, Durable: true, installed: redistest.Installed, start: startRedis, url: byPrefix("redis")},
		{Name: "nats", Shared: true, Durable: true, start: startNATS, url: byPrefix("nats")},
		{Name: "nats in the process", Durable: true, url: below("nats:", "")},
		{Name: "s3", Shared: true, Durable: true, start: startS3, url: s3URL},
	}
}

// Find returns the kind of a name, or nil.
func Find(name string) *Kind {
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Installed reports whether the kind's server can be started here.
func (k *Kind) Installed() bool { return k.installed == nil || k.installed() }

// A Site is where stores of one kind are.
type Site struct {
	Kind   *Kind
	dir    string
	server server
}

// A server is a process, or what is like one.
type server interface {
	addr() (network, addr string)
	kill()        // as SIGKILL does
	again() error // starts it again
	close()
}

// Start makes a site in a directory, and starts its server. The site's files in it are the
// caller's to remove, after Close.
func (k *Kind) Start(dir string) (s *Site, err error) {
	s = &Site{Kind: k, dir: dir}
	if k.start != nil {
		s.server, err = k.start(dir)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", k.Name, err)
		}
	}
	return s, nil
}

// URL returns the URL of a store, of letters, digits and underscores, by way of an address
// if that is not empty.
func (s *Site) URL(name, addr string) string { return s.Kind.url(s, name, addr) }

// Addr returns how to reach the server; empty if there is no server.
func (s *Site) Addr() (network, addr string) {
	if s.server == nil {
		return "", ""
	}
	return s.server.addr()
}

// CanRestart reports whether there is a server that can be killed.
func (s *Site) CanRestart() bool {
	_, inProcess := s.server.(*buckets)
	return s.server != nil && !inProcess
}

// Kill ends the server as SIGKILL does.
func (s *Site) Kill() { s.server.kill() }

// Again starts the server after Kill. It returns once the server answers.
func (s *Site) Again() error { return s.server.again() }

// Restart kills the server and starts it again. It returns once the server answers.
func (s *Site) Restart() error {
	s.Kill()
	return s.Again()
}

// Close ends the server.
func (s *Site) Close() {
	if s.server != nil {
		s.server.close()
	}
}

func below(scheme, ending string) func(*Site, string, string) string {
	return func(s *Site, name, _ string) string { return scheme + filepath.Join(s.dir, name+ending) }
}

func byPrefix(scheme string) func(*Site, string, string) string {
	return func(s *Site, name, addr string) string {
		if addr == "" {
			_, addr = s.Addr()
		}
		return scheme + "://" + addr + "?prefix=" + name
	}
}

func postgresURL(s *Site, name, addr string) string {
	if addr == "" {
		return s.server.(*postgres).URL() + "&schema=" + name
	}
	return "postgres://postgres@" + addr + "/postgres?sslmode=disable&schema=" + name
}

func s3URL(s *Site, name, addr string) string {
	if addr == "" {
		_, addr = s.Addr()
	}
	return "s3://bucket/" + name + "?endpoint=" + url.QueryEscape("http://"+addr)
}

// Open opens a store. With a timeout, calls to a server that does not answer end after it.
func Open(ctx context.Context, url string, timeout time.Duration) (posthouse.Store, error) {
	scheme, _, _ := strings.Cut(url, ":")
	switch {
	case scheme == "s3":
		return orNil(s3store.Open(ctx, url, &s3store.Options{AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, Timeout: timeout}))
	case timeout == 0:
	case scheme == "postgres":
		return orNil(pgstore.Open(ctx, url, &pgstore.Options{Timeout: timeout}))
	case scheme == "redis":
		return orNil(redisstore.Open(ctx, url, &redisstore.Options{Timeout: timeout}))
	case scheme == "nats":
		return orNil(natsstore.Open(ctx, url, &natsstore.Options{Timeout: timeout}))
	}
	return all.Open(ctx, url, nil)
}

// orNil keeps a nil store from becoming an interface that is not nil.
func orNil[S posthouse.Store](s S, err error) (posthouse.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
