package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// A Retries counts the attempts of one call, and waits between them. Its zero value with
// Waits is one before the first attempt.
type Retries struct {
	Waits
	Tries int // waits that were begun
}

// NewRetries returns waits that double from first to most. Each is at least half of that,
// drawn at random, so that callers that failed together do not come back together.
func NewRetries(first, most time.Duration) Retries {
	return Retries{Waits: Waits{First: first, Most: most, Jitter: 0.5}}
}

// Wait returns how long to wait before the next attempt, and counts it.
func (r *Retries) Wait() time.Duration {
	r.Tries++
	return r.Before(r.Tries, rand.Float64())
}

// Next waits before the next attempt. It reports false if ctx ends first.
func (r *Retries) Next(ctx context.Context) bool { return Sleep(ctx, r.Wait()) }

// Reset makes the next wait the first again, after an attempt that succeeded.
func (r *Retries) Reset() { r.Tries = 0 }

// Sleep waits for d. It reports false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
