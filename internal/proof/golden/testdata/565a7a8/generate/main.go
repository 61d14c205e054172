// Command generate writes golden stores with effects in all their states, and the answers of these
// stores, into a directory. It is kept for the record: run it at the commit that the directory is
// named by, see the README there.
package main

import (
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A posture is how a store is written: "plain", "signed", or "sealed", which is signed and encrypted.
type posture string

func main() {
	switch {
	case len(os.Args) == 2:
		for _, p := range []posture{"plain", "signed", "sealed"} {
			write(os.Args[1], p)
		}
	case len(os.Args) == 5: // a process that dies in the middle of a thread's effect: see die
		w := open(os.Args[1], posture(os.Args[2]), must(time.Parse(time.RFC3339, os.Args[4])))
		w.bank.next = "die"
		_, err := w.app.Resume(w.ctx, os.Args[3])
		log.Fatal("the process lives: ", err)
	default:
		log.Fatal("usage: generate DIRECTORY")
	}
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
	return v
}

// A clock stands still until it is told to move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// A writer is a process that writes one store.
type writer struct {
	ctx   context.Context
	path  string
	as    posture
	clock *clock
	store *sqlitestore.Store
	l     *ledger.Ledger
	bank  *bank
	app   *flow.App[deal, string]
}

func open(path string, as posture, at time.Time) *writer {
	w := &writer{ctx: context.Background(), path: path, as: as, clock: &clock{at: at}, bank: &bank{}}
	w.store = must(sqlitestore.Open(w.ctx, path, nil))
	o := &ledger.Options{Now: w.clock.now, Validate: gate.Validator(), Owner: "golden", LeaseTTL: time.Minute}
	if as != "plain" {
		o.Signer = testKey()
	}
	if as == "sealed" { // FOR TESTS ONLY: everybody knows this key
		o.Cipher = must(crypt.NewKeyring(map[string][]byte{"test-new": []byte("TEST KEY ONLY, golden, a second!")}, "test-new"))
	}
	w.l = must(ledger.Open(w.store, o))
	w.app = must(flow.New("golden-effects", w.bank.deal).Open(w.l, nil))
	return w
}

func (w *writer) close() {
	check(w.l.Close())
	check(w.store.Close())
}

func write(dir string, as posture) {
	path := filepath.Join(dir, "effects-"+string(as)+".db")
	w := open(path, as, time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC))
	w = w.inPlace()
	w.remote()
	w.handlers()
	w.left()
	var ring *sign.Ring
	if as != "plain" {
		ring = must(sign.NewRing(testKey().Public()))
	}
	all := must(ask(w.ctx, w.l, ring))
	if as != "signed" { // one store has all answers
		all = map[string]any{"verify": all["verify"]}
	}
	all["effects"], all["links"] = w.effects()
	all = plain(all).(map[string]any)
	w.close()
	pack(path[:len(path)-len(".db")]+".json.gz", must(json.Marshal(all)))
	pack(path+".gz", must(os.ReadFile(path)))
	check(os.Remove(path))
	check(os.Remove(path + ".lock"))
}

// effects returns what the commit said of each effect, by thread, and how each thread ends.
func (w *writer) effects() (effects, links map[string]any) {
	effects, links = map[string]any{}, map[string]any{}
	for t, err := range w.l.Threads(w.ctx, posthouse.ThreadQuery{}) {
		check(err)
		links[t.Thread] = fmt.Sprint(t.Tail.Seq, " ", t.Link)
		if uses := must(ledger.Effects(w.ctx, w.l, t.Thread)); len(uses) > 0 {
			effects[t.Thread] = uses
		}
	}
	return effects, links
}

func pack(path string, data []byte) {
	f := must(os.Create(path))
	z := must(gzip.NewWriterLevel(f, gzip.BestCompression))
	must(z.Write(data))
	check(z.Close())
	check(f.Close())
}
