package pgstore_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestAppendFlushesOnce has each append followed by a notification, which must not wait for
// the disk: the server flushes its log once for both. An append is one transaction.
func TestAppendFlushesOnce(t *testing.T) {
	const appends = 40
	url := pgtest.URL(t)
	listener, c := connect(t, url), connect(t, url)
	s := openAt(t, url+"&application_name=flushes", pgstore.Options{MaxConns: 2})
	run(t, listener, "LISTEN "+schemaOf(t.Name()))
	l := storetest.NewBuilder().Log("t")
	before := flushes(t, c)
	for range appends {
		servertest.Take(t, s, l, l.Step("s", []byte("x")))
		if _, err := listener.WaitForNotification(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil { // a server's process counts for good when it ends
		t.Fatal(err)
	}
	for run(t, c, "SELECT FROM pg_stat_activity WHERE application_name = 'flushes'") > 0 {
	}
	n := flushes(t, c) - before
	t.Logf("%d appends, %d flushes", appends, n)
	if n < appends || n > appends*5/4 { // the server's own writer adds a few
		t.Errorf("the server flushed its log %d times for %d appends", n, appends)
	}
}

// flushes returns how often a server flushed its log.
func flushes(t *testing.T, c *pgx.Conn) (n int) {
	t.Helper()
	if err := c.QueryRow(t.Context(), "SELECT wal_sync FROM pg_stat_wal").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTripsOfCalls counts how often each call waits for the server.
func TestTripsOfCalls(t *testing.T) {
	m := startMeter(t, pgtest.URL(t))
	s := openAt(t, m.url, pgstore.Options{MaxConns: 1, NoListen: true})
	l := storetest.NewBuilder().Log("t")
	id := servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{}, "x")).IDs[0].ID
	drain := func(q posthouse.ThreadQuery) func() {
		return func() {
			for _, err := range s.Threads(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	use := func(op posthouse.SlotOp) func() {
		return func() {
			if _, err := s.Slot(t.Context(), posthouse.SlotKey{Thread: "t", Step: "s"}, op); err != nil && !errors.Is(err, posthouse.ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name string
		most int64
		call func()
	}{
		{"an append", 1, func() { servertest.Take(t, s, l, l.Step("s", []byte("x"))) }},
		{"one thread", 1, drain(posthouse.ThreadQuery{Thread: "t"})},
		{"the newest threads", 1, drain(posthouse.ThreadQuery{Newest: true, Limit: 50})},
		{"a log", 1, func() { servertest.Entries(t, s, "t") }},
		{"a slot", 1, use(posthouse.SlotOp{})},
		{"a slot that was read", 1, use(posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: []byte("x")})},
		{"an id", 1, func() {
			if _, err := s.Find(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		c.call()
		c.call() // now its statements are prepared
		before := m.trips.Load()
		c.call()
		if n := m.trips.Load() - before; n > c.most {
			t.Errorf("%s took %d trips, want %d", c.name, n, c.most)
		}
	}
}

// TestAppendAllocatesLittle counts the objects that an append makes: alone, with what the
// connection needs for a call, and as one of many. It is 16 and 1.05. The limits have room for
// the race detector, under which pools lose some of what they are given.
func TestAppendAllocatesLittle(t *testing.T) {
	s, b := open(t, pgstore.Options{NoListen: true}), storetest.NewBuilder()
	one := servertest.Batches(b, "one", 201, servertest.Same("state"))
	n := testing.AllocsPerRun(len(one)-1, func() {
		if err := s.Append(t.Context(), one[0]); err != nil {
			t.Fatal(err)
		}
		one = one[1:]
	})
	t.Logf("an append makes %.0f objects", n)
	if n > 24 {
		t.Errorf("an append makes %.0f objects, want at most 24", n)
	}
	const threads, rounds = 500, 5
	var all [][]*posthouse.Batch
	for i := range threads {
		for round, batch := range servertest.Batches(b, fmt.Sprintf("many-%03d", i), rounds+1, servertest.Same("state")) {
			if i == 0 {
				all = append(all, nil)
			}
			all[round] = append(all[round], batch)
		}
	}
	var lane pgstore.Lane
	n = testing.AllocsPerRun(rounds, func() {
		if err := s.AppendTogether(&lane, all[0]); err != nil {
			t.Fatal(err)
		}
		all = all[1:]
	}) / threads
	t.Logf("one of %d appends makes %.2f objects", threads, n)
	if n > 6 { // one is the test's own
		t.Errorf("one of %d appends makes %.2f objects, want at most 6", threads, n)
	}
}

// A meter passes on what a server and its clients say, and counts how often a client had to
// wait for an answer.
type meter struct {
	url   string
	trips atomic.Int64
}

func startMeter(t *testing.T, url string) *meter {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	network, to := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	m := &meter{url: fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", cfg.User, listener.Addr(), cfg.Database)}
	open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, to)
			if err != nil {
				_ = client.Close()
				continue
			}
			end := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
			open.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
			open.Go(func() {
				defer end()
				_ = m.pass(client, bufio.NewReader(server))
				_ = client.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		cancel()
		open.Wait()
	})
	return m
}

// pass passes on the messages of a server. ReadyForQuery ends a trip.
func (m *meter) pass(client io.Writer, server *bufio.Reader) error {
	for {
		head, err := server.Peek(5)
		if err != nil {
			return err
		}
		if head[0] == 'Z' {
			m.trips.Add(1)
		}
		if _, err := io.CopyN(client, server, 1+int64(binary.BigEndian.Uint32(head[1:]))); err != nil {
			return err
		}
	}
}
