package natsstore_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/servertest"
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

// TestRestartedServer restarts the server under load, again and again.
func TestRestartedServer(t *testing.T) {
	const restarts = 4
	server := startServer(t, t.TempDir())
	s := openAt(t, server.ClientURL(), nil)
	counts := servertest.Interrupt(t, s, 4, 100, restarts, func() {
		server.stop()
		server.start(t)
	})
	servertest.WantWritten(t, s, counts)
}

// TestServerThatIsGone makes calls to a server that does not answer.
func TestServerThatIsGone(t *testing.T) {
	server := startServer(t, t.TempDir())
	s := openAt(t, server.ClientURL(), &natsstore.Options{Timeout: 300 * time.Millisecond})
	l := storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l)
	server.stop()
	next := l.Next()
	servertest.Gone(t, s, next)
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
	servertest.Back(t, s, next)
	servertest.WantSound(t, s, "a", 2)
}

// TestLostAnswers cuts connections when the server has done what it was asked to. No
// caller notices, and nothing is lost or written twice.
func TestLostAnswers(t *testing.T) {
	server := startServer(t, t.TempDir())
	p := servertest.StartProxy(t, server.Addr().String(), 120)
	s := openAt(t, "nats://"+p.Addr().String(), nil)
	counts := servertest.LoseAnswers(t, s, p, 3, 4)
	servertest.WantWritten(t, openAt(t, server.ClientURL(), nil), counts)
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
			if n := len(servertest.Entries(t, s, fmt.Sprintf("%d-%d", round, taken))); n != 0 {
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
