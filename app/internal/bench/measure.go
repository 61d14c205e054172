package bench

import (
	"os"
	"runtime"
	"slices"
	"time"
)

// A measure is what one round took.
type measure struct {
	steps   int
	wall    time.Duration
	cpu     time.Duration // of the process, system included; 0 where the system does not tell
	allocs  uint64        // pieces of memory, and heap are their bytes; of the process
	heap    uint64
	commits uint64 // transactions, one sync each
	bytes   int64  // of the database once it is closed
	times   []time.Duration
}

func (m *measure) rate() float64 { return float64(m.steps) / m.wall.Seconds() }

// cpuRate is steps per second of CPU.
func (m *measure) cpuRate() float64 {
	if m.cpu <= 0 {
		return 0
	}
	return float64(m.steps) / m.cpu.Seconds()
}

// clock measures work, after a garbage collection.
func (s *session) clock(steps int, work func() error) (measure, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, at := cpuTime(), s.opt.Now()
	err := work()
	m := measure{steps: steps, wall: s.opt.Now().Sub(at), cpu: cpuTime() - cpu}
	runtime.ReadMemStats(&after)
	m.allocs, m.heap = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	return m, err
}

func cpuMicros(m *measure) float64 { return float64(m.cpu.Microseconds()) / float64(m.steps) }

func allocsPerStep(m *measure) float64 { return float64(m.allocs) / float64(m.steps) }

func heapPerStep(m *measure) float64 { return float64(m.heap) / float64(m.steps) }

// cost notes what a step costs this process, beside the baseline's row. Memory is counted, so
// it is the same on a busy machine.
func (s *session) cost(ours, base []measure) {
	name := "CPU"
	if s.opt.Server != nil {
		name = "CPU of this process" // the server has its own
	}
	s.note(name, "µs/step", median(ours, cpuMicros), median(base, cpuMicros))
	s.count("allocations", "a step", median(ours, allocsPerStep), median(base, allocsPerStep))
	s.count("memory allocated", "bytes/step", median(ours, heapPerStep), median(base, heapPerStep))
}

func median[T any](all []T, of func(*T) float64) float64 {
	vs := make([]float64, len(all))
	for i := range all {
		vs[i] = of(&all[i])
	}
	slices.Sort(vs)
	if n := len(vs); n > 0 {
		return (vs[(n-1)/2] + vs[n/2]) / 2
	}
	return 0
}

// ratio is the median, over the rounds, of one measure over the other. A load on the
// machine slows both.
func ratio(ours, base []measure, of func(*measure) float64) float64 {
	pairs := make([]float64, min(len(ours), len(base)))
	for i := range pairs {
		if b := of(&base[i]); b > 0 {
			pairs[i] = of(&ours[i]) / b
		}
	}
	return median(pairs, func(f *float64) float64 { return *f })
}

// fileSize returns the bytes of the database of a closed store, with its
// write-ahead log if that is left.
func fileSize(path string) (n int64, err error) {
	for _, p := range []string{path, path + "-wal"} {
		st, err := os.Stat(p)
		switch {
		case err == nil:
			n += st.Size()
		case !os.IsNotExist(err) || p == path:
			return 0, err
		}
	}
	return n, nil
}
