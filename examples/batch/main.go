// Command batch handles a hundred items in one task. Your problem: the process dies at item
// 73, of the memory that this one takes, say, and whoever begins again must not do the first
// 73 again.
//
//	go run ./examples/batch
//
// That starts a process which is killed in the middle of item 73, and another one over the same
// file, which goes on, and prints what both did. By hand:
//
//	go run ./examples/batch work DIR 73    # is killed at item 73
//	go run ./examples/batch work DIR       # skips 73 items
//
// Read batch.go first: the handler, which keeps how far it is with worker.Save, and finds that
// with worker.Load when it runs again. This program is everything in one process: a store in a
// file, what hands out tasks, and the worker. Examples agent and words have workers in
// processes of their own; the handler would be the same.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/examples/internal/process"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/standalone"
	"github.com/posthouse/posthouse/worker"
)

const items = 100

// handled returns the file that has a line for each item that was begun.
func handled(dir string) process.Witness { return process.Witness(filepath.Join(dir, "items")) }

// work runs a store, an engine and a worker in this process, until the batch is done. It kills
// the process in the middle of the item killAt, unless that is negative.
func work(ctx context.Context, dir string, killAt int) (report Report, err error) {
	store, err := sqlitestore.Open(ctx, filepath.Join(dir, "batch.db"), nil)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	led, err := ledger.Open(store, nil)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, led.Close()) }()
	starter, err := standalone.Open(led)
	if err != nil {
		return report, err
	}
	r, err := runner.New(led, &runner.Options{Programs: []posthouse.Program{starter.Program()}})
	if err != nil {
		return report, err
	}
	d, err := dispatch.New(led, nil)
	if err != nil {
		return report, err
	}
	w, err := worker.New(d, &worker.Options{Name: "batch"})
	if err != nil {
		return report, err
	}
	worker.Handle(w, "resize", resize(func(item int) error {
		if err := handled(dir).Note(fmt.Sprint("item ", item)); err != nil {
			return err
		}
		if item == killAt {
			process.KillSelf()
		}
		return nil
	}))

	ctx, end := context.WithCancel(ctx)
	ended := make(chan error, 3)
	for _, run := range []func(context.Context) error{r.Run, d.Run, w.Run} {
		go func() { ended <- run(ctx) }()
	}
	report, err = result(ctx, led, starter)
	end()
	return report, errors.Join(err, <-ended, <-ended, <-ended)
}

// result starts the task, and waits for its end. With a key it is one task, however many
// processes start it.
func result(ctx context.Context, led *ledger.Ledger, starter *standalone.Starter) (report Report, err error) {
	input, err := json.Marshal(Batch{Items: items})
	if err != nil {
		return report, err
	}
	started, err := starter.Start(ctx, task.Start{Task: "resize", Input: input, Key: "photos-1"}, "you")
	if err != nil {
		return report, err
	}
	for event, err := range led.Watch(ctx, ledger.WatchQuery{Thread: started.Thread}) {
		if err != nil {
			return report, err
		}
		if c := event.Checkpoint; c != nil && (c.Status == posthouse.StatusDone || c.Status == posthouse.StatusFailed) {
			break
		}
	}
	started, err = starter.Outcome(ctx, started.Thread)
	if err != nil {
		return report, err
	}
	if started.Status != posthouse.StatusDone {
		return report, fmt.Errorf("the batch is %s: %s", started.Status, started.Error)
	}
	return report, json.Unmarshal(started.Output, &report)
}

// show runs the batch in one process that is killed at an item, and in another one.
func show(ctx context.Context, out io.Writer, dir string, killAt int) error {
	first, err := process.Start(ctx, "work", dir, strconv.Itoa(killAt))
	if err != nil {
		return err
	}
	if killed, err := first.Wait(); err != nil || !killed {
		return errors.Join(errors.New("the first process ended by itself"), err)
	}
	lines, err := handled(dir).Notes()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the first process was killed in the middle of item %d; %d items were done\n", killAt, len(lines)-1)
	second, err := process.Start(ctx, "work", dir)
	if err != nil {
		return err
	}
	for line := range second.Lines {
		fmt.Fprintln(out, "the second process:", line)
	}
	return second.End()
}

func run(ctx context.Context, args []string) error {
	killAt := -1
	switch {
	case len(args) == 0:
		dir, err := os.MkdirTemp("", "posthouse-batch")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		return show(ctx, os.Stdout, dir, 73)
	case len(args) == 3 && args[0] == "work":
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		killAt = n
	case len(args) == 2 && args[0] == "work":
	default:
		return errors.New("usage: batch [work DIR [ITEM-TO-DIE-AT]]")
	}
	if err := os.MkdirAll(args[1], 0o700); err != nil {
		return err
	}
	report, err := work(process.Lifetime(ctx), args[1], killAt)
	if err != nil {
		return err
	}
	fmt.Printf("%d items, %d of them skipped, attempt %d\n", report.Items, report.Skipped, report.Attempts)
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
