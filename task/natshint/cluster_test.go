package natshint_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/natshint"
)

// startCluster starts three servers with JetStream, and returns them and where clients go.
func startCluster(t *testing.T) (all []*server.Server, urls string) {
	t.Helper()
	route := 0
	for i := range 3 {
		o := &server.Options{ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()}
		o.Cluster = server.ClusterOpts{Name: "one", Host: "127.0.0.1", Port: server.RANDOM_PORT}
		if i > 0 {
			o.Routes = server.RoutesFromStr(fmt.Sprint("nats://127.0.0.1:", route))
		} else { // a cluster's size is what it knows of at its start
			o.Cluster.Port = -1
			o.Routes = server.RoutesFromStr("nats://127.0.0.1:1,nats://127.0.0.1:2")
		}
		s, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		if !s.ReadyForConnections(time.Minute) {
			t.Fatal("a server does not start")
		}
		if i == 0 {
			route = s.ClusterAddr().Port
		} else {
			urls += ","
		}
		urls += s.ClientURL()
		all = append(all, s)
	}
	return all, urls
}

// eventually repeats what fails while a cluster elects leaders.
func eventually(t *testing.T, what string, fn func(ctx context.Context) error) {
	t.Helper()
	for deadline := time.After(time.Minute); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := fn(ctx)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestCluster: streams are on three servers; hints outlive the loss of the server that leads
// them, and go on being told and taken.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes its time to elect leaders")
	}
	servers, urls := startCluster(t)
	conn, err := nats.Connect(urls, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	q, err := natshint.New(conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "open", q.Open)
	var all []hint.Hint
	for i := range 20 {
		all = append(all, hint.Hint{Gate: posthouse.ID(fmt.Sprint("g", i)), Thread: "t", Task: "x"})
	}
	eventually(t, "publish", func(ctx context.Context) error { return q.Publish(ctx, false, all[:10]...) })
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "posthouse-hints")
	if err != nil {
		t.Fatal(err)
	}
	i := s.CachedInfo()
	if i.Config.Replicas != 3 || i.Config.Storage != jetstream.MemoryStorage {
		t.Errorf("%+v", i.Config)
	}
	for _, one := range servers {
		if one.Name() == i.Cluster.Leader {
			one.Shutdown()
			one.WaitForShutdown()
		}
	}
	eventually(t, "publish", func(ctx context.Context) error { return q.Publish(ctx, true, all...) })
	got := map[posthouse.ID]bool{}
	d := hint.Demand{Task: "x", N: 1, Wait: 5 * time.Second, Lease: 5 * time.Second}
	eventually(t, "take", func(ctx context.Context) error {
		for len(got) < len(all) {
			before := len(got)
			if err := q.Take(ctx, d, func(x hint.Delivery) { got[x.Hint().Gate] = true; x.Ack() }); err != nil {
				return err
			}
			if len(got) == before {
				return fmt.Errorf("%d of %d hints came", len(got), len(all))
			}
		}
		return nil
	})
}
