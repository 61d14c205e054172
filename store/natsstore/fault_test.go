package natsstore_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/awaytest"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

// TestSharedStore runs the suite on one server that all stores share.
func TestSharedStore(t *testing.T) {
	server := startServer(t, t.TempDir())
	storetest.RunCases(t, storetest.Harness{
		Open: func(t storetest.TB, dir string) posthouse.Store {
			s, err := natsstore.Open(t.Context(), server.ClientURL(), &natsstore.Options{Prefix: prefixOf(dir)})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Short: true,
	}, allCases())
}

// allCases are the cases of all suites of stores.
func allCases() []storetest.Case {
	return slices.Concat(storetest.Cases(), stresstest.Cases(), lineartest.Cases())
}

// writeUntil has several threads written at once until stop is closed, and returns how
// many entries each got acknowledged. An unknown outcome is settled by asking again.
func writeUntil(t *testing.T, s posthouse.Store, threads int, stop <-chan struct{}, each func(total int64)) []int {
	t.Helper()
	b, counts := storetest.NewBuilder(), make([]int, threads)
	var total counter
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

// TestRestartedServer restarts the server under load, again and again.
func TestRestartedServer(t *testing.T) {
	const restarts = 4
	server := startServer(t, t.TempDir())
	s := openAt(t, server.ClientURL(), nil)
	stop, down := make(chan struct{}), make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for range restarts {
			<-down
			server.stop()
			server.start(t)
		}
	})
	counts := writeUntil(t, s, 4, stop, func(total int64) {
		if total%100 == 0 {
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

// TestServerThatIsGone makes calls to a server that does not answer.
func TestServerThatIsGone(t *testing.T) {
	server := startServer(t, t.TempDir())
	s := openAt(t, server.ClientURL(), &natsstore.Options{Timeout: 300 * time.Millisecond})
	l := storetest.NewBuilder().Log("a")
	take(t, s, l)
	server.stop()
	next := l.Next()
	awaytest.Gone(t, s, next)
	large := l.Next(l.Step("s", storetest.Filler(300<<10, "in chunks")))
	if err := s.Append(t.Context(), large); !errors.Is(err, posthouse.ErrUnknown) {
		t.Errorf("Append of a large body: got %v, want %v", err, posthouse.ErrUnknown)
	}
	if err := s.AppendAll(t.Context(), []*posthouse.Batch{large}); !errors.Is(err, posthouse.ErrUnknown) {
		t.Errorf("AppendAll of a large body: got %v, want %v", err, posthouse.ErrUnknown)
	}
	if s, err := natsstore.Open(t.Context(), server.ClientURL(), nil); !errors.Is(err, posthouse.ErrUnavailable) || s != nil {
		t.Errorf("Open: %v", err)
	}
	if _, err := s.Weak(t.Context()); !errors.Is(err, posthouse.ErrUnavailable) {
		t.Errorf("Weak: %v", err)
	}
	server.start(t)
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
		if answers == 120 { // it has done what it was asked to
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
	server := startServer(t, t.TempDir())
	p := startProxy(t, server.Addr().String())
	s := openAt(t, "nats://"+p.Addr().String(), nil)
	stop := make(chan struct{})
	var once sync.Once
	counts := writeUntil(t, s, 3, stop, func(int64) {
		if p.cuts.Load() >= 4 {
			once.Do(func() { close(stop) })
		}
	})
	direct := openAt(t, server.ClientURL(), nil)
	for i, n := range counts {
		wantSound(t, direct, fmt.Sprint("t", i), n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestTwoStoresRace has two stores, as two processes have, write to the same threads and
// bring the same ids to different ones.
func TestTwoStoresRace(t *testing.T) {
	server := startServer(t, t.TempDir())
	stores := []*natsstore.Store{openAt(t, server.ClientURL(), nil), openAt(t, server.ClientURL(), nil)}
	const rounds = 60
	builder := storetest.NewBuilder()
	for round := range rounds {
		id := posthouse.ID(fmt.Sprint("id-", round))
		errs := make([]error, len(stores))
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() {
				l := builder.Log(fmt.Sprintf("%d-%d", round, i))
				errs[i] = s.Append(t.Context(), l.Next(l.Checkpoint(posthouse.Header{ID: id}, "x")))
			})
		}
		wg.Wait()
		taken := slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, posthouse.ErrExists) })
		if won := slices.Index(errs, nil); won < 0 || taken < 0 {
			t.Fatalf("round %d: %v", round, errs)
		}
		for _, s := range stores {
			if at, err := s.Find(t.Context(), id); err != nil || at.Thread != fmt.Sprintf("%d-%d", round, 1-taken) {
				t.Errorf("round %d: the id leads to %v, %v", round, at, err)
			}
			if n := len(entries(t, s, fmt.Sprintf("%d-%d", round, taken))); n != 0 {
				t.Errorf("round %d: the loser has %d entries", round, n)
			}
		}
		if round%20 == 0 { // deletes what counts for nothing, too
			for i := range stores {
				if _, err := stores[0].Remove(t.Context(), posthouse.Removal{Thread: fmt.Sprintf("%d-%d", round, i), All: true}); err != nil {
					t.Error(err)
				}
			}
		}
	}
	third := openAt(t, server.ClientURL(), nil)
	want, err := storetest.Dump(t.Context(), stores[0])
	if err != nil {
		t.Error(err)
	}
	for _, s := range []*natsstore.Store{stores[1], third} {
		if got, err := storetest.Dump(t.Context(), s); err != nil || got != want {
			t.Errorf("another store reads otherwise: %v", err)
		}
	}
}
