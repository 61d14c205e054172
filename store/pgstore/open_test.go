package pgstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestUnsafeServer is refused, unless that is wanted. Then the store says so, and the log.
func TestUnsafeServer(t *testing.T) {
	unsafe := pgtest.Start(t, "fsync=off").URL()
	for setting, url := range map[string]string{
		"fsync":              unsafe,
		"synchronous_commit": pgtest.URL(t) + "&synchronous_commit=off",
	} {
		for _, o := range []pgstore.Options{{}, {Pooler: true}} {
			o.Schema = schemaOf(t.Name())
			s, err := pgstore.Open(t.Context(), url, &o)
			if !errors.Is(err, posthouse.ErrUnsupported) || s != nil || !strings.Contains(err.Error(), setting) || !strings.Contains(err.Error(), "AllowWeak") || !strings.Contains(err.Error(), "--allow-weak-store") {
				t.Errorf("%s off: %v", setting, err)
			}
			var log bytes.Buffer
			o.AllowWeak, o.Logger = true, slog.New(slog.NewTextHandler(&log, nil))
			s = openAt(t, url, o)
			weak, err := s.Weak(t.Context())
			if err != nil || len(weak) != 1 || !strings.HasPrefix(weak[0], setting+" is off: ") || strings.Count(log.String(), weak[0]) != 1 {
				t.Errorf("%s off: weak by %q, %v; the log says %s", setting, weak, err, &log)
			}
			if err := s.Append(t.Context(), first(o, setting)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDurableServer is weak once it is set so while it is used.
func TestDurableServer(t *testing.T) {
	server := pgtest.Start(t)
	s := openAt(t, server.URL(), pgstore.Options{MaxConns: 1})
	if weak, err := s.Weak(t.Context()); err != nil || len(weak) > 0 {
		t.Errorf("weak by %q, %v", weak, err)
	}
	c := connect(t, server.URL())
	run(t, c, "ALTER SYSTEM SET full_page_writes = off")
	run(t, c, "SELECT pg_reload_conf()")
	for { // the server's processes hear of it one by one
		weak, err := s.Weak(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(weak) == 1 && strings.HasPrefix(weak[0], "full_page_writes is off") {
			break
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Weak(t.Context()); !errors.Is(err, posthouse.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func first(o pgstore.Options, setting string) *posthouse.Batch {
	l := storetest.NewBuilder().Log(fmt.Sprint(setting, o.Pooler))
	return l.Next(l.Step("s", []byte("x")))
}

// TestManyOpenAtOnce has 20 stores make one schema.
func TestManyOpenAtOnce(t *testing.T) {
	url := pgtest.URL(t)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range 20 {
		wg.Go(func() {
			<-begin
			s, err := pgstore.Open(t.Context(), url, &pgstore.Options{Schema: schemaOf(t.Name()), MaxConns: 1})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			l := storetest.NewBuilder().Log(fmt.Sprint("t", i))
			if err := s.Append(t.Context(), l.Next(l.Step("s", []byte("x")))); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	if n := run(t, connect(t, url), "UPDATE posthouse.meta SET version = version"); n != 1 {
		t.Errorf("%d rows say which version it is", n)
	}
	servertest.WantSound(t, open(t, pgstore.Options{}), "t7", 1)
}

// TestNewerSchema is refused and left as it is.
func TestNewerSchema(t *testing.T) {
	url := pgtest.URL(t)
	if err := open(t, pgstore.Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	c := connect(t, url)
	run(t, c, "UPDATE posthouse.meta SET version = 99")
	for _, o := range []pgstore.Options{{}, {ReadOnly: true}} {
		o.Schema = schemaOf(t.Name())
		if s, err := pgstore.Open(t.Context(), url, &o); !errors.Is(err, posthouse.ErrNewer) || s != nil || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), "up to 5") {
			t.Errorf("ReadOnly %v: %v", o.ReadOnly, err)
		}
	}
	if n := run(t, c, "UPDATE posthouse.meta SET version = 3 WHERE version = 99"); n != 1 {
		t.Error("the version was changed")
	}
}

func TestReadOnly(t *testing.T) {
	url := pgtest.URL(t)
	o := pgstore.Options{Schema: schemaOf(t.Name()), ReadOnly: true}
	if s, err := pgstore.Open(t.Context(), url, &o); !errors.Is(err, posthouse.ErrNotFound) || s != nil {
		t.Errorf("a schema that is not there: %v", err)
	}
	w := open(t, pgstore.Options{})
	l := storetest.NewBuilder().Log("t")
	servertest.Take(t, w, l, l.Checkpoint(posthouse.Header{}, "x"))
	r := openAt(t, url, o)
	servertest.WantSound(t, r, "t", 1)
	if err := r.Append(t.Context(), l.Next(l.Step("s", nil))); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("Append: %v", err)
	}
	if _, err := r.Remove(t.Context(), posthouse.Removal{Thread: "t", All: true}); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("Remove: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	good := pgtest.URL(t)
	for url, want := range map[string]error{
		"postgres://localhost:badport/x":      posthouse.ErrInvalid,
		good + "&schema=No":                   posthouse.ErrInvalid,
		good + "&pooler=perhaps":              posthouse.ErrInvalid,
		good + "&dbname=none":                 posthouse.ErrNotFound,
		"postgres:///x?host=/tmp/no-postgres": posthouse.ErrUnavailable,
	} {
		if s, err := pgstore.Open(t.Context(), url, nil); !errors.Is(err, want) || s != nil {
			t.Errorf("%s: got %v, want %v", url, err, want)
		}
	}
	for _, o := range []pgstore.Options{{Schema: "a b"}, {Schema: "x;y"}, {MaxConns: -1}, {MaxConns: 1001}, {Poll: -1}, {Timeout: -1}} {
		if s, err := pgstore.Open(t.Context(), good, &o); !errors.Is(err, posthouse.ErrInvalid) || s != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestRestoredDatabase opens a store on a server that counts transactions from a lower
// number, as after a dump was read into another server.
func TestRestoredDatabase(t *testing.T) {
	url := pgtest.URL(t)
	s := open(t, pgstore.Options{})
	l := storetest.NewBuilder().Log("t")
	for range 3 {
		servertest.Take(t, s, l, l.Step("s", []byte("x")))
	}
	c := connect(t, url)
	run(t, c, "UPDATE posthouse.threads SET watch = watch + 1000000000")
	run(t, c, "UPDATE posthouse.entries SET watch = watch + 1000000000")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o := pgstore.Options{Schema: schemaOf(t.Name())}
	s = openAt(t, url, o)
	servertest.Take(t, s, l, l.Step("s", []byte("x")))
	var cursor string
	n := uint64(0)
	for e, err := range s.Watch(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; e.Seq != n {
			t.Errorf("saw entry %d, want %d", e.Seq, n)
		}
		cursor = e.Cursor
		if n == 4 {
			break
		}
	}
	for _, old := range []string{"0" + strings.TrimLeft(cursor, "0123456789"), strings.Replace(cursor, "-", "-9", 1)} {
		for _, err := range s.Watch(t.Context(), old) {
			if !errors.Is(err, posthouse.ErrInvalid) {
				t.Errorf("cursor %s: %v", old, err)
			}
			break
		}
	}
}

// racerEnv makes a test binary the second process of TestTwoProcesses.
const racerEnv = "POSTHOUSE_PGSTORE_RACER"

// TestTwoProcesses has two processes append to one thread: each position goes to one of
// them, and each gets all of its entries in.
func TestTwoProcesses(t *testing.T) {
	const each = 100
	if os.Getenv(racerEnv) != "" {
		race(t, open(t, pgstore.Options{}), "child", each)
		return
	}
	s := open(t, pgstore.Options{})
	pgtest.URL(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcesses$")
	child.Env = append(os.Environ(), racerEnv+"=1")
	var out strings.Builder
	child.Stdout, child.Stderr = &out, &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	race(t, s, "parent", each)
	if err := child.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	servertest.WantSound(t, s, "shared", 2*each)
}

// race appends n entries to a thread that others append to.
func race(t *testing.T, s *pgstore.Store, name string, n int) {
	t.Helper()
	b := storetest.NewBuilder()
	info := &posthouse.ThreadInfo{Thread: "shared"}
	for i := range n {
		for {
			l := b.Resume(info)
			err := s.Append(t.Context(), l.Next(l.Step(fmt.Sprint(name, i), []byte("x"))))
			for have, err := range s.Threads(t.Context(), posthouse.ThreadQuery{Thread: "shared"}) {
				if err != nil {
					t.Fatal(err)
				}
				info = have
			}
			if err == nil {
				break
			}
			if !errors.Is(err, posthouse.ErrConflict) {
				t.Fatal(err)
			}
		}
	}
}
