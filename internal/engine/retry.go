package engine

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/backoff"
	"github.com/posthouse/posthouse/runs"
)

// A Backoff says how the delays between attempts grow.
type Backoff = posthouse.Backoff

// The backoffs, for the n-th retry from 1.
const (
	Exponential = posthouse.Exponential // Delay * Factor^(n-1)
	Linear      = posthouse.Linear      // Delay * n
	Fixed       = posthouse.Fixed       // Delay
)

// A Retry says how often a node or a step that failed is tried again. The zero value
// means never. A failed attempt is on record before the wait for the next begins, with
// the time of that: a restart neither forgets nor hastens it. Attempts stay counted:
// once they are used up, each Resume makes one more.
type Retry struct {
	Max      int              // attempts behind the first, at most 100,000; 0: the default's; -1: none
	Delay    time.Duration    // before the first retry; default 500 ms, negative: none
	Backoff  Backoff          // how it grows; default Exponential
	Factor   float64          // of Exponential; default 2
	MaxDelay time.Duration    // no delay is longer; default 128 s, negative: no limit
	Jitter   float64          // the share of each delay, 0 to 1, that is drawn at random and taken off
	On       func(error) bool // whether to try again; default: unless it was a panic, an ErrInvalid or a RemoteError
}

const maxRetry = 100_000

// Validate returns what is wrong with r, "" for nothing.
func (r *Retry) Validate() (problem string) {
	switch {
	case r.Max < -1 || r.Max > maxRetry:
		return "Max must be -1 to 100,000"
	case r.Backoff > Fixed:
		return "Backoff is unknown"
	case r.Factor < 0 || r.Factor > 0 && r.Factor < 1 || math.IsNaN(r.Factor) || math.IsInf(r.Factor, 0):
		return "Factor must be 1 or more"
	case !(r.Jitter >= 0 && r.Jitter <= 1):
		return "Jitter must be 0 to 1"
	}
	return ""
}

// Or returns r, or where it says nothing the default d.
func (r Retry) Or(d Retry) Retry {
	switch {
	case r.Max < 0:
		return Retry{}
	case r.Max == 0:
		return d
	}
	return r
}

// LimitOr returns a time limit, or where it is 0 the default d. A negative limit is 0: no
// limit.
func LimitOr(limit, d time.Duration) time.Duration { return max(0, cmp.Or(limit, d)) }

// Wait returns how long to wait before the n-th retry, from 1. draw is a
// random number in [0, 1).
func (r *Retry) Wait(n int, draw float64) time.Duration {
	w := backoff.Waits{
		First: cmp.Or(r.Delay, 500*time.Millisecond), Most: cmp.Or(r.MaxDelay, 128*time.Second), Strategy: r.Backoff, Factor: r.Factor, Jitter: r.Jitter,
	}
	if w.First < 0 {
		return 0
	}
	if w.Most < 0 {
		w.Most = math.MaxInt64
	}
	return w.Before(n, draw)
}

// Wants reports whether another attempt is to follow one that failed with err.
func (r *Retry) Wants(err error) bool {
	if r.On != nil {
		return r.On(err)
	}
	_, panicked := errors.AsType[*PanicError](err)
	_, remote := errors.AsType[*runs.RemoteError](err) // on record: another attempt would find it again
	return !panicked && !remote && !errors.Is(err, posthouse.ErrInvalid)
}
