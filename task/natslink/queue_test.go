package natslink_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/natslink"
)

// TestPermissions are those of docs/workers.md: an engine that has them can use the queue and
// the dead letters, and a worker reaches neither.
func TestPermissions(t *testing.T) {
	engine := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"posthouse.answer.>", "posthouse.chunk", "posthouse.hint.>", "posthouse.dead", "$JS.API.>", "$JS.ACK.>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"posthouse.task.*.*.*", "posthouse.chunk", "_INBOX.>"}},
	}
	worker := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"posthouse.task.w.*.*"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"posthouse.answer.w.>"}},
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		Users: []*server.User{{Username: "engine", Password: "e", Permissions: engine}, {Username: "worker", Password: "w", Permissions: worker}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	at := s.Addr().String()
	l, err := natslink.Open(t.Context(), &link.Options{URL: "nats://engine:e@" + at})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ctx, q := t.Context(), l.Queue()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(q.Open(ctx))
	ok(q.Publish(ctx, false, hint.Hint{Gate: "g", Thread: "t", Task: "x"}))
	ok(q.Take(ctx, hint.Demand{Task: "x", N: 1, Wait: time.Minute, Lease: time.Minute}, func(d hint.Delivery) { d.Dead("to see that it may") }))
	all, err := l.Letters().Letters(ctx, 10)
	if err != nil || len(all) != 1 || all[0].Kind != deadletter.Hint {
		t.Fatalf("all %+v, error %v", all, err)
	}
	ok(l.Letters().Replay(ctx, all[0].ID))
	if n, err := l.Letters().Purge(ctx); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}

	c, err := nats.Connect("nats://worker:w@"+at, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	ok(err)
	t.Cleanup(c.Close)
	js, err := jetstream.New(c)
	ok(err)
	within, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := js.DeleteStream(within, "posthouse-hints"); err == nil {
		t.Error("a worker deleted the queue")
	}
	ok(q.Take(ctx, hint.Demand{Task: "x", N: 1, Wait: time.Minute, Lease: time.Minute}, func(d hint.Delivery) { d.Ack() }))
}

// TestOwnServerHasNoQueue, because one engine uses it; and its dead letters are in memory.
func TestOwnServerHasNoQueue(t *testing.T) {
	l, err := natslink.Open(t.Context(), &link.Options{Listen: "127.0.0.1:0", Allow: func(string) (bool, error) { return true, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if q := l.Queue(); q != nil {
		t.Errorf("%v", q)
	}
	if all, err := l.Letters().Letters(t.Context(), 10); err != nil || len(all) != 0 {
		t.Errorf("all %+v, error %v", all, err)
	}
	if err := l.Letters().Remove(t.Context(), "1"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Error(err)
	}
}
