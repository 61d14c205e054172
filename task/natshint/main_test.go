package natshint_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/natshint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startNATS starts a server in this process, and returns a connection to it.
func startNATS(t *testing.T, with func(*server.Options)) *nats.Conn {
	t.Helper()
	o := &server.Options{ServerName: "test", DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()}
	if with != nil {
		with(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	c, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func open(t *testing.T, conn *nats.Conn, o *natshint.Options) *natshint.Queue {
	t.Helper()
	q, err := natshint.New(conn, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return q
}

func publish(t *testing.T, q hint.Queue, again bool, gates ...posthouse.ID) {
	t.Helper()
	var all []hint.Hint
	for _, g := range gates {
		all = append(all, hint.Hint{Gate: g, Thread: "t", Task: "x"})
	}
	if err := q.Publish(t.Context(), again, all...); err != nil {
		t.Fatal(err)
	}
}

// demand is for n hints of the task x.
func demand(n int) hint.Demand {
	return hint.Demand{Task: "x", N: n, Wait: 30 * time.Second, Lease: time.Minute}
}

// take returns what a demand brings.
func take(t *testing.T, q hint.Queue, d hint.Demand) (all []hint.Delivery) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := q.Take(ctx, d, func(one hint.Delivery) { all = append(all, one) }); err != nil {
		t.Fatal(err)
	}
	if len(all) != d.N {
		t.Fatalf("%d of %d hints came", len(all), d.N)
	}
	return all
}

// none reports hints that come although no hint may come.
func none(t *testing.T, q hint.Queue, d hint.Demand) {
	t.Helper()
	d.N, d.Wait = 1, 0
	if err := q.Take(t.Context(), d, func(one hint.Delivery) { t.Errorf("%s came", one.Hint().Gate) }); err != nil {
		t.Fatal(err)
	}
}
