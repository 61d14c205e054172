package natstask_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse/task/natstask"
)

// TestACallEndsWithItsConnection: a claim gets no answer, and the worker's connection is lost and
// made again. The call ends soon, not when the worker would give up.
func TestACallEndsWithItsConnection(t *testing.T) {
	o := &server.Options{ServerName: "test", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not start")
	}
	connect := func() *nats.Conn {
		c, err := nats.Connect(s.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	silent, conn := connect(), connect()
	asked := make(chan *nats.Msg, 10)
	if _, err := silent.ChanSubscribe("posthouse.task.>", asked); err != nil {
		t.Fatal(err)
	}
	if err := silent.Flush(); err != nil {
		t.Fatal(err)
	}
	e, err := natstask.NewEngine(conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := e.Claim(ctx, "worker-1")
		ended <- err
	}()
	<-asked
	id, err := conn.GetClientID()
	if err == nil {
		err = s.DisconnectClientByID(id)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || ctx.Err() != nil {
		t.Errorf("error %v, ctx.Err() %v", err, ctx.Err())
	}
}
