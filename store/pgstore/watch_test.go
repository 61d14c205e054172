package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// begin begins a transaction that has its number before any that follows.
func begin(t *testing.T, c *pgx.Conn) pgx.Tx {
	t.Helper()
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT txid_current()"); err != nil {
		t.Fatal(err)
	}
	return tx
}

// within appends a batch in a transaction of the test's own.
func within(t *testing.T, tx pgx.Tx, s *pgstore.Store, l *storetest.Log, name string) {
	t.Helper()
	b := l.Next(l.Step(name, []byte("x")))
	status, err := s.AppendWithin(t.Context(), tx.Conn(), b)
	if err != nil || status != 0 {
		t.Fatalf("status %v, error %v", status, err)
	}
	l.Took(b)
}

// TestWatchSkipsNoLateCommit commits what was written first last. A cursor by order of
// writing would have passed it.
func TestWatchSkipsNoLateCommit(t *testing.T) {
	s := open(t, pgstore.Options{Poll: time.Hour}) // so that only waking is tested
	b := storetest.NewBuilder()
	early, late := b.Log("early"), b.Log("late")
	tx := begin(t, connect(t, pgtest.URL(t)))
	servertest.Take(t, s, late, late.Step("s", []byte("x")))   // of a higher number
	servertest.Take(t, s, early, early.Step("1", []byte("x"))) // too
	within(t, tx, s, early, "2")                               // of the lower number, after one of the higher
	seen := make(chan *posthouse.Entry, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for e, err := range s.Watch(ctx, "") {
			if err == nil {
				seen <- e
			}
		}
	})
	servertest.Take(t, s, late, late.Step("s", []byte("x")))
	select {
	case e := <-seen:
		t.Errorf("saw entry %d of %s before the earlier transaction ended", e.Seq, e.Thread)
	default:
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := map[string]uint64{}
	for range 4 {
		e := <-seen
		if last[e.Thread]++; e.Seq != last[e.Thread] {
			t.Errorf("thread %s: saw entry %d, want %d", e.Thread, e.Seq, last[e.Thread])
		}
	}
}

// TestWatchUnderDisorder has many transactions commit in no order while one store watches
// from the start, and another from a cursor that it renews again and again.
func TestWatchUnderDisorder(t *testing.T) {
	const writers, each = 6, 40
	url := pgtest.URL(t)
	s, other := open(t, pgstore.Options{}), open(t, pgstore.Options{NoListen: true, Poll: time.Millisecond})
	b := storetest.NewBuilder()
	var wg sync.WaitGroup
	logs := make([]*storetest.Log, writers)
	locks := make([]sync.Mutex, writers)
	conns := make([]*pgx.Conn, writers)
	for i := range logs {
		logs[i], conns[i] = b.Log(fmt.Sprint("t", i)), connect(t, url)
	}
	for i := range writers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 7))
			for range each {
				tx := begin(t, conns[i]) // its number is taken before that of others who commit first
				at := rnd.IntN(writers)
				locks[at].Lock() // a log of the test, until its transaction ends
				within(t, tx, s, logs[at], "s")
				if err := tx.Commit(t.Context()); err != nil {
					t.Error(err)
				}
				locks[at].Unlock()
			}
		})
	}
	watch := func(s *pgstore.Store, again bool) {
		last, cursor := map[string]uint64{}, ""
		for n := 0; n < writers*each; {
			for e, err := range s.Watch(t.Context(), cursor) {
				if err != nil {
					t.Errorf("Watch: %v", err)
					return
				}
				if last[e.Thread]++; e.Seq != last[e.Thread] {
					t.Errorf("thread %s: saw entry %d, want %d", e.Thread, e.Seq, last[e.Thread])
					return
				}
				cursor = e.Cursor
				if n++; n == writers*each || again && n%7 == 0 {
					break
				}
			}
		}
	}
	wg.Go(func() { watch(s, false) })
	wg.Go(func() { watch(other, true) })
	wg.Wait()
}

// TestWatchNowIsExact begins to watch while a transaction runs that holds back what was
// committed before.
func TestWatchNowIsExact(t *testing.T) {
	s := open(t, pgstore.Options{})
	b := storetest.NewBuilder()
	early, late := b.Log("early"), b.Log("late")
	tx := begin(t, connect(t, pgtest.URL(t)))
	servertest.Take(t, s, late, late.Step("before", []byte("x")))
	seq := s.Watch(t.Context(), "now")
	within(t, tx, s, early, "after")
	servertest.Take(t, s, late, late.Step("after", []byte("x")))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{"early": 1, "late": 2}
	for e, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		if want[e.Thread] != e.Seq {
			t.Errorf("saw entry %d of %s", e.Seq, e.Thread)
		}
		if delete(want, e.Thread); len(want) == 0 {
			break
		}
	}
}

// TestWatchNowBesideTransactions begins to watch while others' transactions end. Each of
// them held back entries that were committed before.
func TestWatchNowBesideTransactions(t *testing.T) {
	s := open(t, pgstore.Options{})
	url := pgtest.URL(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range 4 {
		conn := connect(t, url)
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := conn.Exec(t.Context(), "SELECT txid_current(), pg_sleep(0.002)"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	l := storetest.NewBuilder().Log("t")
	for range 150 {
		servertest.Take(t, s, l, l.Step("before", []byte("x")))
		seq := s.Watch(t.Context(), "now")
		servertest.Take(t, s, l, l.Step("after", []byte("x")))
		for e, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			if e.Seq%2 != 0 {
				t.Fatalf("saw entry %d, which was there before", e.Seq)
			}
			break
		}
	}
}

// TestWatchIsNotified wakes a watch of another store, which does not poll.
func TestWatchIsNotified(t *testing.T) {
	writer, watcher := open(t, pgstore.Options{}), open(t, pgstore.Options{Poll: time.Hour})
	l := storetest.NewBuilder().Log("t")
	servertest.Take(t, writer, l, l.Step("s", []byte("x")))
	n := 0
	for _, err := range watcher.Watch(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 5 {
			return
		}
		servertest.Take(t, writer, l, l.Step("s", []byte("x")))
	}
}
