package trip_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// TestClaimEntersFewFunctions bounds what one claim of an open task enters at its engine.
func TestClaimEntersFewFunctions(t *testing.T) { enters(t, 33, 14, claim, "dispatch") }

// claim has an engine find a task, and claims it if it is told to.
func claim(t *testing.T, call bool) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := ledger.Open(memstore.New(), nil)
	check(err)
	app, err := flow.New("fetch", func(ctx context.Context, url string) (string, error) {
		return step.Remote[string](ctx, "get", "fetch", url)
	}).Open(l, nil)
	check(err)
	_, err = app.Run(t.Context(), "t", "http://x")
	check(err)
	d, err := dispatch.New(l, nil)
	check(err)
	s, err := d.Connect(t.Context(), task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"fetch"}, Concurrency: 1})
	check(err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	synctest.Wait() // it has found the task
	cancel()
	check(<-ended)
	if call {
		c, err := d.Claim(t.Context(), s.ID)
		check(err)
		if c == nil {
			t.Fatal("Claim gave no task")
		}
	}
	check(l.Close())
}
