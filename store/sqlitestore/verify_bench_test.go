package sqlitestore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// BenchmarkVerify verifies a database of small checkpoints, as written and once
// it is compacted, and reports the bytes of the file per second.
func BenchmarkVerify(b *testing.B) {
	for _, shape := range []struct{ threads, each int }{{1, 40_000}, {40, 1000}, {4000, 10}} {
		for _, compacted := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d x %d, compacted %t", shape.threads, shape.each, compacted), func(b *testing.B) {
				benchVerify(b, shape.threads, shape.each, compacted)
			})
		}
	}
}

func benchVerify(b *testing.B, threads, each int, compacted bool) {
	path := filepath.Join(b.TempDir(), "posthouse.db")
	s := open(b, path, &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	key, err := sign.Generate()
	if err != nil {
		b.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l, err := ledger.Open(s, &ledger.Options{Signer: key, Now: func() time.Time { at = at.Add(50 * time.Millisecond); return at }})
	if err != nil {
		b.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range threads {
		for range each {
			if _, err := l.Commit(b.Context(), &ledger.Draft{Thread: fmt.Sprint("thread-", n), Checkpoint: &posthouse.Change{
				Status: posthouse.StatusRunning, Node: "work", Graph: "bench", Next: []string{"work"},
				Parts: []posthouse.Part{{Name: "m", Codec: "raw", Data: words(rnd, 150)}},
			}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if compacted {
		if _, err := retain.Compact(b.Context(), l); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s = open(b, path, &sqlitestore.Options{ReadOnly: true})
	ring, err := sign.NewRing(key.Public())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := sign.Verify(b.Context(), s, ring, &sign.VerifyOptions{RequireSigned: true})
		if err != nil || !r.OK() {
			b.Fatalf("error %v, r.Faults %v", err, r.Faults)
		}
	}
	b.SetBytes(fileSize(b, path))
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*threads*each), "µs/checkpoint")
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}
