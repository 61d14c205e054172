package golden_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/transfer"
)

// A goldenStore is a store in testdata, named by its path without ".db".
type goldenStore string

func (g goldenStore) signed() bool { return !strings.HasSuffix(string(g), "plain") }
func (g goldenStore) sealed() bool { return strings.Contains(filepath.Base(string(g)), "sealed") }
func (g goldenStore) name() string {
	return strings.TrimPrefix(filepath.ToSlash(string(g)), "testdata/")
}

func goldenStores(t *testing.T) (all []goldenStore) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.db")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 5 {
		t.Fatalf("found %d golden stores: %s", len(paths), paths)
	}
	for _, p := range paths {
		if g := goldenStore(strings.TrimSuffix(p, ".db")); !g.ownThreads() {
			all = append(all, g)
		}
	}
	return all
}

// sqlite opens a copy.
func (g goldenStore) sqlite(t *testing.T) posthouse.Store {
	t.Helper()
	data, err := os.ReadFile(string(g) + ".db")
	if errors.Is(err, fs.ErrNotExist) {
		data, err = unzip(string(g) + ".db.gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "golden.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// memory copies the store into memory.
func (g goldenStore) memory(t *testing.T) posthouse.Store {
	t.Helper()
	store := memstore.New()
	if _, err := transfer.CopyStore(t.Context(), g.sqlite(t), store, nil); err != nil {
		t.Fatal(err)
	}
	return store
}

// testKey signs. FOR TESTS ONLY: everybody knows its seed.
func testKey(t *testing.T) *sign.Key {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed([]byte("TEST KEY ONLY, golden posthouse!")))
	if err != nil {
		t.Fatal(err)
	}
	key, err := sign.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (g goldenStore) ring(t *testing.T) *sign.Ring {
	t.Helper()
	if !g.signed() {
		return nil
	}
	ring, err := sign.NewRing(testKey(t).Public())
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// A clock goes on by a quarter of a second each time it is read.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(250 * time.Millisecond)
	return c.at
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// ledger opens a ledger with the golden store's keys, a month after it was
// written.
func (g goldenStore) ledger(t *testing.T, store posthouse.Store) (*ledger.Ledger, *clock) {
	t.Helper()
	c := &clock{at: time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)}
	o := &ledger.Options{Now: c.now, Validate: gate.Validator(), Owner: "today", LeaseTTL: time.Hour} // each look at the clock takes a while
	if g.signed() {
		o.Signer = testKey(t)
	}
	if g.sealed() {
		ring, err := crypt.NewKeyring(map[string][]byte{"test-new": []byte("TEST KEY ONLY, golden, a second!")}, "test-new")
		if err != nil {
			t.Fatal(err)
		}
		o.Cipher = ring
	}
	l, err := ledger.Open(store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, c
}

// answers reads what was answered when the store was written.
func (g goldenStore) answers(t *testing.T) map[string]any {
	t.Helper()
	data, err := unzip(string(g) + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	all := parse(t, string(data)).(map[string]any)
	nameEffects(all)
	return all
}

// unzip reads a file that is packed with gzip.
func unzip(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// nameEffects puts the names of effect classes in the place of the numbers that
// earlier versions showed.
func nameEffects(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			var e posthouse.Effect
			if n, ok := x.(json.Number); ok && k == "effect" && e.UnmarshalJSON([]byte(n)) == nil {
				v[k] = e.String()
				continue
			}
			nameEffects(x)
		}
	case []any:
		for _, x := range v {
			nameEffects(x)
		}
	}
}

func compare(t *testing.T, want, got map[string]any) {
	t.Helper()
	const most = 20
	all := differences("", want, got)
	for _, d := range all[:min(len(all), most)] {
		if len(d) > 600 {
			d = d[:600] + "..."
		}
		t.Error(d)
	}
	if len(all) > most {
		t.Errorf("and %d more", len(all)-most)
	}
}

// TestAnswersStay asks each store of each earlier version everything.
func TestAnswersStay(t *testing.T) {
	for _, o := range openings(t) {
		t.Run(o.name, func(t *testing.T) {
			l, _ := o.ledger(t, o.open(t))
			got, err := ask(t.Context(), l, o.ring(t))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, o.answers(t), got)
		})
	}
}

// TestWithdrawalsSayWhoCancelled: the golden stores have a gate that was withdrawn when its branch was cancelled,
// and whose decision says that the branch went on.
func TestWithdrawalsSayWhoCancelled(t *testing.T) {
	for _, g := range goldenStores(t) {
		l, _ := g.ledger(t, g.sqlite(t))
		found := 0
		for e, err := range l.Log(t.Context(), "graph-cancelled", posthouse.Range{}) {
			must.Do(t, err)
			for _, r := range e.Events {
				if r.Decision == nil {
					continue
				}
				found++
				gate := must.Get(l.Gate(t.Context(), r.Decision.Gate))(t)
				why := must.Get(inbox.Why(t.Context(), l, gate))(t)
				if !strings.HasPrefix(why, "the branch was cancelled") || gate.Decision.Reason != "the branch went on without it" {
					t.Errorf("%s: the gate was withdrawn because %q, on record is %q", g.name(), why, gate.Decision.Reason)
				}
			}
		}
		if found != 1 {
			t.Errorf("%s has %d decisions, want 1", g.name(), found)
		}
	}
}

// TestThreadFilesStay imports the thread files of earlier versions into memory,
// where they must answer what the store answers that they are of.
func TestThreadFilesStay(t *testing.T) {
	// One is of a run that was lost within its first second: it is not signed yet, and
	// by default it would not be taken.
	asItIs := &transfer.ImportOptions{Check: func(*posthouse.Entry) error { return nil }}
	for _, g := range goldenStores(t) {
		files, err := filepath.Glob(string(g) + "/*.thread")
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			l, _ := g.ledger(t, memstore.New())
			for _, path := range files {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := transfer.Import(t.Context(), l, bytes.NewReader(data), asItIs); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
			got, err := ask(t.Context(), l, g.ring(t))
			if err != nil {
				t.Fatal(err)
			}
			want := g.answers(t)
			// Deleted threads have no file, so these count fewer.
			delete(want, "verify")
			delete(want, "keyUse")
			compare(t, want, got)
		})
	}
}

// TestSealedStaysSealed opens the encrypted stores without their keys: headers
// are answered, bodies are not.
func TestSealedStaysSealed(t *testing.T) {
	for _, g := range goldenStores(t) {
		if !g.sealed() {
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			l, err := ledger.Open(g.sqlite(t), &ledger.Options{Now: (&clock{}).now})
			if err != nil {
				t.Fatal(err)
			}
			headers := 0
			for h, err := range l.List(t.Context(), posthouse.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				headers++
				if _, err := l.Get(t.Context(), h.ID); h.Size > 0 && !errors.Is(err, posthouse.ErrSealed) {
					t.Errorf("%s of %s: %v, want ErrSealed", h.ID, h.Thread, err)
				}
			}
			if headers < 200 {
				t.Errorf("found %d headers", headers)
			}
		})
	}
}

// TestRemovedBodiesStayRemoved names what the stores lack on purpose, so that
// answers that say "gone" are not gone by accident.
func TestRemovedBodiesStayRemoved(t *testing.T) {
	for _, g := range goldenStores(t) {
		t.Run(g.name(), func(t *testing.T) {
			l, _ := g.ledger(t, g.sqlite(t))
			for _, thread := range []string{"shortened", "pruned", "retained", "report"} {
				if gone(t, l, thread) == 0 {
					t.Errorf("%s has all its bodies", thread)
				}
			}
			for _, thread := range []string{"trunk", "chat"} {
				if n := gone(t, l, thread); n != 0 {
					t.Errorf("%s lacks %d bodies", thread, n)
				}
			}
			if _, err := l.Thread(t.Context(), "deleted"); !errors.Is(err, posthouse.ErrNotFound) {
				t.Errorf("a deleted thread: %v", err)
			}
			if r, err := ledger.FindRelease(t.Context(), l, "report", "may"); err != nil || !slices.Contains(r.Tags, "may") {
				t.Errorf("a dropped release: %v, %v", r, err)
			}
		})
	}
}

// gone counts a thread's checkpoint bodies that are not there, and versions that
// were dropped.
func gone(t *testing.T, l *ledger.Ledger, thread string) (n int) {
	t.Helper()
	last := uint64(0)
	for e, err := range l.Log(context.WithoutCancel(t.Context()), thread, posthouse.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != last+1 {
			n++
		}
		last = e.Seq
		for i, r := range e.Records {
			if r.Checkpoint != nil && r.Size > 0 && e.Bodies[i] == nil {
				n++
			}
		}
	}
	return n
}
