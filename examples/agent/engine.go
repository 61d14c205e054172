package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/natslink"
	"github.com/posthouse/posthouse/worker"
)

const thread = "trip-1"

// trip is the program: one step, which a worker handles.
func trip(ctx context.Context, question string) (string, error) {
	return step.RemoteWith[string](ctx, "plan", "llm-agent", question, runs.RemoteOptions{
		Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 3}, Iterations: 20}, // attempts are of each iteration
	})
}

// runEngine is the process with the store. It prints where workers reach it, begins the trip if
// that has not begun, and prints the answer.
func runEngine(ctx context.Context, dir string) (err error) {
	store, err := sqlitestore.Open(ctx, filepath.Join(dir, "agent.db"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	led, err := ledger.Open(store, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, led.Close()) }()
	app, err := flow.New("trip", trip).Open(led, nil)
	if err != nil {
		return err
	}

	// Three things run: what resumes programs, what hands out tasks, and what lets workers in.
	r, err := runner.New(led, &runner.Options{Programs: []posthouse.Program{app}})
	if err != nil {
		return err
	}
	d, err := dispatch.New(led, nil)
	if err != nil {
		return err
	}
	allow, err := newToken(dir)
	if err != nil {
		return err
	}
	nats, err := natslink.Open(ctx, &link.Options{Listen: "127.0.0.1:0", Allow: allow})
	if err != nil {
		return err
	}
	defer nats.Close()
	stop, err := nats.Serve(d)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Println(nats.Address())

	ctx, end := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- r.Run(ctx) }()
	go func() { ended <- d.Run(ctx) }()
	answer, err := result(ctx, led, app)
	end()
	if err := errors.Join(err, <-ended, <-ended); err != nil {
		return err
	}
	fmt.Println(answer)
	return nil
}

// result begins the run, and waits for its end.
func result(ctx context.Context, led *ledger.Ledger, app *flow.App[string, string]) (string, error) {
	_, err := app.Run(ctx, thread, "How do I get to the sea?", flow.RunOptions{Run: thread}) // of this name there is one run
	if err != nil {
		return "", err
	}
	for event, err := range led.Watch(ctx, ledger.WatchQuery{Thread: thread}) {
		if err != nil {
			return "", err
		}
		if c := event.Checkpoint; c != nil && (c.Status == posthouse.StatusDone || c.Status == posthouse.StatusFailed) {
			break
		}
	}
	res, err := app.Result(ctx, thread)
	if err == nil && res.Status != posthouse.StatusDone {
		err = fmt.Errorf("the trip is %s: %s", res.Status, res.Error)
	}
	if err != nil {
		return "", err
	}
	return res.Output, nil
}

// newToken makes a token that lets workers in, and leaves it in a file for them.
func newToken(dir string) (allow func(token string) (bool, error), err error) {
	token := rand.Text()
	allow = func(shown string) (bool, error) {
		return subtle.ConstantTimeCompare([]byte(shown), []byte(token)) == 1, nil
	}
	return allow, os.WriteFile(filepath.Join(dir, "worker.token"), []byte(token+"\n"), 0o600)
}

// runWorker is a process with handlers. It has no store: it reaches the engine over NATS.
func runWorker(ctx context.Context, name, address, dir string, model *fakeModel) error {
	token, err := os.ReadFile(filepath.Join(dir, "worker.token"))
	if err != nil {
		return err
	}
	nats, err := natslink.Open(ctx, &link.Options{URL: address, Token: strings.TrimSpace(string(token))})
	if err != nil {
		return err
	}
	defer nats.Close()
	engine, err := nats.Engine()
	if err != nil {
		return err
	}
	w, err := worker.New(engine, &worker.Options{Name: name})
	if err != nil {
		return err
	}
	w.HandleFunc("llm-agent", llmAgent(model.call))
	return w.Run(ctx)
}
