package natsstore_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// A natsServer listens on a port of this machine.
type natsServer struct {
	*server.Server
	opts server.Options
}

// startServer starts a server that ends with the test. Its port stays the same when it is
// started again.
func startServer(t testing.TB, dir string) *natsServer {
	t.Helper()
	s := &natsServer{opts: server.Options{ServerName: "test", Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true}}
	s.start(t)
	t.Cleanup(s.stop)
	return s
}

func (s *natsServer) start(t testing.TB) {
	t.Helper()
	o := s.opts
	var err error
	if s.Server, err = server.NewServer(&o); err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(60e9) {
		t.Fatal("the server does not start")
	}
	s.opts.Port = o.Port
}

func (s *natsServer) stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

func openAt(t testing.TB, url string, o *natsstore.Options) *natsstore.Store {
	t.Helper()
	s, err := natsstore.Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// prefixOf makes a prefix of a name.
func prefixOf(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("test-%x", h.Sum64())
}

// take appends one entry and moves the log behind it.
func take(t testing.TB, s posthouse.Store, l *storetest.Log, items ...storetest.Item) *posthouse.Batch {
	t.Helper()
	b := l.Next(items...)
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	l.Took(b)
	return b
}

func entries(t testing.TB, s posthouse.Store, thread string) (es []*posthouse.Entry) {
	t.Helper()
	for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

// wantSound wants a log that chains, from its first entry, of n entries, and a store that
// finds nothing wrong with itself.
func wantSound(t testing.TB, s *natsstore.Store, thread string, n int) {
	t.Helper()
	var info posthouse.ThreadInfo
	es := entries(t, s, thread)
	for _, e := range es {
		if err := e.Check(); err != nil {
			t.Error(err)
		}
		if err := info.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(es) != n {
		t.Errorf("thread %q has %d entries, want %d", thread, len(es), n)
	}
	for err := range s.Check(t.Context()) {
		t.Errorf("Check: %v", err)
	}
}

// A counter counts across goroutines.
type counter = atomic.Int64

// contains returns the name of a file below dir that has the text, or "".
func contains(t testing.TB, dir, text string) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
