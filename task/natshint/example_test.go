package natshint_test

import (
	"context"
	"fmt"
	"os"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/natshint"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "nats") // for dead letters
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, JetStreamMaxMemory: 64 << 20, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	q, err := natshint.New(conn, nil)
	if err == nil {
		err = q.Open(ctx)
	}
	if err == nil {
		err = q.Publish(ctx, false, hint.Hint{Gate: "gate-1", Thread: "order-7", Task: "resize"})
	}
	if err == nil {
		err = q.Take(ctx, hint.Demand{Task: "resize", N: 1, Wait: 1e9, Lease: 3e9}, func(d hint.Delivery) {
			fmt.Println("look at", d.Hint().Gate)
			d.Ack() // once the task is resolved
		})
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output: look at gate-1
}
