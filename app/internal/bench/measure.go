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
	commits uint64        // transactions, one sync each
	bytes   int64         // of the database once it is closed
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
	runtime.GC()
	cpu, at := cpuTime(), s.opt.Now()
	err := work()
	return measure{steps: steps, wall: s.opt.Now().Sub(at), cpu: cpuTime() - cpu}, err
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
