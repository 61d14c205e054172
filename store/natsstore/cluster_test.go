package natsstore_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// startCluster starts n servers that form a cluster with JetStream, and returns their
// addresses. Its gateway leads to another cluster's, if there is one.
func startCluster(t testing.TB, name string, n int, other *natsServer) (servers []*natsServer, urls string) {
	t.Helper()
	for i := range n {
		s := &natsServer{opts: server.Options{
			ServerName: fmt.Sprint(name, i), Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: filepath.Join(t.TempDir(), fmt.Sprint(i)), NoSigs: true, NoLog: true,
			Cluster: server.ClusterOpts{Name: name, Host: "127.0.0.1", Port: -1},
			Gateway: server.GatewayOpts{Name: name, Host: "127.0.0.1", Port: -1},
		}}
		if i > 0 {
			s.opts.Routes = server.RoutesFromStr("nats://" + servers[0].ClusterAddr().String())
		} else {
			s.opts.Routes = server.RoutesFromStr("nats://127.0.0.1:1") // JetStream wants one, in a cluster
		}
		if other != nil {
			at := &url.URL{Scheme: "nats", Host: other.GatewayAddr().String()}
			s.opts.Gateway.Gateways = []*server.RemoteGatewayOpts{{Name: other.opts.Cluster.Name, URLs: []*url.URL{at}}}
		}
		s.start(t)
		s.opts.Cluster.Port, s.opts.Gateway.Port = s.ClusterAddr().Port, s.GatewayAddr().Port
		t.Cleanup(s.stop)
		servers = append(servers, s)
		urls += "," + s.ClientURL()
	}
	return servers, urls[1:]
}

// ready waits until JetStream has a leader for all servers.
func ready(t testing.TB, servers ...*natsServer) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		led := false
		for _, s := range servers {
			led = led || s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers)
		}
		if led {
			return
		}
		select {
		case <-deadline:
			t.Fatal("the cluster has no leader")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestCluster: the streams are on three servers. The one that leads the log is lost while
// threads are written, and comes back. Acknowledged writes are there, also for a store
// opened later.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("servers take their time to elect a leader")
	}
	servers, urls := startCluster(t, "one", 3, nil)
	ready(t, servers...)
	o := &natsstore.Options{Timeout: time.Minute}
	s := openAt(t, urls, o)
	log, err := connect(t, urls).Stream(t.Context(), "posthouse-log")
	if err != nil {
		t.Fatal(err)
	}
	leads := servers[slices.IndexFunc(servers, func(s *natsServer) bool { return s.Name() == log.CachedInfo().Cluster.Leader })]
	var written atomic.Int64
	stop := make(chan struct{})
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		defer close(stop)
		leads.stop()
		before := written.Load()
		for deadline := time.After(2 * time.Minute); written.Load() < before+100; {
			select {
			case <-deadline:
				t.Error("with a server lost nothing is written")
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		leads.start(t)
		ready(t, servers...)
	}()
	counts := servertest.WriteUntil(t, s, 3, stop, func(total int64) { written.Store(total) })
	<-restarted
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, urls, o)
	for i, n := range counts {
		servertest.WantSound(t, again, fmt.Sprint("t", i), n)
	}
	if weak, err := again.Weak(t.Context()); err != nil || len(weak) != 1 || !strings.Contains(weak[0], "sync_interval") {
		t.Errorf("three replicas: %q %v", weak, err)
	}
	one := &natsstore.Options{Prefix: "one", Replicas: 1}
	if _, err := natsstore.Open(t.Context(), urls, one); !errors.Is(err, posthouse.ErrUnsupported) || !strings.Contains(err.Error(), "the loss of a server loses it") {
		t.Errorf("one replica in a cluster: %v", err)
	}
}

// TestClusterStore runs the suite on streams of three servers: what is written, at once, too,
// and what watches. POSTHOUSE_LONG=1 runs the rest.
func TestClusterStore(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers repeat what TestSharedStore does on one")
	}
	servers, urls := startCluster(t, "one", 3, nil)
	ready(t, servers...)
	cases := slices.DeleteFunc(allCases(), func(c storetest.Case) bool {
		theme, _, _ := strings.Cut(c.Name, "/")
		return os.Getenv("POSTHOUSE_LONG") == "" && !slices.Contains([]string{"append", "bulk", "race", "remove", "slots", "watch"}, theme)
	})
	storetest.RunCases(t, storetest.Harness{
		Open: func(t storetest.TB, dir string) posthouse.Store {
			s, err := natsstore.Open(t.Context(), urls, &natsstore.Options{Prefix: prefixOf(dir)})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Short: true,
	}, cases)
}

// TestSuperclusterIsRefused opens a store in the cluster that has its streams; through a
// gateway that fails.
func TestSuperclusterIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("servers take their time to elect a leader")
	}
	one, at := startCluster(t, "one", 1, nil)
	two, elsewhere := startCluster(t, "two", 1, one[0])
	ready(t, one[0], two[0])
	o := &natsstore.Options{Replicas: 1, AllowWeak: true}
	l := storetest.NewBuilder().Log("a")
	s := openAt(t, at, o)
	servertest.Take(t, s, l)
	_, err := natsstore.Open(t.Context(), elsewhere, o)
	if !errors.Is(err, posthouse.ErrUnsupported) || !strings.Contains(err.Error(), "superclusters are not supported") {
		t.Errorf("%v", err)
	}
	servertest.Take(t, s, l)

	// A process writes no more once its connection goes from one cluster to the other.
	roams, err := natsstore.Open(t.Context(), at+","+elsewhere, o)
	for err != nil && errors.Is(err, posthouse.ErrUnsupported) { // it began in the other cluster
		roams, err = natsstore.Open(t.Context(), at+","+elsewhere, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer roams.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	one[0].stop()
	b := l.Next()
	for err = roams.Append(t.Context(), b); errors.Is(err, posthouse.ErrUnknown); err = roams.Append(t.Context(), b) {
	}
	if !errors.Is(err, posthouse.ErrReadOnly) || !strings.Contains(err.Error(), "superclusters are not supported") {
		t.Errorf("connected to another cluster: %v", err)
	}
}
