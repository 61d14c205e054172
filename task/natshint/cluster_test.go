package natshint_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/natshint"
)

// A natsCluster is three servers with JetStream in this process. Each keeps its ports and its
// directory when it is started again.
type natsCluster struct {
	t       *testing.T
	servers [3]*server.Server
	options [3]server.Options
}

// startCluster starts three servers that form a cluster.
func startCluster(t *testing.T) *natsCluster {
	t.Helper()
	c := &natsCluster{t: t}
	for i := range c.servers {
		o := server.Options{ServerName: fmt.Sprint("s", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()}
		o.Cluster = server.ClusterOpts{Name: "one", Host: "127.0.0.1", Port: server.RANDOM_PORT}
		if i > 0 {
			o.Routes = server.RoutesFromStr(fmt.Sprint("nats://127.0.0.1:", c.options[0].Cluster.Port))
		} else { // a cluster's size is what it knows of at its start
			o.Routes = server.RoutesFromStr("nats://127.0.0.1:1,nats://127.0.0.1:2")
		}
		c.options[i] = o
		c.start(i)
		t.Cleanup(func() { c.stop(i) })
	}
	return c
}

func (c *natsCluster) start(i int) {
	c.t.Helper()
	o := c.options[i]
	s, err := server.NewServer(&o)
	if err != nil {
		c.t.Fatal(err)
	}
	s.Start()
	c.servers[i] = s
	if !s.ReadyForConnections(time.Minute) {
		c.t.Fatal("a server does not start")
	}
	c.options[i].Port, c.options[i].Cluster.Port = o.Port, s.ClusterAddr().Port
}

func (c *natsCluster) stop(i int) {
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
}

func (c *natsCluster) urls() string {
	return c.servers[0].ClientURL() + "," + c.servers[1].ClientURL() + "," + c.servers[2].ClientURL()
}

// leader returns which server leads a stream, once all three have all of it.
func (c *natsCluster) leader(js jetstream.JetStream, stream string) (leads int) {
	c.t.Helper()
	eventually(c.t, "lead "+stream, func(ctx context.Context) error {
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		at := s.CachedInfo().Cluster
		if at.Leader == "" || len(at.Replicas) != 2 {
			return fmt.Errorf("%+v", at)
		}
		for _, r := range at.Replicas {
			if r.Offline || !r.Current {
				return fmt.Errorf("%+v", r)
			}
		}
		leads = slices.IndexFunc(c.servers[:], func(s *server.Server) bool { return s.Name() == at.Leader })
		return nil
	})
	return leads
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

// TestCluster: streams are on three servers. Hints outlive the loss of the server that leads
// them. It comes back and has them again: so they outlive the loss of the next one, which
// could not be borne if the first were still away.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes its time to elect leaders")
	}
	c := startCluster(t)
	conn, err := nats.Connect(c.urls(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	q, err := natshint.New(conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "open", q.Open)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), "posthouse-hints")
	if err != nil {
		t.Fatal(err)
	}
	if i := s.CachedInfo(); i.Config.Replicas != 3 || i.Config.Storage != jetstream.MemoryStorage {
		t.Errorf("i.Config %+v", i.Config)
	}
	first := c.leader(js, "posthouse-hints")
	c.outlives(q, first, "a")
	c.start(first)
	second := c.leader(js, "posthouse-hints")
	if second == first {
		second = (first + 1) % len(c.servers)
	}
	c.outlives(q, second, "b")
}

// outlives loses a server between hints that the queue is told of, and takes them all.
func (c *natsCluster) outlives(q *natshint.Queue, lost int, name string) {
	c.t.Helper()
	var all []hint.Hint
	for i := range 20 {
		all = append(all, hint.Hint{Gate: posthouse.ID(fmt.Sprint(name, i)), Thread: "t", Task: "x"})
	}
	eventually(c.t, "publish", func(ctx context.Context) error { return q.Publish(ctx, false, all[:10]...) })
	c.stop(lost)
	eventually(c.t, "publish", func(ctx context.Context) error { return q.Publish(ctx, true, all...) })
	got := map[posthouse.ID]bool{}
	d := hint.Demand{Task: "x", N: 1, Wait: 5 * time.Second, Lease: 5 * time.Second}
	eventually(c.t, "take", func(ctx context.Context) error {
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
	for _, h := range all {
		if !got[h.Gate] {
			c.t.Errorf("the hint of %s is lost", h.Gate)
		}
	}
}
