package natsstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
	"github.com/posthouse/posthouse/store/internal/memindex"
	"github.com/posthouse/posthouse/store/natsstore/internal/embedded"
)

// A Store keeps threads in the streams of a NATS server or cluster. Besides
// [posthouse.Store] it is a Watcher, Checker, SlotLister, BulkAppender and Compacter.
// With a server in this process it is an Excluder too; any number of Stores, in any
// number of processes, may use the same streams of another server.
type Store struct {
	opts    Options
	streams streams
	slots   slots
	life    string // in cursors: another store counts from 1 again
	runs    posthouse.Running

	view view

	removing sync.Mutex
	witness  keptWitness
	slotting sync.Mutex // held while slots are removed, or counted for a witness

	undeleted undeleted

	ctx       context.Context // ends when the store closes
	cancel    context.CancelFunc
	work      sync.WaitGroup
	opened    chan struct{} // closed once the streams are known
	closing   atomic.Bool   // Close was called; until the store is closed it still writes
	lifecycle lifecycle.State
}

var (
	_ posthouse.Store        = (*Store)(nil)
	_ posthouse.Watcher      = (*Store)(nil)
	_ posthouse.Checker      = (*Store)(nil)
	_ posthouse.SlotLister   = (*Store)(nil)
	_ posthouse.BulkAppender = (*Store)(nil)
	_ posthouse.Compacter    = (*Store)(nil)
	_ posthouse.Excluder     = (*Store)(nil)
)

// An entry is one that the index knows. Its place may change under the index's lock.
type entry = memindex.Entry

func entryPlace(e *entry) *place { return memindex.Data[place](e) }

// Open opens the store on the servers that a URL names, nats://user:password@host:port or
// tls:, several with commas between, or with a server in this process that keeps its
// files in a directory, nats:DIR. It makes directory and streams if they are missing, and
// reads all of the log.
//
// It fails with [posthouse.ErrLocked] if another process has the directory open, with
// [posthouse.ErrCorrupt] if acknowledged messages are gone or damaged, with
// [posthouse.ErrUnsupported] on streams that lose acknowledged writes, unless
// Options.AllowWeak is set, and with [posthouse.ErrNewer] if a newer version has written
// the store.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	opts := o.withDefaults()
	servers, dir, err := opts.configure(url)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Store{opts: opts, opened: make(chan struct{})}
	s.lifecycle = lifecycle.State{
		ReadOnly: opts.ReadOnly, Writer: "a process",
		Poisoned: "after an error", Cure: "look at the server's disk and log, then open the store again and run posthouse verify",
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.streams = streams{opts: &s.opts, names: names{opts.Prefix}, lifecycle: &s.lifecycle, closing: s.ctx}
	s.view = view{index: memindex.New(), lifecycle: &s.lifecycle, closing: s.ctx}
	s.view.empty(0)
	s.slots.streams, s.witness.streams = &s.streams, &s.streams
	s.view.index.Refresh = func(ctx context.Context) error { return away.Read(s.refresh(ctx)) }
	if err := s.open(ctx, servers, dir); err != nil {
		err = away.Read(s.streams.wrap("open the store", err))
		s.release()
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, servers, dir string) (err error) {
	options := []nats.Option{
		nats.Name("posthouse"), nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.ReconnectBufSize(-1), nats.Timeout(min(s.opts.Timeout, 5*time.Second)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			s.opts.Logger.Warn("posthouse: NATS", "store", s.streams.where, "err", err)
		}),
		nats.ReconnectHandler(s.reconnected),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if !s.lifecycle.Closed() {
				s.opts.Logger.Warn("posthouse: the connection to NATS is lost", "store", s.streams.where, "err", err)
			}
		}),
	}
	if dir != "" {
		s.streams.own, err = embedded.Start(dir, embedded.Options{ReadOnly: s.opts.ReadOnly, Unsynced: s.opts.lazy, Logger: s.opts.Logger})
		if err != nil {
			return err
		}
		s.streams.where = s.streams.own.Dir()
		options = append(options, nats.InProcessServer(s.streams.own))
	} else {
		s.streams.where = withoutPasswords(servers)
		if s.opts.Credentials != "" {
			options = append(options, nats.UserCredentials(s.opts.Credentials))
		}
	}
	s.lifecycle.Store = "the store in " + s.streams.where
	s.streams.conn, err = nats.Connect(servers, options...)
	if err != nil {
		return err
	}
	s.streams.room = int(s.streams.conn.MaxPayload()) - 1024 // for the headers
	s.streams.js, err = jetstream.New(s.streams.conn)
	if err != nil {
		return err
	}
	if err := s.setUp(ctx); err != nil {
		return err
	}
	close(s.opened)
	return s.begin(ctx)
}

// Exclusive reports whether no other process can have the store open: true for a server in
// this process.
func (s *Store) Exclusive() bool { return s.streams.own != nil && !s.opts.ReadOnly }

// Runs implements [posthouse.Excluder].
func (s *Store) Runs() *posthouse.Running { return &s.runs }

// Close waits for calls in progress and closes the connection, and the server if it is in
// this process. Acknowledged writes are durable without it. A second call returns nil.
func (s *Store) Close() error {
	if s.closing.Swap(true) {
		return nil
	}
	if !s.opts.ReadOnly && s.lifecycle.Damage() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), min(s.opts.Timeout, 2*time.Second))
		_ = s.testify(ctx) // nothing is lost without it
		cancel()
	}
	s.view.index.Close()
	s.release()
	return nil
}

// release closes what is open.
func (s *Store) release() {
	s.lifecycle.Close()
	s.cancel()
	s.work.Wait()
	if s.streams.conn != nil {
		s.streams.conn.Close()
	}
	if s.streams.own != nil {
		s.streams.own.Stop()
	}
}

var errNone = errors.New("there is no such message")
