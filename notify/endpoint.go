package notify

import (
	"cmp"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
)

// An Endpoint is somebody who is told, and of what.
type Endpoint struct {
	Name    string // 1 to 64 letters, digits, dots, dashes and underscores; its place in the log is kept under it
	Channel Channel

	Events      []Type // empty: all
	Rule        Rule
	OmitContent bool // send names, ids and times only: no text, payload, label, reason or value

	// DecideFor gives the receiver the right to decide in a person's name, without a login: each
	// question that the person may decide comes with an [Approval]. Records then name the endpoint. "":
	// the receiver has no right, and its links need a login.
	DecideFor string

	// Timeout bounds one attempt; default 10 s.
	Timeout time.Duration

	// Retry says how long the pauses between attempts are, and after how many a message is given up.
	// Default: 80 attempts, with pauses from 5 s on that double up to an hour, less a fifth at
	// random. That takes about three days.
	Retry posthouse.RetryPolicy
}

// Bounds on endpoints.
const (
	maxEndpoints = 64
	maxAttempts  = 10_000
	maxDelay     = 24 * time.Hour
)

var endpointName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Validate checks an endpoint. [posthouse.ErrInvalid] names what is at fault.
func (e *Endpoint) Validate() error {
	switch {
	case !endpointName.MatchString(e.Name):
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "name", Message: "is " + quote(e.Name),
			Hint: "a name is 1 to 64 letters, digits, dots, dashes and underscores",
		}
	case e.Channel == nil:
		return posthouse.Invalid("Channel", "is required")
	case e.Timeout < 0 || e.Timeout > 10*time.Minute:
		return posthouse.Invalid("timeout", "is not between 0 and 10m")
	case e.Retry.MaxAttempts < 0 || e.Retry.MaxAttempts > maxAttempts:
		return posthouse.Invalid("retry.attempts", "is not between 0 and %d", maxAttempts)
	case e.Retry.InitialDelay < 0 || e.Retry.MaxDelay < 0 || e.Retry.MaxDelay > maxDelay:
		return posthouse.Invalid("retry", "has a delay that is not between 0 and %s", maxDelay)
	case e.Retry.Factor != 0 && !(e.Retry.Factor >= 1 && e.Retry.Factor <= 1000):
		return posthouse.Invalid("retry.factor", "is not between 1 and 1000")
	case !(e.Retry.Jitter >= 0 && e.Retry.Jitter <= 1):
		return posthouse.Invalid("retry.jitter", "is not between 0 and 1")
	}
	if e.DecideFor != "" {
		if err := posthouse.ValidateName("decideFor", e.DecideFor); err != nil {
			return err
		}
		if _, ok := e.Channel.(Keyed); !ok {
			return posthouse.Invalid("decideFor", "needs a channel with a secret of its own, as a webhook has")
		}
	}
	for _, t := range e.Events {
		if isType(t) {
			continue
		}
		names := make([]string, 0, len(Types()))
		for _, known := range Types() {
			names = append(names, string(known))
		}
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "events", Message: "has " + quote(string(t)) + ", which is no type of event",
			Hint: "there is " + strings.Join(names, ", "),
		}
	}
	return e.Rule.Validate()
}

func quote(s string) string { return `"` + clip(s, 80) + `"` }

func (e *Endpoint) timeout() time.Duration { return cmp.Or(e.Timeout, 10*time.Second) }

func (e *Endpoint) attempts() int { return cmp.Or(e.Retry.MaxAttempts, 80) }

// pause returns how long to wait after a number of failed attempts.
func (e *Endpoint) pause(failed int, f *Failure) time.Duration {
	w := backoff.Waits{
		First: cmp.Or(e.Retry.InitialDelay, 5*time.Second), Most: cmp.Or(e.Retry.MaxDelay, time.Hour),
		Strategy: backoff.Strategy(e.Retry.Backoff), Factor: e.Retry.Factor, Jitter: cmp.Or(e.Retry.Jitter, 0.2),
	}
	w.Most = max(w.Most, w.First)
	d := w.Before(failed, rand.Float64())
	if f.After > 0 {
		d = max(d, min(f.After, maxDelay))
	}
	return min(d, math.MaxInt64/2)
}
