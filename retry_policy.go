package posthouse

import (
	"time"

	"github.com/posthouse/posthouse/internal/base/backoff"
)

// A RetryPolicy says how often something is tried, and how long the waits between attempts are.
// Where a field is zero, whatever has the policy says what stands for it.
type RetryPolicy struct {
	MaxAttempts  int           `json:"attempts,omitempty"`   // the first one counts: 1 is no retry
	InitialDelay time.Duration `json:"backoff,omitempty"`    // before the second attempt
	MaxDelay     time.Duration `json:"maxBackoff,omitempty"` // before any attempt
	Backoff      Backoff       `json:"strategy,omitempty"`   // how the delay grows with each attempt
	Factor       float64       `json:"factor,omitempty"`     // of Exponential, at least 1; 0 is 2
	Jitter       float64       `json:"jitter,omitempty"`     // the share of each delay, 0 to 1, that is drawn at random and taken off
}

// A Backoff says how the waits between attempts grow. The n-th, from 1, is the first times
// Factor^(n-1) (Exponential), times n (Linear), or the same (Fixed).
type Backoff uint8

// The backoffs.
const (
	Exponential = Backoff(backoff.Exponential)
	Linear      = Backoff(backoff.Linear)
	Fixed       = Backoff(backoff.Fixed)
)

// String returns the name: exponential, linear or fixed.
func (b Backoff) String() string { return backoff.Strategy(b).String() }

// MarshalText writes the name.
func (b Backoff) MarshalText() ([]byte, error) { return backoff.Strategy(b).MarshalText() }

// UnmarshalText reads a name; an empty one is Exponential.
func (b *Backoff) UnmarshalText(text []byte) error { return (*backoff.Strategy)(b).UnmarshalText(text) }
