package s3store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestLostAnswers has two stores write at once through a service that fails one request in
// five, before it is done, after it is done or in the middle of the answer. Each
// acknowledged entry is there once.
func TestLostAnswers(t *testing.T) {
	const threads, each = 4, 30
	server := s3test.New(t)
	stores := []*s3store.Store{open(t, server, s3store.Options{}), open(t, server, s3store.Options{})}
	faults := []s3test.Fault{s3test.Before, s3test.After, s3test.AfterBy, s3test.Torn, s3test.Busy}
	rnd := rand.New(rand.NewPCG(1, 2))
	server.SetFault(func(r *http.Request) s3test.Fault {
		if rnd.IntN(5) > 0 {
			return s3test.None
		}
		return faults[rnd.IntN(len(faults))]
	})
	builder := storetest.NewBuilder()
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			s, l := stores[i%2], builder.Log(fmt.Sprint("t", i))
			for range each {
				b := l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", []byte("result")))
				err := s.Append(t.Context(), b)
				for ; errors.Is(err, posthouse.ErrUnknown) && !t.Failed(); err = s.Append(t.Context(), b) {
				}
				if err != nil {
					t.Errorf("Append: %v", err)
					return
				}
				l.Took(b)
				key := posthouse.SlotKey{Thread: fmt.Sprint("t", i), Step: "s"}
				if _, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision}); err != nil && !errors.Is(err, posthouse.ErrUnknown) {
					t.Errorf("Slot: %v", err)
				}
			}
		})
	}
	wg.Wait()
	server.SetFault(nil)
	for i := range threads {
		for _, s := range append(stores, open(t, server, s3store.Options{})) {
			servertest.WantSound(t, s, fmt.Sprint("t", i), each)
		}
	}
}

// TestAnswerOfACommitIsLost loses the answer to a put that was done: the same put is asked
// again, meets its own object, and counts as done. One put is enough for both sides.
func TestAnswerOfACommitIsLost(t *testing.T) {
	server := s3test.New(t)
	s, l := open(t, server, s3store.Options{}), storetest.NewBuilder().Log("a")
	n := 0
	server.SetFault(func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodPut {
			if n++; n == 1 {
				return s3test.After
			}
		}
		return s3test.None
	})
	servertest.Take(t, s, l)
	servertest.WantSound(t, s, "a", 1)
	if n != 2 || len(server.Keys(bucket, prefix+"log/")) != 1 {
		t.Errorf("%d puts, and the log is %q", n, server.Keys(bucket, prefix+"log/"))
	}
	n = 0
	key := posthouse.SlotKey{Thread: "a", Step: "s"}
	if got, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("v")}); err != nil || got.Revision != 1 {
		t.Errorf("Slot: %+v, %v", got, err)
	}
}

// TestServiceThatIsGone makes calls to a service that does nothing.
func TestServiceThatIsGone(t *testing.T) {
	server := s3test.New(t)
	s, l := open(t, server, s3store.Options{Timeout: soon}), storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l)
	next := l.Next()
	server.SetFault(func(*http.Request) s3test.Fault { return s3test.Before })
	servertest.Gone(t, s, next)
	if s, err := tryOpen(t, server, bucket, s3store.Options{Timeout: soon}); !errors.Is(err, posthouse.ErrUnavailable) || s != nil {
		t.Errorf("Open: %v", err)
	}
	server.SetFault(nil)
	servertest.Back(t, s, next)
	servertest.WantSound(t, s, "a", 2)
}

// TestRefusals makes calls that the service refuses: nothing is written, and the next one
// is served.
func TestRefusals(t *testing.T) {
	server := s3test.New(t)
	s, l := open(t, server, s3store.Options{}), storetest.NewBuilder().Log("a")
	b := l.Next()
	for fault, want := range map[s3test.Fault]error{s3test.Refused: posthouse.ErrForbidden, s3test.Full: posthouse.ErrFull} {
		server.SetFault(func(r *http.Request) s3test.Fault { return fault })
		if err := s.Append(t.Context(), b); !errors.Is(err, want) {
			t.Errorf("Append: %v, want %v", err, want)
		}
	}
	server.SetFault(nil)
	if err := s.Append(t.Context(), b); err != nil {
		t.Errorf("Append, asked again: %v", err)
	}
	servertest.WantSound(t, s, "a", 1)
}

