package chaos

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/worker"
)

// calmAtOnce is how many runs are compared in one go.
const calmAtOnce = 200

// calmTraces runs threads in this process, over a store in memory, where nothing happens to
// them, and returns what they leave on record.
func calmTraces(ctx context.Context, threads []string) (_ map[string]trace, err error) {
	l, err := ledger.Open(memstore.New(), &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	app, err := open(l, nil, false)
	if err != nil {
		return nil, err
	}
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{app}})
	if err != nil {
		return nil, err
	}
	d, err := dispatch.New(l, nil)
	if err != nil {
		return nil, err
	}
	w, err := worker.New(d, &worker.Options{Name: "calm", Concurrency: 8})
	if err != nil {
		return nil, err
	}
	worker.Handle(w, taskName, func(t worker.Task, j job) (uint64, error) { return j.execute(t.Context(), nil) })
	worker.Handle(w, payTask, func(t worker.Task, p payment) (uint64, error) { return p.execute(t.Context(), nil) })

	within, end := context.WithTimeout(ctx, patience)
	ended := make(chan error)
	all := []func(context.Context) error{r.Run, d.Run, w.Run}
	for _, run := range all {
		go func() { ended <- run(within) }()
	}
	err = runAll(within, l, app, threads)
	end()
	for range all {
		err = errors.Join(err, <-ended)
	}
	if err != nil {
		return nil, err
	}
	traces := map[string]trace{}
	for _, thread := range threads {
		traces[thread], err = traceOf(ctx, l, thread)
		if err != nil {
			return nil, err
		}
	}
	return traces, nil
}

// runAll begins threads and waits until they are done.
func runAll(ctx context.Context, l *ledger.Ledger, app *flow.App[job, uint64], threads []string) error {
	events := l.Watch(ctx, ledger.WatchQuery{}) // from the first
	for _, thread := range threads {
		if _, err := app.Run(ctx, thread, job{Thread: thread}, flow.RunOptions{Run: thread}); err != nil {
			return err
		}
	}
	left := len(threads)
	for e, err := range events {
		if err != nil {
			return err
		}
		if e.Gate != nil && e.Gate.AsksPeople() {
			d, err := decide(e.Gate, false)
			if err == nil {
				_, err = l.Decide(ctx, e.Gate.ID, d)
			}
			if err != nil {
				return err
			}
		}
		if e.Checkpoint != nil && e.Checkpoint.Status == posthouse.StatusDone {
			left--
		}
		if left == 0 {
			return nil
		}
	}
	return context.DeadlineExceeded // the watch has ended with ctx
}
