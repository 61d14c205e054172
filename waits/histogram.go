package waits

import (
	"maps"
	"math"
	"slices"
	"time"
)

// steps is how many buckets there are for a factor of two: each is 9 % wide, so its middle is at most
// 5 % away from what is in it.
const steps = 8

// A histogram counts waits by their length, in at most about 350 buckets.
type histogram struct {
	counts  map[int]int
	total   int
	longest time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0) // clocks of several hosts differ
	if h.counts == nil {
		h.counts = map[int]int{}
	}
	h.counts[bucket(d)]++
	h.total++
	h.longest = max(h.longest, d)
}

func bucket(d time.Duration) int {
	if d < time.Millisecond {
		return -1
	}
	return int(math.Log2(float64(d)/float64(time.Millisecond)) * steps)
}

// at returns the wait that a share of all are not longer than.
func (h *histogram) at(share float64) time.Duration {
	left := int(math.Ceil(share * float64(h.total)))
	for _, b := range slices.Sorted(maps.Keys(h.counts)) {
		if left -= h.counts[b]; left > 0 {
			continue
		}
		if b < 0 {
			return 0
		}
		middle := time.Duration(math.Exp2((float64(b)+0.5)/steps) * float64(time.Millisecond))
		return min(middle, h.longest).Round(time.Millisecond)
	}
	return 0
}

// A Length is a duration that is written as text, as in 1h30m0s.
type Length time.Duration

// MarshalText writes it as [time.Duration.String] does.
func (l Length) MarshalText() ([]byte, error) { return []byte(time.Duration(l).String()), nil }

// UnmarshalText reads what [time.ParseDuration] takes.
func (l *Length) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*l = Length(d)
	return err
}

// String returns the text.
func (l Length) String() string { return time.Duration(l).String() }

// A Spread says how long a number of waits were.
type Spread struct {
	Median  Length `json:"median" doc:"half of them were not longer; exact to 5 %, as the other shares"`
	P90     Length `json:"p90" doc:"nine of ten were not longer"`
	P99     Length `json:"p99" doc:"99 of 100 were not longer"`
	Longest Length `json:"longest" doc:"exact"`
}

func (h *histogram) spread() *Spread {
	if h.total == 0 {
		return nil
	}
	return &Spread{Length(h.at(0.5)), Length(h.at(0.9)), Length(h.at(0.99)), Length(h.longest)}
}
