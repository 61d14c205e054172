package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/task/natshint"
	"github.com/posthouse/posthouse/task/natstask"
	"github.com/posthouse/posthouse/worker"
)

// childEnv has the order of a child.
const childEnv = "POSTHOUSE_CHAOS_CHILD"

// An order is what a child is to be.
type order struct {
	Name      string
	Store     string // of an engine; "": it is a worker
	NATS      string
	Witness   string
	Forgetful bool
}

// Child runs this process as an engine or a worker and ends it, if that is what it was
// started for.
func Child() {
	text := os.Getenv(childEnv)
	if text == "" {
		return
	}
	signal.Ignore(os.Interrupt) // the parent decides
	var o order
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		go func() { // it ends with its parent
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
		err = o.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", o.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (o *order) run(ctx context.Context) (err error) {
	w, err := openWitness(o.Witness)
	if err != nil {
		return err
	}
	conn, err := nats.Connect(o.NATS, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	defer conn.Close()
	if o.Store == "" {
		return o.worker(ctx, w, conn)
	}
	return o.engine(ctx, w, conn)
}

func (o *order) log() *slog.Logger {
	level := slog.LevelError
	if os.Getenv("POSTHOUSE_CHAOS_LOG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})).With("process", o.Name)
}

// worker handles tasks.
func (o *order) worker(ctx context.Context, wit *witness, conn *nats.Conn) error {
	e, err := natstask.NewEngine(conn, nil)
	if err != nil {
		return err
	}
	w, err := worker.New(e, &worker.Options{Name: o.Name, Concurrency: 8, DrainTimeout: time.Second, Logger: o.log()})
	if err != nil {
		return err
	}
	worker.Handle(w, taskName, func(t worker.Task, j job) (uint64, error) {
		tries, err := tried(t)
		if err != nil {
			return 0, err
		}
		if err := worker.Save(t, tries+1); err != nil {
			return 0, err
		}
		return j.execute(t.Context(), wit)
	})
	worker.Handle(w, payTask, func(t worker.Task, p payment) (uint64, error) { return p.execute(t.Context(), wit) })
	return w.Run(ctx)
}

// tried returns how many executions have come as far as saving that before this one.
func tried(t worker.Task) (int, error) {
	n, _, err := worker.Load[int](t)
	if err == nil && n >= t.Attempt()+100 {
		err = fmt.Errorf("the slot says %d, the attempt is %d", n, t.Attempt())
	}
	return n, err
}

// engine moves runs and hands out tasks. It opens the store for as long as that takes.
func (o *order) engine(ctx context.Context, wit *witness, conn *nats.Conn) (err error) {
	store, err := openStore(ctx, o.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	l, err := ledger.Open(store, &ledger.Options{Logger: o.log(), Validate: gate.Validator()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	app, err := open(l, wit, o.Forgetful)
	if err != nil {
		return err
	}
	q, err := natshint.New(conn, &natshint.Options{Logger: o.log()})
	if err != nil {
		return err
	}
	d, err := dispatch.New(l, &dispatch.Options{Logger: o.log(), Hints: q})
	if err != nil {
		return err
	}
	stop, err := serve(ctx, conn, d)
	if err != nil {
		return err
	}
	defer stop()
	r, err := runner.New(l, &runner.Options{Programs: []posthouse.Program{app}, Logger: o.log()})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	return errors.Join(r.Run(ctx), <-done)
}

// openStore opens the store once its server answers.
func openStore(ctx context.Context, url string) (*pgstore.Store, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := pgstore.Open(ctx, url, nil)
		if err == nil || !errors.Is(err, posthouse.ErrUnavailable) && !errors.Is(err, posthouse.ErrUnknown) {
			return s, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// serve answers workers once NATS does.
func serve(ctx context.Context, conn *nats.Conn, d *dispatch.Dispatcher) (stop func(), err error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		stop, err := natstask.Serve(conn, d, nil)
		if err == nil || !errors.Is(err, posthouse.ErrUnavailable) {
			return stop, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
