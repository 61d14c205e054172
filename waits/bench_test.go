package waits_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/proof/crowd"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/waits"
)

// BenchmarkReporter makes reports of many threads on disk: each time the first one of a Reporter, and the second. It
// reports how many times faster the second is.
func BenchmarkReporter(b *testing.B) {
	const threads = 5000
	ctx := b.Context()
	s := must.Get(sqlitestore.Open(ctx, filepath.Join(b.TempDir(), "posthouse.db"), nil))(b)
	defer func() { must.Do(b, s.Close()) }()
	l := must.Get(ledger.Open(s, nil))(b)
	defer func() { must.Do(b, l.Close()) }()
	must.Do(b, crowd.Threads(ctx, l, threads))
	var first, second time.Duration
	for b.Loop() {
		r := waits.NewReporter(l, inbox.NewMemory(0))
		for _, took := range []*time.Duration{&first, &second} {
			at := time.Now()
			must.Get(r.Of(ctx, nil))(b)
			*took += time.Since(at)
		}
	}
	b.ReportMetric(float64(first.Nanoseconds())/float64(b.N*threads), "ns/thread-first")
	b.ReportMetric(float64(second.Nanoseconds())/float64(b.N*threads), "ns/thread-second")
	b.ReportMetric(float64(first)/float64(second), "times-faster")
}
