package prom

import (
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

// bounds are the upper ends of a Histogram's buckets: from what a commit in memory takes to what
// a server that is away takes.
var bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// A Histogram says how long things took. The zero value is empty.
type Histogram struct {
	buckets [len(bounds) + 1]atomic.Uint64
	sum     atomic.Int64 // nanoseconds
}

// Observe counts one more.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.buckets[i].Add(1)
	h.sum.Add(int64(d))
}

// Write writes the histogram into a family of the kind [Histograms], in seconds. Labels are names
// and values in turns.
func (h *Histogram) Write(f Family, labels ...string) {
	total := uint64(0)
	for i := range h.buckets {
		total += h.buckets[i].Load()
		end := math.Inf(1)
		if i < len(bounds) {
			end = bounds[i].Seconds()
		}
		f.write("_bucket", float64(total), append(labels[:len(labels):len(labels)], "le", seconds(end)))
	}
	f.write("_sum", time.Duration(h.sum.Load()).Seconds(), labels)
	f.write("_count", float64(total), labels)
}

func seconds(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
