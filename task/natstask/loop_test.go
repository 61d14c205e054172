package natstask_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task/natstask"
	"github.com/posthouse/posthouse/worker"
)

// TestAgentLoopOnACluster counts to three by what it keeps, an iteration each, over three
// servers; before each of them another server is lost and comes back. Each iteration is
// executed once.
func TestAgentLoopOnACluster(t *testing.T) {
	c := startCluster(t, "one", 3)
	c.routed()
	e := startEngineWith(t, memstore.New(), c.connect(0), &ledger.Options{LeaseTTL: 30 * time.Second})
	far, err := natstask.NewEngine(c.connect(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(far, &worker.Options{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var executed []string
	worker.Handle(w, "double", func(t worker.Task, in int) (int, error) {
		n, _, err := worker.Load[int](t)
		if err != nil {
			return 0, err
		}
		mu.Lock()
		executed = append(executed, fmt.Sprintf("%d:%d:%s", t.Iteration(), n, t.Continued()))
		mu.Unlock()
		c.stop(t.Iteration())
		c.start(t.Iteration())
		if n++; n == 3 {
			return in + n, nil
		}
		if err := worker.Save(t, n); err != nil {
			return 0, err
		}
		return 0, t.Continue(n)
	})
	run(t, w.Run)
	if _, err := e.app.Run(t.Context(), "t", 40); err != nil {
		t.Fatal(err)
	}
	e.done(t, "t")
	res, err := e.app.Result(t.Context(), "t")
	if err != nil || res.Output != 43 {
		t.Errorf("result %+v, error %v", res, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := fmt.Sprint(executed); got != "[0:0: 1:1:1 2:2:2]" {
		t.Errorf("executed %s", got)
	}
}
