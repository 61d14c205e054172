package filestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/storetest"
)

// steps are batches of one thread with states of a size.
func steps(b *storetest.Builder, thread string, n, size int) (all []*posthouse.Batch) {
	l := b.Log(thread)
	for i := range n {
		batch := l.Next(l.Checkpoint(posthouse.Header{Node: "work", Status: posthouse.StatusRunning}, string(storetest.Filler(size, fmt.Sprint(thread, i)))))
		l.Took(batch)
		all = append(all, batch)
	}
	return all
}

// A raw file is appended to and synced, and no more.
type raw struct {
	f  *os.File
	at int64
}

func openRaw(b *testing.B) *raw {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return &raw{f: f}
}

func (r *raw) append(p []byte) error {
	n, err := r.f.WriteAt(p, r.at)
	if r.at += int64(n); err == nil {
		err = filestore.SyncData(r.f)
	}
	return err
}

func timed(b *testing.B, f func() error) float64 {
	runtime.GC()
	start := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start).Seconds()
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// BenchmarkOneWriter appends steps of one thread, and the same bytes to a bare file with
// a sync each. The figure is the median ratio of interleaved rounds: more is better.
func BenchmarkOneWriter(b *testing.B) {
	for _, size := range []int{200, 1024, 16 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			s, base, build := open(b, b.TempDir(), nil), openRaw(b), storetest.NewBuilder()
			var ratios, ours []float64
			const n = 200
			for round := 0; b.Loop(); round++ {
				all := steps(build, fmt.Sprint("t", round), n, size)
				us := timed(b, func() error {
					for _, batch := range all {
						if err := s.Append(b.Context(), batch); err != nil {
							return err
						}
					}
					return nil
				})
				them := timed(b, func() error {
					for _, batch := range all {
						if err := base.append(make([]byte, batch.Entry.Size())); err != nil {
							return err
						}
					}
					return nil
				})
				ratios, ours = append(ratios, them/us), append(ours, us/n)
			}
			b.ReportMetric(median(ratios), "of-raw")
			b.ReportMetric(1/median(ours), "steps/s")
		})
	}
}

// BenchmarkManyThreads has 1,000 threads append 10 steps each at once, and the same bytes
// go to a bare file by a group commit. of-raw-drained has the time until full segments of
// the journal are drained, too.
func BenchmarkManyThreads(b *testing.B) {
	const threads, each, size = 1000, 10, 1024
	s, base, build := open(b, b.TempDir(), nil), openRaw(b), storetest.NewBuilder()
	q := groupcommit.New(512, func([]byte) int { return 1 }, func(group []*groupcommit.Call[[]byte]) {
		var buf []byte
		for _, c := range group {
			buf = append(buf, c.Work...)
		}
		err := base.append(buf)
		for _, c := range group {
			c.Err = err
		}
	})
	var ratios, drained, ours []float64
	var commits float64
	for round := 0; b.Loop(); round++ {
		var all [][]*posthouse.Batch
		for i := range threads {
			all = append(all, steps(build, fmt.Sprintf("t%d-%d", round, i), each, size))
		}
		run := func(one func(context.Context, *posthouse.Batch) error) func() error {
			return func() error {
				var group sync.WaitGroup
				errs := make(chan error, threads)
				for _, batches := range all {
					group.Go(func() {
						for _, batch := range batches {
							if err := one(b.Context(), batch); err != nil {
								errs <- err
								return
							}
						}
					})
				}
				group.Wait()
				close(errs)
				return <-errs
			}
		}
		before := s.Commits()
		us := timed(b, run(s.Append))
		commits = float64(s.Commits() - before)
		rest := timed(b, func() error { s.WaitForDrains(); return nil })
		them := timed(b, run(func(ctx context.Context, batch *posthouse.Batch) error {
			return q.Do(ctx, make([]byte, batch.Entry.Size()))
		}))
		ratios, drained, ours = append(ratios, them/us), append(drained, them/(us+rest)), append(ours, us/(threads*each))
	}
	b.ReportMetric(median(ratios), "of-raw")
	b.ReportMetric(median(drained), "of-raw-drained")
	b.ReportMetric(1/median(ours), "steps/s")
	b.ReportMetric(threads*each/commits, "steps/commit")
}
