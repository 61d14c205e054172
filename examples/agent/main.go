// Command agent is the loop of an agent in a worker: one call of a model a turn, until it has
// an answer. Your problem: each call costs money and minutes, the next one needs the whole
// conversation, and the worker's host may be gone at any moment. Then another one is to go
// on with the conversation, and to pay for no call again but the one that was under way.
//
//	go run ./examples/agent
//
// That starts an engine and a worker, two processes which only NATS connects, kills the worker
// in the middle of its second call, starts another worker, and prints all of it. By hand, with
// the address that the engine prints:
//
//	go run ./examples/agent engine DIR
//	go run ./examples/agent worker NAME ADDRESS DIR
//
// Read agent.go first: the handler, which is all that you write for a worker. A value passed
// to Checkpoint is in the engine's store before Checkpoint returns; Continue ends a turn and
// Complete the task. engine.go has the two processes, model.go a model that needs no network
// and writes each call into the file DIR/calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	"github.com/posthouse/posthouse/examples/internal/process"
)

// calls returns the file that has a line for each call of the model.
func calls(dir string) process.Witness { return process.Witness(filepath.Join(dir, "calls")) }

// show runs an engine and a worker. Unless kill is 0, the worker is killed in the middle of
// that call of the model, and another one goes on. It returns the answer.
func show(ctx context.Context, out io.Writer, dir string, kill int) (answer string, err error) {
	engine, err := process.Start(ctx, "engine", dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, engine.End()) }()
	address, ok := <-engine.Lines
	if !ok {
		return "", errors.New("the engine does not start")
	}
	fmt.Fprintln(out, "the engine is at", address)
	w, err := process.Start(ctx, "worker", "worker-1", address, dir, strconv.Itoa(kill))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.End()) }()
	for call := 1; ; call++ {
		select {
		case line, ok := <-w.Lines:
			if !ok {
				return "", errors.New("the worker has ended")
			}
			fmt.Fprintln(out, line)
		case answer, ok := <-engine.Lines:
			if !ok {
				return "", errors.New("the engine has ended")
			}
			fmt.Fprintln(out, "the answer:", answer)
			return answer, nil
		}
		if call != kill {
			continue
		}
		if err := w.Kill(); err != nil {
			return "", err
		}
		fmt.Fprintln(out, "worker-1 is killed in the middle of that call; in 3 s its lease is over")
		next, err := process.Start(ctx, "worker", "worker-2", address, dir)
		if err != nil {
			return "", err
		}
		w = next
	}
}

// run is one of the processes: as the arguments say the engine, a worker, or who starts them.
func run(ctx context.Context, args []string) error {
	ctx = process.Lifetime(ctx)
	switch {
	case len(args) == 0:
		dir, err := os.MkdirTemp("", "posthouse-agent")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if _, err := show(ctx, os.Stdout, dir, 2); err != nil {
			return err
		}
		lines, err := calls(dir).Notes()
		fmt.Printf("%d calls were paid for 4 turns\n", len(lines))
		return err
	case len(args) == 2 && args[0] == "engine":
		if err := os.MkdirAll(args[1], 0o700); err != nil {
			return err
		}
		return runEngine(ctx, args[1])
	case (len(args) == 4 || len(args) == 5) && args[0] == "worker":
		m := &fakeModel{worker: args[1], calls: calls(args[3])}
		if len(args) == 5 {
			n, err := strconv.Atoi(args[4])
			if err != nil {
				return err
			}
			m.hang = n
		}
		return runWorker(ctx, args[1], args[2], args[3], m)
	}
	return errors.New("usage: agent [engine DIR | worker NAME ADDRESS DIR [CALL-THAT-HANGS]]")
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
