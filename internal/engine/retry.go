package engine

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/runs"
)

// A Retry says how often a node or a step that failed is tried again. The zero value
// means never. A failed attempt is on record before the wait for the next begins, with
// the time of that: a restart keeps the schedule. Attempts stay counted: once they are
// used up, each Resume makes one more. The first delay is 500 ms and the longest 128 s,
// unless the policy says otherwise; a negative delay is no delay, a negative MaxDelay
// no limit.
type Retry struct {
	posthouse.RetryPolicy                  // at most 100,000 attempts
	On                    func(error) bool // whether to try again; default: unless it was a panic, an ErrInvalid or a RemoteError
}

const maxAttempts = 100_000

// Validate returns what is wrong with r, "" for nothing.
func (r *Retry) Validate() (problem string) {
	switch {
	case r.MaxAttempts < 0 || r.MaxAttempts > maxAttempts:
		return "MaxAttempts must be 0 to 100,000"
	case r.Backoff > posthouse.Fixed:
		return "Backoff is unknown"
	case r.Factor < 0 || r.Factor > 0 && r.Factor < 1 || math.IsNaN(r.Factor) || math.IsInf(r.Factor, 0):
		return "Factor must be 1 or more"
	case !(r.Jitter >= 0 && r.Jitter <= 1):
		return "Jitter must be 0 to 1"
	}
	return ""
}

// Or returns r, or the default d for a policy or a condition that r lacks.
func (r Retry) Or(d Retry) Retry {
	if r.MaxAttempts == 0 {
		r.RetryPolicy = d.RetryPolicy
	}
	if r.On == nil {
		r.On = d.On
	}
	return r
}

// Retries returns how many attempts may follow the first.
func (r Retry) Retries() int { return max(0, r.MaxAttempts-1) }

// LimitOr returns a time limit, or where it is 0 the default d. A negative limit is 0: no
// limit.
func LimitOr(limit, d time.Duration) time.Duration { return max(0, cmp.Or(limit, d)) }

// Wait returns how long to wait before the n-th retry, from 1. draw is a
// random number in [0, 1).
func (r *Retry) Wait(n int, draw float64) time.Duration {
	w := backoff.Waits{
		First: cmp.Or(r.InitialDelay, 500*time.Millisecond), Most: cmp.Or(r.MaxDelay, 128*time.Second), Strategy: backoff.Strategy(r.Backoff), Factor: r.Factor, Jitter: r.Jitter,
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
	if _, over := errors.AsType[*overError](err); over {
		return false
	}
	if r.On != nil {
		return r.On(err)
	}
	_, panicked := errors.AsType[*PanicError](err)
	_, remote := errors.AsType[*runs.RemoteError](err) // on record: another attempt would find it again
	return !panicked && !remote && !errors.Is(err, posthouse.ErrInvalid)
}
