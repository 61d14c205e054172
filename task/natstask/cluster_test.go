package natstask_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/natstask"
	"github.com/posthouse/posthouse/worker"
)

// A natsCluster is a set of servers in this process. A server keeps its ports when it is
// started again.
type natsCluster struct {
	t       *testing.T
	name    string
	servers []*server.Server
	options []server.Options
}

// startCluster starts n servers that form a cluster. Its gateway listens, and leads to others'.
func startCluster(t *testing.T, name string, n int, gateways ...*natsCluster) *natsCluster {
	t.Helper()
	c := &natsCluster{t: t, name: name, servers: make([]*server.Server, n), options: make([]server.Options, n)}
	for i := range n {
		o := server.Options{ServerName: fmt.Sprint(name, i), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true}
		o.Cluster = server.ClusterOpts{Name: name, Host: "127.0.0.1", Port: server.RANDOM_PORT}
		o.Gateway = server.GatewayOpts{Name: name, Host: "127.0.0.1", Port: server.RANDOM_PORT}
		for _, other := range gateways {
			at := &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", other.options[0].Gateway.Port)}
			o.Gateway.Gateways = append(o.Gateway.Gateways, &server.RemoteGatewayOpts{Name: other.name, URLs: []*url.URL{at}})
		}
		if i > 0 {
			o.Routes = server.RoutesFromStr(fmt.Sprint("nats://127.0.0.1:", c.options[0].Cluster.Port))
		}
		c.options[i] = o
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.servers {
			c.stop(i)
		}
	})
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
	if !s.ReadyForConnections(time.Minute) {
		c.t.Fatal("a server of the cluster does not start")
	}
	c.servers[i] = s
	c.options[i].Port, c.options[i].Cluster.Port, c.options[i].Gateway.Port = o.Port, s.ClusterAddr().Port, s.GatewayAddr().Port
}

func (c *natsCluster) stop(i int) {
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
}

// connect connects to one server, and to others when that is gone.
func (c *natsCluster) connect(i int) *nats.Conn {
	c.t.Helper()
	n, err := nats.Connect(c.servers[i].ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(n.Close)
	return n
}

// routed waits until all servers have a connection to each other.
func (c *natsCluster) routed() {
	c.t.Helper()
	deadline := time.After(time.Minute)
	for _, s := range c.servers {
		for s.NumRoutes() < len(c.servers)-1 {
			select {
			case <-deadline:
				c.t.Fatal("the cluster does not form")
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// TestCluster: an engine and two workers at the three servers of a cluster. Each server in
// turn is lost and comes back. Every task is handled once.
func TestCluster(t *testing.T) {
	c := startCluster(t, "one", 3)
	c.routed()
	// A machine that is slow to start a server again costs no session.
	e := startEngineWith(t, memstore.New(), c.connect(0), &ledger.Options{LeaseTTL: 6 * time.Second})
	const n = 60
	var mu sync.Mutex
	handled := map[int]int{}
	lose := make(chan int, n)
	for i := range 2 {
		far, err := natstask.NewEngine(c.connect(i+1), nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := worker.New(far, &worker.Options{Name: fmt.Sprint("w", i), Concurrency: 4})
		if err != nil {
			t.Fatal(err)
		}
		worker.Handle(w, "double", func(_ worker.Task, in int) (int, error) {
			mu.Lock()
			handled[in]++
			all := len(handled)
			mu.Unlock()
			if all%15 == 0 {
				lose <- all/15 - 1
			}
			return 2 * in, nil
		})
		run(t, w.Run)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			select {
			case i := <-lose: // the engine's own first
				c.stop(i)
				c.start(i)
			case <-t.Context().Done():
				return
			}
		}
	}()
	for i := range n {
		if _, err := e.app.Run(t.Context(), fmt.Sprint("t", i), i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		e.done(t, fmt.Sprint("t", i))
	}
	<-done
	mu.Lock()
	defer mu.Unlock()
	for i := range n {
		if handled[i] != 1 {
			t.Errorf("task %d was handled %d times", i, handled[i])
		}
	}
}

// TestSuperclusterIsRefused: a worker that reaches its only engine through a gateway ends,
// and is told why. One in the engine's cluster works.
func TestSuperclusterIsRefused(t *testing.T) {
	one := startCluster(t, "one", 1)
	two := startCluster(t, "two", 1, one)
	startEngine(t, memstore.New(), one.connect(0))
	worksFrom := func(conn *nats.Conn) error {
		far, err := natstask.NewEngine(conn, nil)
		if err != nil {
			t.Fatal(err)
		}
		hello := task.Hello{Protocol: task.Protocol, Worker: "w", Tasks: []string{"double"}, Concurrency: 1}
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err = far.Connect(ctx, hello)
			cancel()
			if !errors.Is(err, posthouse.ErrUnavailable) { // the gateway may not be there yet
				return err
			}
		}
	}
	if err := worksFrom(one.connect(0)); err != nil {
		t.Error(err)
	}
	conn := two.connect(0)
	err := worksFrom(conn)
	var e *posthouse.Error
	if !errors.As(err, &e) || e.Code != posthouse.CodeUnsupported || e.Hint == "" {
		t.Fatalf("%v", err)
	}
	far, err := natstask.NewEngine(conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(far, nil)
	if err != nil {
		t.Fatal(err)
	}
	worker.Handle(w, "double", func(_ worker.Task, in int) (int, error) { return 2 * in, nil })
	if err := w.Run(t.Context()); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("a worker in another cluster ends with %v", err)
	}
}
