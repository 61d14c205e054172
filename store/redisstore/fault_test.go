package redisstore_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/redistest"
	"github.com/posthouse/posthouse/store/internal/awaytest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// writeUntil has several threads written at once until stop is closed, and returns how
// many entries each got acknowledged. An unknown outcome is settled by asking again.
func writeUntil(t *testing.T, s *redisstore.Store, threads int, stop <-chan struct{}, each func(total int64)) []int {
	t.Helper()
	b, counts := storetest.NewBuilder(), make([]int, threads)
	var total atomic.Int64
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			l := b.Log(fmt.Sprint("t", i))
			for {
				select {
				case <-stop:
					return
				default:
				}
				batch := l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", []byte("result")))
				err := s.Append(t.Context(), batch)
				for ; errors.Is(err, posthouse.ErrUnknown) && !t.Failed(); err = s.Append(t.Context(), batch) {
				}
				if err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				l.Took(batch)
				counts[i]++
				each(total.Add(1))
			}
		})
	}
	wg.Wait()
	t.Logf("%d entries", total.Load())
	return counts
}

// TestKilledServer kills the server under load, again and again. What was acknowledged is
// there when it is back, and the same store goes on.
func TestKilledServer(t *testing.T) {
	const kills = 10
	server := redistest.Start(t)
	s := openAt(t, server.URL(), redisstore.Options{})
	stop, down := make(chan struct{}), make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for range kills {
			<-down
			server.Kill()
			server.Restart(t)
		}
	})
	counts := writeUntil(t, s, 4, stop, func(total int64) {
		if total%50 == 0 {
			select {
			case down <- struct{}{}:
			default:
			}
		}
	})
	wg.Wait()
	for i, n := range counts {
		wantSound(t, s, fmt.Sprint("t", i), n)
	}
}

// TestKilledServerWithoutFile is the control arm of TestKilledServer: without an append
// only file a killed server must lose what it acknowledged.
func TestKilledServerWithoutFile(t *testing.T) {
	server := redistest.Start(t, "appendonly", "no")
	s := openAt(t, server.URL(), redisstore.Options{AllowWeak: true})
	take(t, s, storetest.NewBuilder().Log("a"))
	server.Kill()
	server.Restart(t)
	if n := len(entries(t, s, "a")); n != 0 {
		t.Errorf("%d entries survived a server that keeps nothing: the test proves nothing", n)
	}
}

// TestServerThatIsGone makes calls to a server that does not answer.
func TestServerThatIsGone(t *testing.T) {
	server := redistest.Start(t)
	s := openAt(t, server.URL(), redisstore.Options{Timeout: 100 * time.Millisecond})
	l := storetest.NewBuilder().Log("a")
	take(t, s, l)
	server.Kill()
	next := l.Next()
	awaytest.Gone(t, s, next)
	if s, err := redisstore.Open(t.Context(), server.URL(), nil); !errors.Is(err, posthouse.ErrUnavailable) || s != nil {
		t.Errorf("Open: %v", err)
	}
	if _, err := s.Weak(t.Context()); !errors.Is(err, posthouse.ErrUnavailable) {
		t.Errorf("Weak: %v", err)
	}
	server.Restart(t)
	awaytest.Back(t, s, next)
	wantSound(t, s, "a", 2)
}

// A proxy passes bytes on, and loses answers: it cuts a connection after so many of them.
type proxy struct {
	net.Listener
	to   string
	cuts atomic.Int64
	wg   sync.WaitGroup
}

func startProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	p.wg.Go(func() {
		_, _ = io.Copy(server, c)
		_ = server.Close()
	})
	room := make([]byte, 64<<10)
	for answers := 0; ; answers++ {
		n, err := server.Read(room)
		if err != nil {
			return
		}
		if answers == 40 { // it has done what it was asked to
			p.cuts.Add(1)
			return
		}
		if _, err := c.Write(room[:n]); err != nil {
			return
		}
	}
}

// TestLostAnswers cuts connections when the server has done what it was asked to. No
// caller notices, and nothing is lost or written twice.
func TestLostAnswers(t *testing.T) {
	server := redistest.Start(t)
	p := startProxy(t, server.Addr())
	s := openAt(t, "redis://"+p.Addr().String(), redisstore.Options{})
	stop := make(chan struct{})
	var once sync.Once
	counts := writeUntil(t, s, 4, stop, func(int64) {
		if p.cuts.Load() >= 30 {
			once.Do(func() { close(stop) })
		}
	})
	direct := openAt(t, server.URL(), redisstore.Options{})
	for i, n := range counts {
		wantSound(t, direct, fmt.Sprint("t", i), n)
	}
}

// TestFullServer fills the server's memory. Nothing is written then, reads go on, and so
// do writes once there is room.
func TestFullServer(t *testing.T) {
	server := redistest.Start(t)
	c := connect(t, server.URL())
	s := openAt(t, server.URL(), redisstore.Options{})
	l := storetest.NewBuilder().Log("a")
	take(t, s, l, l.Checkpoint(posthouse.Header{}, "state"))
	do(t, c, "CONFIG", "SET", "maxmemory", "1")
	b := l.Next(l.Checkpoint(posthouse.Header{}, "more"))
	if err := s.Append(t.Context(), b); !errors.Is(err, posthouse.ErrFull) {
		t.Errorf("Append: %v", err)
	}
	if n := len(entries(t, s, "a")); n != 1 {
		t.Errorf("%d entries while the server is full, want 1", n)
	}
	if done, err := s.Remove(t.Context(), posthouse.Removal{Thread: "b", All: true}); err != nil {
		t.Errorf("Remove: %+v %v", done, err)
	}
	do(t, c, "CONFIG", "SET", "maxmemory", "0")
	if err := s.Append(t.Context(), b); err != nil {
		t.Error(err)
	}
	wantSound(t, s, "a", 2)
}

// TestForgottenScripts has the server forget all scripts, as a restart does.
func TestForgottenScripts(t *testing.T) {
	server := redistest.Start(t)
	s := openAt(t, server.URL(), redisstore.Options{})
	c, l := connect(t, server.URL()), storetest.NewBuilder().Log("a")
	for range 3 {
		take(t, s, l)
		do(t, c, "SCRIPT", "FLUSH")
	}
	wantSound(t, s, "a", 3)
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
	wantSound(t, stores[0], "a", rounds)
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
		e := take(t, writer, logs[i%2], logs[i%2].Step("s", []byte("x"))).Entry
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
