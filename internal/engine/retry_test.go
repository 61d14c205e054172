package engine_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/runs"
)

func TestRetryDelays(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name  string
		retry engine.Retry
		draw  float64
		want  []time.Duration // before each retry
	}{
		{"default", engine.Retry{}, 0, []time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 128 * s}},
		{"factor", engine.Retry{RetryPolicy: posthouse.RetryPolicy{InitialDelay: s, Factor: 3}}, 0, []time.Duration{s, 3 * s, 9 * s, 27 * s, 81 * s, 128 * s}},
		{"no growth", engine.Retry{RetryPolicy: posthouse.RetryPolicy{InitialDelay: s, Factor: 1}}, 0, []time.Duration{s, s, s}},
		{"linear", engine.Retry{RetryPolicy: posthouse.RetryPolicy{InitialDelay: 2 * s, Backoff: posthouse.Linear, MaxDelay: 7 * s}}, 0, []time.Duration{2 * s, 4 * s, 6 * s, 7 * s, 7 * s}},
		{"fixed", engine.Retry{RetryPolicy: posthouse.RetryPolicy{InitialDelay: 3 * s, Backoff: posthouse.Fixed}}, 0, []time.Duration{3 * s, 3 * s, 3 * s}},
		{"fixed, longer than the limit", engine.Retry{RetryPolicy: posthouse.RetryPolicy{InitialDelay: 200 * s, Backoff: posthouse.Fixed}}, 0, []time.Duration{128 * s}},
		{"none", engine.Retry{RetryPolicy: posthouse.RetryPolicy{InitialDelay: -1}}, 0, []time.Duration{0, 0}},
		{"jitter takes off", engine.Retry{RetryPolicy: posthouse.RetryPolicy{InitialDelay: 8 * s, Backoff: posthouse.Fixed, Jitter: 0.5}}, 0.5, []time.Duration{6 * s}},
		{"jitter takes off behind the limit", engine.Retry{RetryPolicy: posthouse.RetryPolicy{InitialDelay: 200 * s, Backoff: posthouse.Fixed, Jitter: 1}}, 0.25, []time.Duration{96 * s}},
	} {
		for i, want := range c.want {
			if have := c.retry.Wait(i+1, c.draw); have != want {
				t.Errorf("%s: %v before retry %d, want %v", c.name, have, i+1, want)
			}
		}
	}
	endless := engine.Retry{RetryPolicy: posthouse.RetryPolicy{MaxDelay: -1}}
	if d := endless.Wait(100_000, 0); d != math.MaxInt64 {
		t.Errorf("without a limit: %v", d)
	}
}

func TestRetryWants(t *testing.T) {
	r := engine.Retry{}
	for err, want := range map[error]bool{
		errors.New("boom"): true, fmt.Errorf("wrapped: %w", posthouse.ErrConflict): true,
		fmt.Errorf("wrapped: %w", posthouse.ErrInvalid): false, fmt.Errorf("wrapped: %w", &engine.PanicError{Value: 1}): false,
		fmt.Errorf("wrapped: %w", &runs.RemoteError{Task: "fetch"}): false,
	} {
		if r.Wants(err) != want {
			t.Errorf("%v: !want %v", err, !want)
		}
		all := engine.Retry{On: func(e error) bool { return e == err }}
		if !all.Wants(err) || all.Wants(errors.New("other")) {
			t.Errorf("%v: On was not asked", err)
		}
	}
}
