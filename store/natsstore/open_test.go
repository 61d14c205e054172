package natsstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// connect opens a client beside the store.
func connect(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	c, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// TestWeakStreams finds streams that were made to lose messages.
func TestWeakStreams(t *testing.T) {
	server := startServer(t, t.TempDir())
	js := connect(t, server.ClientURL())
	for what, change := range map[string]func(*jetstream.StreamConfig){
		"memory": func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage },
		"async":  func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode },
		"limits": func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
	} {
		c := jetstream.StreamConfig{Name: what + "-log", Subjects: []string{what + ".log.*"}, Replicas: 1}
		change(&c)
		if _, err := js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		_, err := natsstore.Open(t.Context(), server.ClientURL(), &natsstore.Options{Prefix: what})
		if !errors.Is(err, posthouse.ErrUnsupported) || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "--allow-weak-store") {
			t.Errorf("%s: %v", what, err)
		}
		s := openAt(t, server.ClientURL(), &natsstore.Options{Prefix: what, AllowWeak: true})
		if weak, err := s.Weak(t.Context()); err != nil || len(weak) != 2 || !strings.Contains(weak[0], what) || !strings.Contains(weak[1], "sync_interval") {
			t.Errorf("%s: weak %q %v", what, weak, err)
		}
	}
	s := openAt(t, "nats:"+t.TempDir(), nil)
	if weak, err := s.Weak(t.Context()); err != nil || len(weak) > 0 {
		t.Errorf("a server in this process: %q %v", weak, err)
	}
	if !s.Exclusive() {
		t.Error("a server in this process is not exclusive")
	}
}

// TestLostStream deletes a stream, and messages, without the store.
func TestLostStream(t *testing.T) {
	server := startServer(t, t.TempDir())
	js := connect(t, server.ClientURL())
	for what, spoil := range map[string]func(prefix string) error{
		"bucket": func(p string) error { return js.DeleteStream(t.Context(), "KV_"+p+"-checkpoints") },
		"log":    func(p string) error { return js.DeleteStream(t.Context(), p+"-log") },
		"middle": func(p string) error {
			s, err := js.Stream(t.Context(), p+"-log")
			if err == nil {
				err = s.DeleteMsg(t.Context(), 2)
			}
			return err
		},
		"end": func(p string) error {
			s, err := js.Stream(t.Context(), p+"-log")
			if err == nil {
				err = s.DeleteMsg(t.Context(), 3)
			}
			return err
		},
	} {
		o := &natsstore.Options{Prefix: what}
		s := openAt(t, server.ClientURL(), o)
		b := storetest.NewBuilder()
		for _, name := range []string{"a", "b", "c"} {
			servertest.Take(t, s, b.Log(name))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := spoil(what); err != nil {
			t.Fatal(err)
		}
		if _, err := natsstore.Open(t.Context(), server.ClientURL(), o); !errors.Is(err, posthouse.ErrCorrupt) || !strings.Contains(err.Error(), "data loss detected") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOpensBesideWriters opens a store while another process writes its slots again and
// again: a key that is not where it was when the reading began is not lost.
func TestOpensBesideWriters(t *testing.T) {
	server := startServer(t, t.TempDir())
	s := openAt(t, server.ClientURL(), natsstore.Options{}.Lazy())
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := posthouse.SlotKey{Thread: "t", Step: fmt.Sprint(w, "-", n%20)}
				if _, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("x"), Revision: uint64(n / 20)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 30 {
		beside, err := natsstore.Open(t.Context(), server.ClientURL(), nil)
		if err != nil {
			t.Error(err)
			break
		}
		if err := beside.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	group.Wait()
}

// TestErased looks for removed bytes in the server's files.
func TestErased(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := openAt(t, "nats:"+dir, natsstore.Options{}.Lazy())
	l := storetest.NewBuilder().Log("a")
	small, large := "a secret of few bytes", strings.Repeat("a large secret ", 8000)
	servertest.Take(t, s, l, l.Step("s", []byte(small)), l.Step("kept", []byte("what is kept")))
	servertest.Take(t, s, l, l.Step("s", []byte(large)))
	r := posthouse.Removal{Thread: "a", Bodies: []posthouse.BodyRef{{Seq: 1}, {Seq: 2}}}
	done, err := s.Remove(t.Context(), r)
	if err != nil || done.Bodies != 2 {
		t.Fatalf("done %+v, error %v", done, err)
	}
	servertest.WantSound(t, s, "a", 2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{small, "a large secret"} {
		if name := contains(t, dir, text); name != "" {
			t.Errorf("%q is still in %s", text, name)
		}
	}
	if contains(t, dir, "what is kept") == "" {
		t.Error("what is kept is not found: the test proves nothing")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []natsstore.Options{{Prefix: "a.b"}, {Prefix: strings.Repeat("x", 33)}, {Replicas: 2}, {Timeout: -time.Second}} {
		if _, err := natsstore.Open(t.Context(), "nats:"+t.TempDir(), &o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, url := range []string{"http://localhost", "nats:", "nats://", "tls:x", "nats://a:pw@[::1", "nats://h/x", "nats:x?what=y", "nats:x?replicas=y"} {
		if _, err := natsstore.Open(t.Context(), url, nil); !errors.Is(err, posthouse.ErrInvalid) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := natsstore.Open(t.Context(), "nats:"+filepath.Join(t.TempDir(), "none"), &natsstore.Options{ReadOnly: true}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("nothing there: %v", err)
	}
	server := startServer(t, t.TempDir())
	if _, err := natsstore.Open(t.Context(), server.ClientURL(), &natsstore.Options{ReadOnly: true}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("nothing there: %v", err)
	}
}

// TestLeftoverChunksAreFound finds chunks that belong to nothing.
func TestLeftoverChunksAreFound(t *testing.T) {
	server := startServer(t, t.TempDir())
	s := openAt(t, server.ClientURL(), natsstore.Options{}.Grace(time.Nanosecond))
	l := storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l, l.Step("s", storetest.Filler(100<<10, "kept")))
	if _, err := connect(t, server.ClientURL()).Publish(t.Context(), "posthouse.chunk", storetest.Filler(100<<10, "left")); err != nil {
		t.Fatal(err)
	}
	done, err := s.Compact(t.Context())
	if err != nil || done.Before-done.After < 100<<10 {
		t.Errorf("done %+v, error %v", done, err)
	}
	servertest.WantSound(t, s, "a", 1)
}

// TestDrop drops a store, and leaves another on the same server.
func TestDrop(t *testing.T) {
	server := startServer(t, t.TempDir())
	stays := openAt(t, server.ClientURL(), nil)
	servertest.Take(t, stays, storetest.NewBuilder().Log("a"))
	for _, url := range []string{server.ClientURL() + "?prefix=goes", "nats:" + t.TempDir()} {
		for range 2 { // the second finds nothing of the first
			s := openAt(t, url, nil)
			if text, err := storetest.Dump(t.Context(), s); err != nil || text != "" {
				t.Fatalf("text %q, error %v", text, err)
			}
			servertest.Take(t, s, storetest.NewBuilder().Log("a"))
			if err := s.Drop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	servertest.WantSound(t, stays, "a", 1)
}
