package redisstore_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestWeakServer sets a server to lose acknowledged writes, in each way.
func TestWeakServer(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.URL())
	s := openAt(t, server.URL(), redisstore.Options{})
	if weak, err := s.Weak(t.Context()); err != nil || len(weak) > 0 {
		t.Errorf("a durable server: %q %v", weak, err)
	}
	for _, set := range [][3]string{
		{"appendfsync", "everysec", "always"}, {"appendfsync", "no", "always"},
		{"no-appendfsync-on-rewrite", "yes", "no"}, {"maxmemory-policy", "allkeys-lru", "noeviction"}, {"appendonly", "no", "yes"},
		{"aof-load-truncated", "yes", "no"},
	} {
		do(t, c, "CONFIG", "SET", set[0], set[1])
		_, err := redisstore.Open(t.Context(), server.URL(), nil)
		if !errors.Is(err, posthouse.ErrUnsupported) || !strings.Contains(err.Error(), set[0]) || !strings.Contains(err.Error(), "--allow-weak-store") {
			t.Errorf("set[0] %s, set[1] %s, error %v", set[0], set[1], err)
		}
		if weak, err := s.Weak(t.Context()); err != nil || len(weak) != 1 || !strings.Contains(weak[0], set[0]+" is "+set[1]) {
			t.Errorf("%s %s: weak %q %v", set[0], set[1], weak, err)
		}
		openAt(t, server.URL(), redisstore.Options{AllowWeak: true})
		do(t, c, "CONFIG", "SET", set[0], set[2])
	}
}

// TestSilentServer has a user who may not ask for the settings.
func TestSilentServer(t *testing.T) {
	server := redistest.Start(t)
	do(t, connect(t, server.URL()), "ACL", "SETUSER", "app", "on", ">pw", "~{app}:*", "&{app}:*", "+@all", "-config")
	url := strings.Replace(server.URL(), "redis://", "redis://app:pw@", 1) + "?prefix=app"
	if _, err := redisstore.Open(t.Context(), url, nil); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("settings unknown: %v", err)
	}
	s, err := redisstore.Open(t.Context(), url, &redisstore.Options{AllowWeak: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	servertest.Take(t, s, storetest.NewBuilder().Log("a"))
	servertest.WantSound(t, s, "a", 1)
	_, err = redisstore.Open(t.Context(), strings.Replace(url, ":pw@", ":secret@", 1), nil)
	if !errors.Is(err, posthouse.ErrForbidden) || strings.Contains(err.Error(), "secret") {
		t.Errorf("another password: %v", err)
	}
}

func TestClusterIsRefused(t *testing.T) {
	server := redistest.Start(t, "cluster-enabled", "yes")
	_, err := redisstore.Open(t.Context(), server.URL(), &redisstore.Options{AllowWeak: true})
	if !errors.Is(err, posthouse.ErrUnsupported) || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("a cluster: %v", err)
	}
}

// TestReplica makes a replica of a server: it is refused, can be read, and a store that
// finds its server demoted says so.
func TestReplica(t *testing.T) {
	primary, replica := redistest.Start(t), redistest.Start(t)
	s := openAt(t, primary.URL(), redisstore.Options{})
	l := storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l)
	c := connect(t, replica.URL())
	host, port, _ := strings.Cut(primary.Addr(), ":")
	do(t, c, "REPLICAOF", host, port)
	if _, err := redisstore.Open(t.Context(), replica.URL(), &redisstore.Options{AllowWeak: true}); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("a replica: %v", err)
	}
	for text := ""; !strings.Contains(text, "master_link_status:up"); {
		m := do(t, c, "INFO", "replication")
		text, _ = m.ToString()
	}
	r := openAt(t, replica.URL(), redisstore.Options{ReadOnly: true})
	servertest.WantSound(t, r, "a", 1)
	if err := r.Append(t.Context(), l.Next()); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("a store for reading: %v", err)
	}
	do(t, connect(t, primary.URL()), "REPLICAOF", "127.0.0.1", "1")
	if err := s.Append(t.Context(), l.Next()); !errors.Is(err, posthouse.ErrReadOnly) || !strings.Contains(err.Error(), "replica") {
		t.Errorf("a demoted server: %v", err)
	}
}

// TestNewerFormat opens what a newer version wrote: it is refused with both versions named, and
// no key is changed.
func TestNewerFormat(t *testing.T) {
	servertest.Take(t, open(t, redisstore.Options{}), storetest.NewBuilder().Log("a"))
	c, prefix := connect(t, redistest.URL(t)), prefixOf(t.Name())
	do(t, c, "HSET", "{"+prefix+"}:meta", "format", "3")
	dump := func() map[string]string {
		t.Helper()
		all := map[string]string{}
		m := do(t, c, "KEYS", "{"+prefix+"}:*")
		keys, err := m.AsStrSlice()
		if err != nil || len(keys) < 3 {
			t.Fatalf("keys %q: %v", keys, err)
		}
		for _, key := range keys {
			m := do(t, c, "DUMP", key)
			all[key], _ = m.ToString()
		}
		return all
	}
	before := dump()
	for _, o := range []redisstore.Options{{}, {ReadOnly: true}} {
		o.Prefix = prefix
		_, err := redisstore.Open(t.Context(), redistest.URL(t), &o)
		if !errors.Is(err, posthouse.ErrNewer) || !strings.Contains(err.Error(), "format 3") || !strings.Contains(err.Error(), "up to 2") {
			t.Errorf("ReadOnly %v: %v", o.ReadOnly, err)
		}
	}
	if !maps.Equal(before, dump()) {
		t.Error("keys were changed")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	url := redistest.URL(t)
	for _, o := range []redisstore.Options{{Prefix: "a{b}"}, {Prefix: strings.Repeat("x", 101)}, {Poll: -1}, {Timeout: -time.Second}} {
		if _, err := redisstore.Open(t.Context(), url, &o); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, url := range []string{"http://localhost", "redis:x", "redis://localhost/x", "redis://a:pw@[::1"} {
		if _, err := redisstore.Open(t.Context(), url, nil); !errors.Is(err, posthouse.ErrInvalid) || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := redisstore.Open(t.Context(), url+"?prefix=none", &redisstore.Options{ReadOnly: true}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := redisstore.Open(t.Context(), "redis://127.0.0.1:1", nil); !errors.Is(err, posthouse.ErrUnavailable) {
		t.Errorf("no server: %v", err)
	}
}
