package notify

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/base/prom"
)

// counts are what Prometheus is told of deliveries.
type counts struct {
	attempts *prom.Counts
	given    *prom.Counts
	took     prom.Histogram

	mu    sync.Mutex
	shown map[string]gauges // of the endpoints that this process has
}

type gauges struct {
	pending int
	oldest  time.Time // when the oldest of them was tried first; zero: no message waits
	stopped bool
}

func newCounts() *counts {
	return &counts{attempts: prom.NewCounts("endpoint", "outcome"), given: prom.NewCounts("endpoint"), shown: map[string]gauges{}}
}

func (c *counts) attempt(endpoint string, took time.Duration, err error) {
	outcome := "delivered"
	if err != nil {
		outcome = "failed"
	}
	c.attempts.Add(1, endpoint, outcome)
	c.took.Observe(took)
}

func (c *counts) givenUp(endpoint string) { c.given.Add(1, endpoint) }

func (c *counts) show(endpoint string, s *state) {
	g := gauges{pending: len(s.Pending), oldest: s.oldest(), stopped: !s.Gone.IsZero()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown[endpoint] = g
}

func (c *counts) hide(endpoint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.shown, endpoint)
}

// text returns all in the text format of Prometheus.
func (c *counts) text(now time.Time) []byte {
	t := new(prom.Text)
	c.attempts.Write(t, "posthouse_notify_attempts_total", prom.Counter, "Attempts to deliver a message, by endpoint and outcome: delivered or failed.")
	c.given.Write(t, "posthouse_notify_given_up_total", prom.Counter, "Messages that were given up after all their attempts, by endpoint.")
	c.took.Write(t.Family("posthouse_notify_attempt_seconds", prom.Histograms, "How long attempts to deliver took."))
	c.mu.Lock()
	shown := maps.Clone(c.shown)
	c.mu.Unlock()
	names := slices.Sorted(maps.Keys(shown))
	pending := t.Family("posthouse_notify_pending", prom.Gauge, "Messages that wait for another attempt, of the endpoints that this process has.")
	for _, name := range names {
		pending.Sample(float64(shown[name].pending), "endpoint", name)
	}
	oldest := t.Family("posthouse_notify_oldest_seconds", prom.Gauge, "How long ago the oldest of them was tried first.")
	for _, name := range names {
		age := 0.0
		if at := shown[name].oldest; !at.IsZero() {
			age = now.Sub(at).Seconds()
		}
		oldest.Sample(age, "endpoint", name)
	}
	stopped := t.Family("posthouse_notify_stopped", prom.Gauge, "Whether the receiver of an endpoint wants no more messages.")
	for _, name := range names {
		v := 0.0
		if shown[name].stopped {
			v = 1
		}
		stopped.Sample(v, "endpoint", name)
	}
	return t.Bytes()
}
