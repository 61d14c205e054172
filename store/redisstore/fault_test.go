package redisstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestKilledServer kills the server under load, again and again. Acknowledged writes are
// there when it is back, and the same store goes on.
func TestKilledServer(t *testing.T) {
	const kills = 10
	server := redistest.Start(t)
	s := openAt(t, server.URL(), redisstore.Options{})
	counts := servertest.Interrupt(t, s, 4, 50, kills, func() {
		server.Kill()
		server.Restart(t)
	})
	servertest.WantWritten(t, s, counts)
}

// TestKilledServerWithoutFile is the control arm of TestKilledServer: without an append
// only file a killed server must lose what it acknowledged.
func TestKilledServerWithoutFile(t *testing.T) {
	server := redistest.Start(t, "appendonly", "no")
	s := openAt(t, server.URL(), redisstore.Options{AllowWeak: true})
	servertest.Take(t, s, storetest.NewBuilder().Log("a"))
	server.Kill()
	server.Restart(t)
	if n := len(servertest.Entries(t, s, "a")); n != 0 {
		t.Errorf("%d entries survived a server that keeps nothing: the test proves nothing", n)
	}
}

// TestServerThatIsGone makes calls to a server that does not answer.
func TestServerThatIsGone(t *testing.T) {
	server := redistest.Start(t)
	s := openAt(t, server.URL(), redisstore.Options{Timeout: 100 * time.Millisecond})
	l := storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l)
	server.Kill()
	next := l.Next()
	servertest.Gone(t, s, next)
	if s, err := redisstore.Open(t.Context(), server.URL(), nil); !errors.Is(err, posthouse.ErrUnavailable) || s != nil {
		t.Errorf("Open: %v", err)
	}
	if _, err := s.Weak(t.Context()); !errors.Is(err, posthouse.ErrUnavailable) {
		t.Errorf("Weak: %v", err)
	}
	server.Restart(t)
	servertest.Back(t, s, next)
	servertest.WantSound(t, s, "a", 2)
}

// TestLostAnswers cuts connections when the server has done what it was asked to. No
// caller notices, and nothing is lost or written twice.
func TestLostAnswers(t *testing.T) {
	server := redistest.Start(t)
	p := servertest.StartProxy(t, server.Addr(), 40)
	s := openAt(t, "redis://"+p.Addr().String(), redisstore.Options{})
	counts := servertest.LoseAnswers(t, s, p, 4, 30)
	servertest.WantWritten(t, openAt(t, server.URL(), redisstore.Options{}), counts)
}

// TestFullServer fills the server's memory. Nothing is written then, reads go on, and so
// do writes once there is room.
func TestFullServer(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.URL())
	s := openAt(t, server.URL(), redisstore.Options{})
	l := storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "state"))
	do(t, c, "CONFIG", "SET", "maxmemory", "1")
	b := l.Next(l.Checkpoint(posthouse.Header{}, "more"))
	if err := s.Append(t.Context(), b); !errors.Is(err, posthouse.ErrFull) {
		t.Errorf("Append: %v", err)
	}
	if n := len(servertest.Entries(t, s, "a")); n != 1 {
		t.Errorf("%d entries while the server is full, want 1", n)
	}
	if done, err := s.Remove(t.Context(), posthouse.Removal{Thread: "b", All: true}); err != nil {
		t.Errorf("Remove: %+v %v", done, err)
	}
	do(t, c, "CONFIG", "SET", "maxmemory", "0")
	if err := s.Append(t.Context(), b); err != nil {
		t.Error(err)
	}
	servertest.WantSound(t, s, "a", 2)
}

// TestForgottenScripts has the server forget all scripts, as a restart does.
func TestForgottenScripts(t *testing.T) {
	server := redistest.Start(t)
	s := openAt(t, server.URL(), redisstore.Options{})
	c, l := connect(t, server.URL()), storetest.NewBuilder().Log("a")
	for range 3 {
		servertest.Take(t, s, l)
		do(t, c, "SCRIPT", "FLUSH")
	}
	servertest.WantSound(t, s, "a", 3)
}

// TestTwoStoresRace has two stores append at the same positions of one thread.
func TestTwoStoresRace(t *testing.T) {
	stores := []*redisstore.Store{open(t, redisstore.Options{}), open(t, redisstore.Options{})}
	const rounds = 200
	l := storetest.NewBuilder().Log("a")
	for round := range rounds {
		batches := [2]*posthouse.Batch{l.Next(l.Step("s", []byte("0"))), l.Next(l.Step("s", []byte("1")))}
		var errs [2]error
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() { errs[i] = s.Append(t.Context(), batches[i]) })
		}
		wg.Wait()
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		if errs[winner] != nil || !errors.Is(errs[1-winner], posthouse.ErrConflict) {
			t.Fatalf("round %d: %v", round, errs)
		}
		l.Took(batches[winner])
	}
	servertest.WantSound(t, stores[0], "a", rounds)
}

// TestWatchAcrossStores watches with one store what another appends. The watch polls once
// an hour, so messages of the server must wake it.
func TestWatchAcrossStores(t *testing.T) {
	writer, watcher := open(t, redisstore.Options{}), open(t, redisstore.Options{Poll: time.Hour})
	const n = 200
	got := make(chan string, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(got)
		for e, err := range watcher.Watch(t.Context(), "now") {
			if err != nil {
				t.Errorf("Watch: %v", err)
				return
			}
			if got <- fmt.Sprint(e.Thread, " ", e.Seq); len(got) == n {
				return
			}
		}
	})
	c := connect(t, redistest.URL(t))
	channel := "{" + prefixOf(t.Name()) + "}:news"
	for heard := int64(0); heard == 0; { // until the watch listens
		m := do(t, c, "PUBSUB", "NUMSUB", channel)
		if pairs, err := m.AsIntMap(); err != nil {
			t.Fatal(err)
		} else {
			heard = pairs[channel]
		}
	}
	logs, b := [2]*storetest.Log{}, storetest.NewBuilder()
	var want []string
	for i := range n {
		if logs[i%2] == nil {
			logs[i%2] = b.Log(fmt.Sprint("t", i%2))
		}
		e := servertest.Take(t, writer, logs[i%2], logs[i%2].Step("s", []byte("x"))).Entry
		want = append(want, fmt.Sprint(e.Thread, " ", e.Seq))
	}
	wg.Wait()
	i := 0
	for have := range got {
		if have != want[i] {
			t.Fatalf("number %d is %q, want %q", i, have, want[i])
		}
		i++
	}
	if i != n {
		t.Errorf("%d entries were seen, want %d", i, n)
	}
}
