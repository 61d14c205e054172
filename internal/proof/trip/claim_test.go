package trip_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/trip"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
)

// TestClaimEntersFewFunctions bounds what one claim of an open task enters at its engine.
func TestClaimEntersFewFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a binary with counters")
	}
	files := trip.Of(t, func(call bool) { synctest.Test(t, func(t *testing.T) { claim(t, call) }) }, "dispatch/...")
	if files == nil {
		return // this is what is counted
	}
	n := 0
	for _, file := range slices.Sorted(maps.Keys(files)) {
		n += len(files[file])
		t.Logf("%-40s %v", file, files[file])
	}
	t.Logf("%d functions in %d files", n, len(files))
	if n > 33 || len(files) > 14 {
		t.Errorf("a claim enters %d functions in %d files of dispatch; it may enter 33 in 14", n, len(files))
	}
}

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
