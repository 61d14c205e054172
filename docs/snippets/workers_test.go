package snippets_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/task/httptask"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/natslink"
	"github.com/posthouse/posthouse/task/natstask"
	"github.com/posthouse/posthouse/worker"
	"github.com/posthouse/posthouse/worker/workertest"
)

type Video struct{ URL string }

type Subtitles struct{ Lines int }

type Film struct {
	Video Video
	Lines int
}

//doc:handOut
func subtitle(ctx context.Context, v Video) (Subtitles, error) {
	return step.RemoteWith[Subtitles](ctx, "transcribe", "transcribe", v, runs.RemoteOptions{
		Group:  "gpu",
		Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 5}, Timeout: 20 * time.Minute},
	})
}

//doc:end

//doc:backoff
func patient(ctx context.Context, v Video) (Subtitles, error) {
	return step.RemoteWith[Subtitles](ctx, "transcribe", "transcribe", v, runs.RemoteOptions{Limits: posthouse.TaskLimits{
		RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 10,
			InitialDelay: 5 * time.Second,  // before the second attempt; a second, if nothing is said
			Backoff:      posthouse.Linear, // 5 s, 10 s, 15 s; Fixed is always 5 s; Exponential, the default, is 5 s, 10 s, 20 s
			MaxDelay:     time.Minute,      // no wait is longer; a minute, if nothing is said
			Jitter:       0.2},             // up to a fifth of each wait is taken off at random: many tasks do not come back at once
	}})
}

//doc:end

//doc:remote
func subtitled() *graph.Graph[Film] {
	g := graph.New[Film]("film")
	g.Remote("subtitle", graph.Remote[Film, Video, Subtitles]{
		Task:   "transcribe",
		In:     func(f *Film) (Video, error) { return f.Video, nil }, // what the handler is given
		Out:    func(f *Film, s Subtitles) error { f.Lines = s.Lines; return nil },
		Group:  "gpu",
		Limits: posthouse.TaskLimits{RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 5}, Timeout: 20 * time.Minute},
	})
	g.OnError("subtitle", func(ctx context.Context, f *Film, err error) (graph.Command, error) {
		return graph.Command{}, nil // a film without subtitles
	})
	g.Edge(graph.Start, "subtitle")
	g.Edge("subtitle", graph.End)
	return g
}

//doc:end

//doc:handler
func transcribe(t worker.Task, v Video) (Subtitles, error) {
	done, _, err := worker.Load[int](t) // what the last attempt kept; 0 in the first
	if err != nil {
		return Subtitles{}, err
	}
	for ; done < 100; done++ {
		if err := transcribeMinute(t.Context(), v, done); err != nil {
			return Subtitles{}, err // another attempt begins here, at another worker
		}
		if err := worker.Save(t, done+1); err != nil {
			return Subtitles{}, err // worker.ErrLost: another attempt has begun
		}
	}
	return Subtitles{Lines: done}, nil
}

//doc:end

func transcribeMinute(context.Context, Video, int) error { return nil }

//doc:engine
func engine(ctx context.Context, led *ledger.Ledger, conn *nats.Conn) error {
	d, err := dispatch.New(led, nil)
	if err != nil {
		return err
	}
	stop, err := natstask.Serve(conn, d, nil)
	if err != nil {
		return err
	}
	defer stop()
	return d.Run(ctx) // beside a runner, which resumes the programs
}

//doc:end

//doc:worker
func gpu(ctx context.Context, conn *nats.Conn) error {
	engine, err := natstask.NewEngine(conn, nil)
	if err != nil {
		return err
	}
	w, err := worker.New(engine, &worker.Options{Name: "gpu-1", Group: "gpu", Concurrency: 2})
	if err != nil {
		return err
	}
	worker.Handle(w, "transcribe", transcribe)
	return w.Run(ctx) // until ctx ends; then it drains
}

//doc:end

//doc:beside
func gpuAt(ctx context.Context, token string) error {
	l, err := natslink.Open(ctx, &link.Options{URL: "tls://posthouse.example:4222", Token: token})
	if err != nil {
		return err
	}
	defer l.Close()
	engine, err := l.Engine()
	if err != nil {
		return err
	}
	w, err := worker.New(engine, &worker.Options{Name: "gpu-1", Group: "gpu", Concurrency: 2})
	if err != nil {
		return err
	}
	worker.Handle(w, "transcribe", transcribe)
	return w.Run(ctx)
}

//doc:end

