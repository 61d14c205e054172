// Package backoff says how long to wait between attempts: of steps and nodes, which their own
// process tries again, of tasks, which other workers do, and of calls to servers.
package backoff

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"
)

// A Strategy says how waits grow: what the n-th, from 1, has in place of the first.
type Strategy uint8

// The strategies.
const (
	Exponential Strategy = iota // times a factor^(n-1)
	Linear                      // times n
	Fixed                       // the same
)

var names = [...]string{"exponential", "linear", "fixed"}

// String returns the name.
func (s Strategy) String() string {
	if int(s) < len(names) {
		return names[s]
	}
	return "strategy(" + strconv.Itoa(int(s)) + ")"
}

// MarshalText writes the name.
func (s Strategy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name; an empty one is Exponential.
func (s *Strategy) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Exponential
		return nil
	}
	for i, name := range names {
		if name == string(text) {
			*s = Strategy(i)
			return nil
		}
	}
	return fmt.Errorf("%.40q is no strategy: it is exponential, linear or fixed", text)
}

// Waits are those between attempts.
type Waits struct {
	First    time.Duration
	Most     time.Duration // no wait is longer
	Strategy Strategy
	Factor   float64 // of an exponential one; 0 is 2
	Jitter   float64 // the share of each wait, 0 to 1, that is drawn at random and taken off
}

// Before returns the n-th wait, from 1. draw is a random number in [0, 1).
func (w *Waits) Before(n int, draw float64) time.Duration {
	d := float64(w.First)
	switch w.Strategy {
	case Exponential:
		d *= math.Pow(cmp.Or(w.Factor, 2), float64(n-1))
	case Linear:
		d *= float64(n)
	}
	d = min(d, float64(w.Most))
	d -= d * w.Jitter * draw
	if d >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(d)
}
