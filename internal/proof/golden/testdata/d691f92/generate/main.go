// Command generate writes the golden stores, their thread files and their
// answers into a directory. It is kept for the record: run it at the commit
// that the directory above is named by, see the README there.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/proof/golden"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A posture is how a store is written.
type posture struct {
	name           string
	signed, sealed bool
	compacted      bool
	files          bool // write thread files, too
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: generate DIRECTORY")
	}
	for _, p := range []posture{
		{name: "plain"},
		{name: "signed", signed: true, files: true},
		{name: "signed-compacted", signed: true, compacted: true},
		{name: "sealed", signed: true, sealed: true, files: true},
		{name: "sealed-compacted", sealed: true, signed: true, compacted: true},
	} {
		write(os.Args[1], p)
	}
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
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

// testKey signs. FOR TESTS ONLY: everybody knows its seed.
func testKey() *sign.Key {
	private := ed25519.NewKeyFromSeed([]byte("TEST KEY ONLY, golden posthouse!"))
	der := must(x509.MarshalPKCS8PrivateKey(private))
	return must(sign.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// testRing encrypts. FOR TESTS ONLY: everybody knows its keys.
func testRing(current string) *posthouse.Keyring {
	return must(posthouse.NewKeyring(map[string][]byte{
		"test-old": []byte("TEST KEY ONLY, golden, the first"),
		"test-new": []byte("TEST KEY ONLY, golden, a second!"),
	}, current))
}

// A writer writes one store.
type writer struct {
	posture
	ctx   context.Context
	clock *clock
	l     *posthouse.Ledger
	calls *Calls

	refund *graph.App[Refund]
	faulty *graph.App[Refund]
	trip   *graph.App[Trip]
	order  *flow.App[Order, string]
	coord  *coord.Coordinator
}

func (w *writer) open(store posthouse.Store, cipher string) {
	o := &posthouse.Options{Now: w.clock.now, Validate: gate.Validator(), Owner: "golden"}
	if w.signed {
		o.Signer = testKey()
	}
	if w.sealed {
		o.Cipher = testRing(cipher)
	}
	if w.l != nil {
		check(w.l.Close())
	}
	w.l = must(posthouse.Open(store, o))
	w.calls = &Calls{}
	w.refund = must(refundGraph(w.calls).Compile(w.l, nil))
	w.faulty = must(faultyGraph(w.calls).Compile(w.l, nil))
	w.trip = must(tripGraph(w.calls).Compile(w.l, nil))
	w.order = must(flow.New("golden-order", orderFlow(w.calls)).Open(w.l, nil))
	w.coord = must(newCoordinator(w.l, w.calls))
}

func write(dir string, p posture) {
	w := &writer{posture: p, ctx: context.Background(), clock: &clock{at: time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC)}}
	path := filepath.Join(dir, p.name+".db")
	store := must(sqlitestore.Open(w.ctx, path, nil))
	w.open(store, "test-old")
	w.threads()
	w.graphs()
	w.flows()
	w.coordinations()
	if w.sealed { // the older threads are rewrapped, the newer ones wrapped so at once
		w.open(store, "test-new")
		must(w.l.Rewrap(w.ctx))
	}
	w.versions()
	w.removals()
	w.sessions()
	w.open(store, "test-new")
	if w.compacted {
		must(w.l.Compact(w.ctx))
	}
	check(w.l.Close())
	check(store.Close())
	check(os.Remove(path + ".lock"))
	answers(dir, p)
}

// answers opens the store anew and writes what it says.
func answers(dir string, p posture) {
	w := &writer{posture: p, ctx: context.Background(), clock: &clock{at: time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)}}
	path := filepath.Join(dir, p.name+".db")
	store := must(sqlitestore.Open(w.ctx, path, nil))
	w.open(store, "test-new")
	var ring *sign.Ring
	if w.signed {
		ring = must(sign.NewRing(testKey().Public()))
	}
	all := must(golden.Ask(w.ctx, w.l, ring))
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	check(e.Encode(all))
	var packed bytes.Buffer
	z := must(gzip.NewWriterLevel(&packed, gzip.BestCompression))
	must(z.Write(out.Bytes()))
	check(z.Close())
	check(os.WriteFile(filepath.Join(dir, p.name+".json.gz"), packed.Bytes(), 0o644))
	if w.files {
		check(os.MkdirAll(filepath.Join(dir, p.name), 0o755))
		for thread := range all["threads"].(map[string]any) {
			var file bytes.Buffer
			must(w.l.Export(w.ctx, thread, &file, nil))
			check(os.WriteFile(filepath.Join(dir, p.name, thread+".thread"), file.Bytes(), 0o644))
		}
	}
	check(w.l.Close())
	check(store.Close())
	check(os.Remove(path + ".lock"))
}
