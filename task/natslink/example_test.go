package natslink_test

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/natslink"
	"github.com/posthouse/posthouse/worker"
)

// A binary of a team's own has workers come over NATS, too: serve and worker have the flags
// --nats and --nats-listen then.
func Example() {
	_ = app.Programs{OpenLink: natslink.Open}
}

// A worker in Go meets its engine at the servers of a URL.
func ExampleOpen() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a worker runs until its context ends
	l, err := natslink.Open(ctx, &link.Options{URL: "tls://nats-1:4222,tls://nats-2:4222", Credentials: "worker.creds"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	engine, err := l.Engine()
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := worker.New(engine, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	worker.Handle(w, "double", func(_ worker.Task, in int) (int, error) { return 2 * in, nil })
	fmt.Println(w.Run(ctx))
	// Output: context canceled
}
