package backoff_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/base/backoff"
)

func TestWaits(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		waits backoff.Waits
		draw  float64
		want  []time.Duration
	}{
		"exponential": {backoff.Waits{First: s, Most: 10 * s}, 0, []time.Duration{s, 2 * s, 4 * s, 8 * s, 10 * s, 10 * s}},
		"a factor":    {backoff.Waits{First: s, Most: 10 * s, Factor: 3}, 0, []time.Duration{s, 3 * s, 9 * s, 10 * s}},
		"linear":      {backoff.Waits{First: 2 * s, Most: 7 * s, Strategy: backoff.Linear}, 0, []time.Duration{2 * s, 4 * s, 6 * s, 7 * s, 7 * s}},
		"fixed":       {backoff.Waits{First: 3 * s, Most: 7 * s, Strategy: backoff.Fixed}, 0, []time.Duration{3 * s, 3 * s, 3 * s}},
		"jitter":      {backoff.Waits{First: 8 * s, Most: 10 * s, Jitter: 0.5}, 0.5, []time.Duration{6 * s, 7500 * time.Millisecond}},
		"no limit":    {backoff.Waits{First: s, Most: math.MaxInt64, Factor: 1e300}, 0, []time.Duration{s, math.MaxInt64, math.MaxInt64}},
	} {
		var have []time.Duration
		for n := range c.want {
			have = append(have, c.waits.Before(n+1, c.draw))
		}
		if !slices.Equal(have, c.want) {
			t.Errorf("%s: %v, want %v", name, have, c.want)
		}
	}
}

func TestStrategiesAsText(t *testing.T) {
	for text, want := range map[string]backoff.Strategy{`""`: backoff.Exponential, `"exponential"`: backoff.Exponential, `"linear"`: backoff.Linear, `"fixed"`: backoff.Fixed} {
		s := backoff.Fixed
		if err := json.Unmarshal([]byte(text), &s); err != nil || s != want {
			t.Errorf("%s: %s, %v", text, s, err)
		}
		if b, err := json.Marshal(s); err != nil || text != `""` && string(b) != text {
			t.Errorf("%s is written as %s, %v", text, b, err)
		}
	}
	var s backoff.Strategy
	if err := json.Unmarshal([]byte(`"sometimes"`), &s); err == nil {
		t.Errorf("an unknown strategy is read as %s", s)
	}
	if name := backoff.Strategy(7).String(); name != "strategy(7)" {
		t.Error(name)
	}
}
