package worker_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"

	"github.com/posthouse/posthouse"
)

// A program hands a step out, and a worker handles it. Here both are in one process; the
// worker needs nothing of the engine but its [task.Engine].
func Example() {
	led, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer led.Close()
	resize := flow.New("thumbnail", func(ctx context.Context, url string) (string, error) {
		return step.Remote[string](ctx, "resize", "resize", url)
	})
	app, err := resize.Open(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	// The engine: it keeps programs moving, and gives tasks to workers.
	r, err := runner.New(led, &runner.Options{Programs: []posthouse.Program{app}})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := dispatch.New(led, nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	// A worker: its first attempt dies, the second goes on with what was kept.
	w, err := worker.New(d, &worker.Options{Name: "gpu-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	worker.Handle(w, "resize", func(t worker.Task, url string) (string, error) {
		rows, _, err := worker.Load[int](t)
		if err != nil {
			return "", err
		}
		if rows == 0 {
			if err := worker.Save(t, 73); err != nil {
				return "", err
			}
			panic("out of memory")
		}
		return fmt.Sprintf("%s, from row %d on in attempt %d", url, rows, t.Attempt()), nil
	})

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	for _, run := range []func(context.Context) error{r.Run, d.Run, w.Run} {
		go func() { ended <- run(ctx) }()
	}
	out, err := app.Run(ctx, "photo-1", "cat.png")
	fmt.Println(out.Status, err)
	for event, err := range led.Watch(ctx, ledger.WatchQuery{Thread: "photo-1"}) {
		if err != nil || event.Checkpoint != nil && event.Checkpoint.Status == posthouse.StatusDone {
			break
		}
	}
	stop()
	for range 3 {
		if err := <-ended; err != nil {
			fmt.Println(err)
		}
	}
	out, err = app.Resume(context.Background(), "photo-1")
	fmt.Println(out.Status, out.Output, err)
	// Output:
	// waiting <nil>
	// done cat.png, from row 73 on in attempt 2 <nil>
}
