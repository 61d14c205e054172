package natsstore_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/posthouse/posthouse/store/natsstore"
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
	s.Server, err = server.NewServer(&o)
	if err != nil {
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