func overHTTP(ctx context.Context, token string) error {
	//doc:http
	engine, err := httptask.NewEngine("https://posthouse.example", token, nil)
	if err != nil {
		return err
	}
	w, err := worker.New(engine, &worker.Options{Name: "gpu-1", Group: "gpu", Concurrency: 2})
	//doc:end
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

//doc:loop
func chat(t worker.Task) error {
	if t.Iteration() == 0 && t.Resumed() == "" {
		return t.Pause("cool down", time.Minute) // nothing is held; it survives restarts
	}
	if t.Iteration() == 10 {
		return t.Complete("said enough")
	}
	return t.Continue(map[string]int{"turn": t.Iteration()}) // the next iteration finds it in t.Continued()
}

//doc:end

type Purchase struct{ ID string }

func chargeBack(context.Context, Purchase, string) (string, error) { return "receipt", nil }

//doc:granted
func pay(ctx context.Context, p Purchase) (string, error) {
	grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay this?"}, p)
	if err != nil {
		return "", err
	}
	return gate.Act(ctx, "pay", grant, func(ctx context.Context, approved Purchase) (string, error) {
		return step.Remote[string](ctx, "pay", "pay", approved) // give t.Key() to the bank
	})
}

//doc:end

//doc:granted-handler
func payInHandler(t worker.Task, p Purchase) (string, error) {
	grant, err := gate.Propose(t.Context(), gate.Question{Name: "pay", Text: "Pay this?"}, p)
	if err != nil {
		return "", err // posthouse.ErrWaiting: the task is parked
	}
	return gate.Act(t.Context(), "pay", grant, func(ctx context.Context, approved Purchase) (string, error) {
		return chargeBack(ctx, approved, step.Key(ctx)) // the same key in all attempts
	})
}

//doc:end

//doc:granted-node
func purchases() *graph.Graph[Basket] {
	g := graph.New[Basket]("purchases")
	g.Node("propose", func(ctx context.Context, b *Basket) (err error) {
		b.Grant, err = gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay this?"}, b.Purchase)
		return err
	})
	g.Remote("pay", graph.Remote[Basket, Purchase, string]{
		Task: "pay",
		Act: func(ctx context.Context, b *Basket, open func(context.Context, Purchase) (string, error)) (string, error) {
			return gate.Act(ctx, "pay", b.Grant, open)
		},
		Out: func(b *Basket, receipt string) error { b.Receipt = receipt; return nil },
	})
	g.Edge(graph.Start, "propose")
	g.Edge("propose", "pay")
	g.Edge("pay", graph.End)
	return g
}

//doc:end

// A Basket is a purchase on its way.
type Basket struct {
	Purchase Purchase
	Grant    gate.Grant
	Receipt  string
}

//doc:waits
func refund(t worker.Task, o Purchase) (string, error) {
	receipt, err := step.Do(t.Context(), "charge back", func(ctx context.Context) (string, error) { return chargeBack(ctx, o, t.Key()) })
	if err != nil {
		return "", err
	}
	a, err := gate.Ask[struct{}](t.Context(), gate.Question{Name: "tell the customer", Show: o, Expires: 48 * time.Hour})
	if err != nil || !a.Approved() {
		return receipt, err // posthouse.ErrWaiting: the task is parked
	}
	returned, err := t.WaitSignal("parcel returned", 30*24*time.Hour)
	if err != nil {
		return "", err
	}
	return receipt + " for " + string(returned), nil
}

//doc:end

func Example_handlers() {
	//doc:test
	t := workertest.NewTask("hello")
	fmt.Println(chat(t), t.Verdict().Action, t.Verdict().Delay)
	t = t.Again()
	fmt.Println(chat(t), t.Verdict().Action, string(t.Verdict().Output))
	//doc:end
	_, _, _, _ = flow.New("subtitle", subtitle), engine, gpu, gpuAt
	_, _, _ = overHTTP, subtitled, patient
	// Output:
	// <nil> pause 1m0s
	// <nil> continue {"turn":0}
}

// Handlers that record, ask and wait, as in the page.
func Example_waits() {
	t := workertest.NewTask(Purchase{"7"})
	_, err := refund(t, Purchase{"7"})
	fmt.Println(errors.Is(err, posthouse.ErrWaiting), t.Thread().Asked()[0].Name)

	t.Thread().Answer("tell the customer", posthouse.Decision{Verdict: posthouse.Reject, By: "alice"})
	fmt.Println(refund(t.Again(), Purchase{"7"}))
	fmt.Println(flow.New("pay", pay) != nil)

	t = workertest.NewTask(Purchase{"7"})
	t.Thread().Answer("pay", posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	receipt, err := payInHandler(t, Purchase{"7"})
	fmt.Println(receipt != "", err)
	// Output:
	// true tell the customer
	// receipt <nil>
	// true
	// true <nil>
}

var _ = purchases
