//go:build unix

package sqlitestore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/baseline"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func openBase(b testing.TB) *baseline.DB {
	b.Helper()
	db, err := baseline.Open(filepath.Join(b.TempDir(), "base.db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db
}

// BenchmarkAppend appends steps to one thread and reports the speed as a
// fraction of the yardstick's, in the median of interleaved rounds.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{200, 1024, 16 << 10} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			s, base := openStore(b), openBase(b)
			rnd, ids := rand.New(rand.NewPCG(1, 2)), idSource()
			const perRound = 200
			var ratios []float64
			var ours, theirs []float64
			var cpu []float64
			round := int64(0)
			for b.Loop() {
				round++
				bodies := make([][]byte, perRound)
				for i := range bodies {
					bodies[i] = words(rnd, size)
				}
				l := newLine(fmt.Sprintf("thread-%d", round), ids)
				batches := make([]*posthouse.Batch, perRound)
				for i := range batches {
					batches[i] = l.node(bodies[i])
				}
				var us, them cost
				run := []func(){
					func() {
						us = measure(func() {
							for _, batch := range batches {
								if err := s.Append(b.Context(), batch); err != nil {
									b.Fatal(err)
								}
							}
						})
					},
					func() {
						them = measure(func() {
							for i, body := range bodies {
								if err := base.Append(b.Context(), round, int64(i), body); err != nil {
									b.Fatal(err)
								}
							}
						})
					},
				}
				run[round%2]()
				run[1-round%2]()
				ours, theirs = append(ours, us.wall.Seconds()), append(theirs, them.wall.Seconds())
				ratios = append(ratios, them.wall.Seconds()/us.wall.Seconds())
				cpu = append(cpu, (us.cpu-them.cpu).Seconds()*1e6/perRound)
			}
			b.ReportMetric(median(cpu), "extra-cpu-us/step")
			b.ReportMetric(median(ratios), "x-baseline")
			b.ReportMetric(perRound/median(ours), "steps/s")
			b.ReportMetric(perRound/median(theirs), "baseline-steps/s")
		})
	}
}

// BenchmarkAppendMany appends 10 steps to each of 1,000 threads at once.
func BenchmarkAppendMany(b *testing.B) {
	const threads, steps = 1000, 10
	s, base := openStore(b), openBase(b)
	rnd, ids := rand.New(rand.NewPCG(1, 2)), idSource()
	body := words(rnd, 200)
	var ratios, cpu, cpus []float64
	round := int64(0)
	for b.Loop() {
		round++
		batches := make([][]*posthouse.Batch, threads)
		lines := make([]*line, threads)
		for range steps { // ids ascend in about the order of the appends
			for t := range batches {
				if lines[t] == nil {
					lines[t] = newLine(fmt.Sprintf("thread-%d-%d", round, t), ids)
				}
				batches[t] = append(batches[t], lines[t].node(body))
			}
		}
		ours := together(threads, func(t int) {
			for _, batch := range batches[t] {
				if err := s.Append(b.Context(), batch); err != nil {
					b.Error(err)
				}
			}
		})
		theirs := together(threads, func(t int) {
			for i := range steps {
				if err := base.Append(b.Context(), round*threads+int64(t), int64(i), body); err != nil {
					b.Error(err)
				}
			}
		})
		ratios = append(ratios, theirs.wall.Seconds()/ours.wall.Seconds())
		cpu = append(cpu, theirs.cpu.Seconds()/ours.cpu.Seconds())
		cpus = append(cpus, ours.cpu.Seconds()*1e6/(threads*steps))
	}
	b.ReportMetric(median(ratios), "x-baseline")
	b.ReportMetric(median(cpu), "x-baseline-cpu")
	b.ReportMetric(median(cpus), "cpu-us/step")
}

// A cost is what something took. CPU time is steadier than wall time on a
// machine that others use.
type cost struct{ wall, cpu time.Duration }

func measure(fn func()) cost {
	cpu := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	c, start := cpu(), time.Now()
	fn()
	return cost{time.Since(start), cpu() - c}
}

func together(n int, fn func(int)) cost {
	return measure(func() {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { fn(i) })
		}
		wg.Wait()
	})
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// BenchmarkListByIndexTerm lists, of 50,000 checkpoints in 1,000 threads, one run in
// an old thread, a label that every hundredth thread has, and the newest of a
// graph that all are of.
func BenchmarkListByIndexTerm(b *testing.B) {
	s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "posthouse.db"), &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	ids := idSource()
	lines := make([]*line, 1000)
	for range 50 {
		for i, l := range lines {
			if l == nil {
				l = newLine(fmt.Sprintf("thread-%d", i), ids)
				lines[i] = l
			}
			commit(b, s, l.marked(func(h *posthouse.Header) {
				h.Run = fmt.Sprintf("run-%d", i)
				if i%100 == 7 {
					h.Labels = map[string]string{"tenant": "acme"}
				}
			}))
		}
	}
	for name, q := range map[string]posthouse.Query{
		"run": {Run: "run-3"}, "label": {Label: "tenant", LabelValue: "acme"}, "label newest": {Label: "tenant", LabelValue: "acme", Limit: 20, Descending: true},
		"graph newest": {Graph: "bench", Limit: 20, Descending: true}, "nothing": {Run: "none"}, "status": {Status: posthouse.StatusDone},
	} {
		b.Run(name, func(b *testing.B) {
			found := 0
			for b.Loop() {
				found = 0
				for _, err := range s.List(b.Context(), q) {
					if err != nil {
						b.Fatal(err)
					}
					found++
				}
			}
			b.ReportMetric(float64(found), "found")
		})
	}
}
