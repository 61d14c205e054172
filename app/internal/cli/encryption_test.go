package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/ledger"
)

// An encrypted is a data directory whose server is started and stopped.
type encrypted struct {
	t   *testing.T
	dir string
	env map[string]string

	open host.Opener // nil: that of local stores
}

func (e *encrypted) app(out io.Writer) *app {
	a := &app{env: func(name string) string { return e.env[name] }}
	a.Term = term.Term{In: strings.NewReader(""), Out: out, Err: out}
	a.OpenStore = e.open
	return a
}

// cli runs a command line and returns what it printed.
func (e *encrypted) cli(code int, args ...string) string {
	e.t.Helper()
	var out bytes.Buffer
	if got := e.app(&out).run(e.t.Context(), append(args, "--data-dir", e.dir)); got != code {
		e.t.Errorf("%v: exit code %d, want %d\n%s", args, got, code, &out)
	}
	return out.String()
}

// serve opens a server's parts, lets do use them, and closes them.
func (e *encrypted) serve(s serveFlags, do func(*host.Host)) error {
	e.t.Helper()
	var out bytes.Buffer
	a := e.app(&out)
	a.dataDir, s.addr, s.logLevel = e.dir, "127.0.0.1:0", "error"
	r, err := a.open(e.t.Context(), &s)
	if err != nil {
		return err
	}
	a.banner(r)
	if do != nil {
		do(r)
	}
	if id := r.Ledger.EncryptionStatus().EncryptionKey; (id != "") != strings.Contains(out.String(), "Encrypted   with key "+id) {
		e.t.Errorf("the banner does not say what is so:\n%s", &out)
	}
	return errors.Join(err, r.Close())
}

func (e *encrypted) save(r *host.Host, thread, secret string) {
	e.t.Helper()
	state := posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte(secret)}}
	if _, err := r.Ledger.Save(e.t.Context(), posthouse.Root(thread, state), nil); err != nil {
		e.t.Fatal(err)
	}
}

// TestEncryptionWalk encrypts, rotates and retires as the documentation says,
// and takes the keys away.
func TestEncryptionWalk(t *testing.T) {
	e := &encrypted{t: t, dir: t.TempDir(), env: map[string]string{"HOME": t.TempDir()}}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(e.serve(serveFlags{}, func(r *host.Host) { e.save(r, "before", "plain") }))
	if out := e.cli(0, "encryption", "status"); !strings.Contains(out, "not encrypted") {
		t.Errorf("status of a plain store:\n%s", out)
	}
	ok(e.serve(serveFlags{encrypt: true}, func(r *host.Host) { e.save(r, "a", "open sesame") }))
	ok(e.serve(serveFlags{}, func(r *host.Host) { e.save(r, "b", "open sesame") })) // the key file is there: it goes on encrypting
	for _, f := range []string{"posthouse.db", "posthouse.db-wal"} {
		data, err := os.ReadFile(filepath.Join(e.dir, f))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte("open sesame")) {
			t.Errorf("%s holds the secret", f)
		}
	}
	e.cli(0, "verify")

	var status struct{ Keys []encryptionKey }
	read := func() []encryptionKey {
		t.Helper()
		status.Keys = nil
		ok(json.Unmarshal([]byte(e.cli(0, "encryption", "status", "--json")), &status))
		return status.Keys
	}
	old := read()[0]
	if !old.Current || old.Wraps != 2 {
		t.Errorf("%+v", old)
	}
	e.cli(0, "encryption", "rotate", "--yes")
	if keys := read(); len(keys) != 2 || keys[0].Wraps != 2 || !keys[1].Current || keys[1].Wraps != 0 {
		t.Errorf("rotated: %+v", keys)
	}
	e.cli(posthouse.ExitConflict, "encryption", "retire", old.ID, "--yes")
	ok(e.serve(serveFlags{}, func(r *host.Host) { r.Rewrap(t.Context()) }))
	if keys := read(); keys[0].Wraps != 0 || keys[1].Wraps != 2 {
		t.Errorf("restarted: %+v", keys)
	}
	if out := e.cli(0, "encryption", "rewrap"); !strings.Contains(out, "wrapped 0 data keys anew; 2 were before") {
		t.Errorf("rewrap says %q", out)
	}
	e.cli(0, "encryption", "retire", old.ID, "--yes")
	e.cli(posthouse.ExitNotFound, "encryption", "retire", old.ID, "--yes")

	elsewhere := filepath.Join(t.TempDir(), "keys")
	ok(os.Rename(filepath.Join(e.dir, "encryption.keys"), elsewhere))
	if err := e.serve(serveFlags{}, nil); !errors.Is(err, posthouse.ErrSealed) || !strings.Contains(err.Error(), "POSTHOUSE_KEYS") {
		t.Errorf("without the key file it starts: %v", err)
	}
	if err := e.serve(serveFlags{keys: elsewhere + ".not"}, nil); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("with a key file that is not there: %v", err)
	}
	if keys := read(); len(keys) != 1 || !keys[0].Missing {
		t.Errorf("the key is missing: %+v", keys)
	}
	e.env["POSTHOUSE_KEYS"] = elsewhere
	if keys := read(); len(keys) != 1 || keys[0].Missing || keys[0].Wraps != 2 {
		t.Errorf("with POSTHOUSE_KEYS: %+v", keys)
	}
	ok(e.serve(serveFlags{keys: elsewhere}, func(r *host.Host) {
		for _, thread := range []string{"before", "a", "b"} {
			if _, err := r.Ledger.Latest(context.Background(), ledger.LatestQuery{Thread: thread}); err != nil {
				t.Errorf("thread %s: %v", thread, err)
			}
		}
	}))
}

// TestEncryptedBehindPlainThreads: a server without the key file is refused,
// however many plain threads the store had before it was encrypted; somebody can
// decide otherwise, on record.
func TestEncryptedBehindPlainThreads(t *testing.T) {
	e := &encrypted{t: t, dir: t.TempDir(), env: map[string]string{"HOME": t.TempDir()}}
	const plain = 1200
	if err := e.serve(serveFlags{}, func(r *host.Host) {
		for i := range plain {
			e.save(r, fmt.Sprintf("a%05d", i), "plain")
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := e.serve(serveFlags{encrypt: true}, func(r *host.Host) { e.save(r, "z", "open sesame") }); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(e.dir, "encryption.keys")); err != nil {
		t.Fatal(err)
	}
	if err := e.serve(serveFlags{}, nil); !errors.Is(err, posthouse.ErrSealed) {
		t.Fatalf("without the key file it starts: %v", err)
	}
	if out := e.cli(0, "encryption", "status"); !strings.Contains(out, "the store is encrypted") {
		t.Errorf("status says\n%s", out)
	}
	e.cli(posthouse.ExitUsage, "encryption", "clear", "--yes", "--by", "ann")
	e.cli(0, "encryption", "clear", "--yes", "--by", "ann", "--reason", "the keys are lost")
	if err := e.serve(serveFlags{}, func(r *host.Host) { e.save(r, "new", "plain") }); err != nil {
		t.Error(err)
	}
	if out := e.cli(0, "encryption", "status"); !strings.Contains(out, "ann decided to write in the clear: the keys are lost") {
		t.Errorf("status says\n%s", out)
	}
}
