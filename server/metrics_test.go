package server

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/census"
	"github.com/posthouse/posthouse/server/metrics"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestMetrics asks for metrics after some work, as a scraper that calls the server by its address.
func TestMetrics(t *testing.T) {
	counts := metrics.New()
	h := open(t, func(o *Options) {
		o.Metrics = counts
		l, err := ledger.Open(o.Ledger.Store(), &ledger.Options{Validate: gate.Validator(), Appended: counts.Appended})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		o.Ledger = l
		for i := range 150 {
			d := &ledger.Draft{
				Thread: fmt.Sprint("t", i), Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusWaiting, Graph: fmt.Sprint("program ", i)},
				Gates: []posthouse.Gate{{Name: fmt.Sprintf("q\"\\%d", i)}},
				Steps: []posthouse.Step{{Task: "1/n", Name: "s", Effect: posthouse.EffectExternal, Value: posthouse.Value{Codec: "raw"}}},
			}
			if i < 2 {
				d.Gates[0].Name = "refund?"
			}
			if _, err := l.Commit(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
	})
	h.get("/api/gates").want(http.StatusOK)
	h.get("/made/up/path")
	a := h.send(ask{method: "GET", path: "/metrics", host: "10.1.2.3:8095", as: tokens.Viewer}).want(http.StatusOK)
	if media := a.header.Get("Content-Type"); media != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("the media type is %q", media)
	}
	text := string(a.body)
	for _, line := range []string{
		`posthouse_gates_open{question="refund?"} 2`, `posthouse_gates_open{question="other"} 49`, `posthouse_threads{status="waiting"} 150`,
		`posthouse_gates_opened_total{question="q\"\\7"} 1`, `posthouse_runs_started_total{program="program 3"} 1`, `posthouse_runs_started_total{program="other"} 50`,
		`posthouse_steps_total{effect="external"} 150`, `posthouse_store_append_seconds_count 150`, `posthouse_effects_unknown_total 0`,
		`posthouse_http_requests_total{route="/api/gates",method="GET",status="2xx"} 1`, `posthouse_http_requests_total{route="other",method="other",status="4xx"} 1`,
		`posthouse_leases_held 0`, `posthouse_leases_taken_over_total 0`, `posthouse_leases_lost_total 0`, `posthouse_streams 0`, `posthouse_workers 0`, `posthouse_census_success 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if strings.Contains(text, "made/up") || t.Failed() {
		t.Errorf("the metrics are\n%s", text)
	}
	h.send(ask{method: "GET", path: "/metrics", as: "-"}).refused(problem.CodeUnauthenticated)
	h.send(ask{method: "GET", path: "/metrics", as: tokens.Worker}).refused(posthouse.CodeForbidden)
}

// A stuck store lists no thread until it is let go.
type stuck struct {
	posthouse.Store
	lists atomic.Int32
	open  chan struct{}
}

func (s *stuck) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		s.lists.Add(1)
		select {
		case <-s.open:
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		for t, err := range s.Store.Threads(ctx, q) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// TestSlowStoreHangsNoScrape: a reader waits for a count for a second, one count runs at a time,
// and what was found stays until the next has more.
func TestSlowStoreHangsNoScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuck{Store: memstore.New(), open: make(chan struct{})}
		l, err := ledger.Open(store.Store, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Commit(t.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Status: posthouse.StatusFailed}}); err != nil {
			t.Fatal(err)
		}
		close(store.open)
		slow, err := ledger.Open(store, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := census.New(slow, time.Now, func() (context.Context, func(), error) { return t.Context(), func() {}, nil })
		found, err := c.Get(t.Context())
		if err != nil || found.Threads[posthouse.StatusFailed] != 1 {
			t.Fatalf("the first count: %+v, %v", found, err)
		}
		store.open = make(chan struct{})
		lists := store.lists.Load()
		<-time.After(20 * time.Second)
		for range 5 {
			begun := time.Now()
			again, err := c.Get(t.Context())
			if took := time.Since(begun); took > time.Second || again != found || err != nil {
				t.Errorf("while the store is stuck: %v, %+v, %v", took, again, err)
			}
		}
		if n := store.lists.Load() - lists; n != 1 {
			t.Errorf("the stuck store was asked %d times", n)
		}
		<-time.After(2 * time.Minute)
		if again, err := c.Get(t.Context()); again != found || err == nil {
			t.Errorf("after a count that was given up: %+v, %v", again, err)
		}
		close(store.open)
	})
}
