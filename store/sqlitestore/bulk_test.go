package sqlitestore_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// chain saves n checkpoints of one thread.
func chain(t testing.TB, l *ledger.Ledger, thread string, n int) {
	t.Helper()
	c, err := l.Save(t.Context(), posthouse.Root(thread, posthouse.State{"n": text("0")}), nil)
	for i := 1; i < n && err == nil; i++ {
		next := c.Derive(posthouse.State{"n": text(fmt.Sprint(i)), "log": text(fmt.Sprintf("what happened in step %d", i))})
		c, err = l.Save(t.Context(), next, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopiesShareCommits copies a thread in each way there is: what would take a
// commit for each entry takes one for hundreds.
func TestCopiesShareCommits(t *testing.T) {
	const n = 1000
	source := memstore.New()
	from, err := ledger.Open(source, nil)
	if err != nil {
		t.Fatal(err)
	}
	chain(t, from, "t", n)
	var file bytes.Buffer
	if _, err := transfer.Export(t.Context(), from, "t", &file, nil); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	l, err := ledger.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		name string
		copy func() error
	}{
		{"Import", func() error {
			_, err := transfer.Import(t.Context(), l, bytes.NewReader(file.Bytes()), nil)
			return err
		}},
		{"CopyThread", func() error {
			_, err := transfer.CopyThread(t.Context(), l, "t", "u", nil)
			return err
		}},
		{"CopyStore", func() error {
			to := open(t, filepath.Join(t.TempDir(), "copy.db"), nil)
			_, err := transfer.CopyStore(t.Context(), s, to, nil)
			if commits := to.Commits(); commits > n/50 {
				t.Errorf("CopyStore made %d commits of the target for two threads of %d entries", commits, n)
			}
			return errors.Join(err, to.Close())
		}},
	} {
		before := s.Commits()
		if err := way.copy(); err != nil {
			t.Fatalf("%s: %v", way.name, err)
		}
		if commits := s.Commits() - before; commits > n/50 {
			t.Errorf("%s made %d commits for %d entries", way.name, commits, n)
		}
	}
	noDifference(t, s)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func text(s string) posthouse.Value { return posthouse.Value{Codec: "text", Data: []byte(s)} }

// BenchmarkCopyThread copies a thread of 10,000 checkpoints on this store and on
// memstore, in turn, and reports the ratio of their times.
func BenchmarkCopyThread(b *testing.B) {
	const n = 10_000
	s := open(b, filepath.Join(b.TempDir(), "posthouse.db"), nil)
	ledgers := make([]*ledger.Ledger, 2)
	for i, store := range []posthouse.Store{s, memstore.New()} {
		l, err := ledger.Open(store, nil)
		if err != nil {
			b.Fatal(err)
		}
		chain(b, l, "t", n)
		ledgers[i] = l
	}
	var took [2]time.Duration
	for round := 0; b.Loop(); round++ {
		for i, l := range ledgers {
			began := time.Now()
			if _, err := transfer.CopyThread(b.Context(), l, "t", fmt.Sprint("copy-", round), nil); err != nil {
				b.Fatal(err)
			}
			took[i] += time.Since(began)
		}
	}
	b.ReportMetric(took[0].Seconds()*1e6/float64(b.N*n), "µs/checkpoint")
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "times-memory")
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}