// TestStaleWriter has a store write that has missed what another did: the log went on, and
// then all of it was removed. Its put must not bring anything back.
func TestStaleWriter(t *testing.T) {
	server, builder := s3test.New(t), storetest.NewBuilder()
	stale, busy := open(t, server, s3store.Options{}), open(t, server, s3store.Options{})
	l := builder.Log("a")
	servertest.Take(t, stale, l)
	late := l.Next()
	for range 3 {
		servertest.Take(t, busy, l)
	}
	if _, err := busy.Remove(t.Context(), posthouse.Removal{Thread: "a", All: true}); err != nil {
		t.Fatal(err)
	}
	if err := stale.Append(t.Context(), late); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("Append: %v", err)
	}
	for _, s := range []*s3store.Store{stale, busy, open(t, server, s3store.Options{})} {
		if es, err := read(t, s, "a"); err != nil || len(es) > 0 {
			t.Errorf("%d entries, %v", len(es), err)
		}
		servertest.WantChecked(t, s)
	}
}

// TestServiceWithoutConditions opens a store on a service that overwrites whatever the
// condition says.
func TestServiceWithoutConditions(t *testing.T) {
	server := s3test.New(t)
	server.NoConditions = true
	if _, err := tryOpen(t, server, bucket, s3store.Options{}); !errors.Is(err, posthouse.ErrUnsupported) || !strings.Contains(err.Error(), "conditional writes") {
		t.Errorf("Open: %v", err)
	}
}

// TestBucketWithVersions opens a store in a bucket that keeps what is removed.
func TestBucketWithVersions(t *testing.T) {
	server := s3test.New(t)
	server.Versions = true
	if _, err := tryOpen(t, server, bucket, s3store.Options{}); !errors.Is(err, posthouse.ErrUnsupported) || !strings.Contains(err.Error(), "old versions") {
		t.Errorf("Open: %v", err)
	}
	open(t, server, s3store.Options{AllowVersions: true})
}

// TestFewRequests counts what calls cost: a service bills each request.
func TestFewRequests(t *testing.T) {
	server, builder := s3test.New(t), storetest.NewBuilder()
	s, l := open(t, server, s3store.Options{}), builder.Log("a")
	key := posthouse.SlotKey{Thread: "a", Step: "s"}
	calls := []struct {
		name string
		call func() error
		want map[string]int
	}{
		{"append", func() error { servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "state")); return nil }, map[string]int{"PUT": 1}},
		{"read what this process wrote", func() error { _, err := read(t, s, "a"); return err }, map[string]int{"GET": 1}},
		{"list", func() error {
			for _, err := range s.Threads(t.Context(), posthouse.ThreadQuery{Waiting: true}) {
				return err
			}
			return nil
		}, map[string]int{"GET": 1}},
		{"write a slot", func() error {
			_, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut})
			return err
		}, map[string]int{"GET": 1, "PUT": 1}},
		{"read a slot", func() error {
			_, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotGet})
			return err
		}, map[string]int{"GET": 1}},
		{"open", func() error { open(t, server, s3store.Options{}); return nil }, map[string]int{"GET": 4, "PUT": 2, "LIST": 2}},
	}
	for _, c := range calls {
		server.Counts()
		if err := c.call(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := server.Counts(); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v requests, want %v", c.name, got, c.want)
		}
	}
}

// TestAppendsShareACommit counts the objects that many threads' appends make.
func TestAppendsShareACommit(t *testing.T) {
	const threads = 100
	server, builder := s3test.New(t), storetest.NewBuilder()
	s := open(t, server, s3store.Options{})
	begun, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	server.SetFault(func(r *http.Request) s3test.Fault { once.Do(func() { close(begun); <-held }); return s3test.None })
	var wg sync.WaitGroup
	var ready sync.WaitGroup
	append1 := func(i int) {
		if i > 0 {
			ready.Done()
		}
		if err := s.Append(t.Context(), builder.Log(fmt.Sprint("t", i)).Next()); err != nil {
			t.Error(err)
		}
	}
	wg.Go(func() { append1(0) })
	<-begun
	ready.Add(threads - 1)
	for i := 1; i < threads; i++ {
		wg.Go(func() { append1(i) })
	}
	ready.Wait()
	close(held)
	wg.Wait()
	if n := len(server.Keys(bucket, prefix+"log/")); n > threads/2 {
		t.Errorf("%d objects for %d appends that arrived during one", n, threads)
	}
}
