package graph

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Backoff says how the delays between attempts grow.
type Backoff uint8

// The backoffs, for the n-th retry from 1.
const (
	Exponential Backoff = iota // Delay * Factor^(n-1)
	Linear                     // Delay * n
	Fixed                      // Delay
)

// A Retry says how often a node that failed is tried again. The zero value
// means never. A failed attempt and when the next is due are on record before
// the wait for it begins: a restart neither forgets nor hastens it.
type Retry struct {
	Max      int              // attempts behind the first; at most 100,000
	Delay    time.Duration    // before the first retry; default 500 ms, negative: none
	Backoff  Backoff          // how it grows; default Exponential
	Factor   float64          // of Exponential; default 2
	MaxDelay time.Duration    // no delay is longer; default 128 s, negative: no limit
	Jitter   float64          // the share of each delay, 0 to 1, that is drawn at random and taken off
	On       func(error) bool // whether to try again; default: unless it was a panic or an ErrInvalid
}

const maxRetry = 100_000

func (r *Retry) validate() (problem string) {
	switch {
	case r.Max < 0 || r.Max > maxRetry:
		return "Max must be 0 to 100,000"
	case r.Backoff > Fixed:
		return "Backoff is unknown"
	case r.Factor < 0 || r.Factor > 0 && r.Factor < 1 || math.IsNaN(r.Factor) || math.IsInf(r.Factor, 0):
		return "Factor must be 1 or more"
	case !(r.Jitter >= 0 && r.Jitter <= 1):
		return "Jitter must be 0 to 1"
	}
	return ""
}

// delay returns how long to wait before the n-th retry, from 1. draw is a
// random number in [0, 1).
func (r *Retry) delay(n int, draw float64) time.Duration {
	base, factor, limit := r.Delay, r.Factor, r.MaxDelay
	switch {
	case base < 0:
		return 0
	case base == 0:
		base = 500 * time.Millisecond
	}
	if factor == 0 {
		factor = 2
	}
	switch {
	case limit == 0:
		limit = 128 * time.Second
	case limit < 0:
		limit = math.MaxInt64
	}
	d := float64(base)
	switch r.Backoff {
	case Exponential:
		d *= math.Pow(factor, float64(n-1))
	case Linear:
		d *= float64(n)
	}
	if d >= float64(limit) {
		d = float64(limit)
	}
	d -= d * r.Jitter * draw
	if d >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(d)
}

func (r *Retry) retries(err error) bool {
	if r.On != nil {
		return r.On(err)
	}
	var p *engine.PanicError
	return !errors.As(err, &p) && !errors.Is(err, posthouse.ErrInvalid)
}

// again decides what follows a failed attempt, and puts it on record: another
// attempt, or the node's handler.
func (r *run[S]) again(ctx context.Context, t *task[S], exec *engine.Task, past past, cause error) (bool, error) {
	if past.failed != nil {
		return false, nil // the handler failed
	}
	name, a := recordAttempt, attemptJSON{Error: clean(cause.Error())}
	retry, wanted := &t.node.opt.Retry, false
	if past.attempts < retry.Max {
		if err := engine.Guard(func() error { wanted = retry.retries(cause); return nil }); err != nil {
			return false, err
		}
	}
	switch {
	case wanted:
		if d := retry.delay(past.attempts+1, rand.Float64()); d > 0 {
			a.Due = posthouse.Millis(r.app.ledger.Now().Add(d).UnixMilli())
		}
	case t.node.onError != nil:
		name = recordFailed
	default:
		return false, nil
	}
	v, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	step := posthouse.Step{Task: t.key, Name: name, Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: v}}
	if wanted {
		step.Occurrence = uint32(past.attempts)
	}
	_, err = r.sess.Commit(ctx, &posthouse.Draft{Steps: append(exec.Held(), step)})
	return err == nil, err
}

// await waits until the next attempt is due: itself if that is soon, and
// otherwise by a timer gate. It returns taskDone when it is due.
func (r *run[S]) await(ctx context.Context, t *task[S], exec *engine.Task, past past) (outcomeKind, error) {
	d := past.due.Sub(r.app.ledger.Now())
	switch {
	case d <= 0:
		return taskDone, nil
	case d <= r.app.hold:
		if err := waitUntil(ctx, r.app.ledger, past.due); err != nil {
			return taskStopped, err
		}
		return taskDone, nil
	}
	_, err := exec.Ask(ctx, posthouse.Gate{
		Name: "$retry-" + strconv.Itoa(past.attempts), Kind: gateTimer, ExpiresAt: past.due,
		Text: "the next attempt of node " + t.node.name,
	})
	if err == nil {
		return taskDone, nil
	}
	if errors.Is(err, posthouse.ErrWaiting) {
		return taskWaits, nil
	}
	return taskStopped, err
}

const gateTimer = "timer"

// waitUntil waits by the Ledger's clock.
func waitUntil(ctx context.Context, l *posthouse.Ledger, at time.Time) error {
	for {
		d := at.Sub(l.Now())
		if d <= 0 {
			return nil
		}
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
}
