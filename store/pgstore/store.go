package pgstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/lists"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
	"github.com/posthouse/posthouse/store/internal/wake"
	"github.com/posthouse/posthouse/store/pgstore/internal/recent"
)

// A Store keeps threads in one schema of a Postgres database. Besides [posthouse.Store]
// it is a Watcher, Checker, SlotLister, BulkAppender, BulkReader and Weaker. Any number of Stores, in any
// number of processes, may use the same schema.
type Store struct {
	opts  Options
	where string // host and database, for messages
	pool  *pgxpool.Pool
	texts sync.Map // SQL as it is written here, and with the schema's name in it
	era   int64

	lanes      [lanes]lane
	seed       maphash.Seed // picks a thread's lane
	requests   sync.Pool    // of *request
	slots      recent.Map[posthouse.SlotKey, slotRow]
	unprepared bool // the URL or Options.Pooler say that no statement is prepared
	news       wake.News
	bell       bell
	listen     wake.Listener

	lifecycle lifecycle.State
}

var (
	_ posthouse.Store        = (*Store)(nil)
	_ posthouse.Watcher      = (*Store)(nil)
	_ posthouse.Checker      = (*Store)(nil)
	_ posthouse.SlotLister   = (*Store)(nil)
	_ posthouse.BulkAppender = (*Store)(nil)
	_ lists.BulkReader       = (*Store)(nil)
	_ posthouse.Weaker       = (*Store)(nil)
)

// Open connects to the database that a URL names, and makes the schema or brings it up to
// date. Many may do so at once. The URL is postgres://user:password@host/database, or
// anything that libpq takes. Open fails with [posthouse.ErrNewer] if a newer version has
// changed the schema, which it leaves as it is. It fails with [posthouse.ErrUnsupported]
// on a server with settings that lose acknowledged writes, unless Options.AllowWeak is
// set.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	opts := o.withDefaults()
	cfg, err := opts.configure(url)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, where: fmt.Sprintf("%s/%s", cfg.ConnConfig.Host, cfg.ConnConfig.Database)}
	s.lifecycle = lifecycle.State{
		Store: "the store " + s.where, ReadOnly: opts.ReadOnly, Writer: "a process",
		Poisoned: "since its server reported damage", Cure: "check the server, then open the store again and run posthouse verify",
	}
	s.unprepared = cfg.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement || cfg.ConnConfig.StatementCacheCapacity == 0
	if !opts.Pooler {
		cfg.AfterConnect = s.prepare
	}
	s.pool, err = pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, away.Read(s.wrap("connect", err))
	}
	if err := s.setUp(ctx); err != nil {
		s.pool.Close()
		return nil, away.Read(err)
	}
	s.seed = maphash.MakeSeed()
	s.requests.New = func() any { return &request{} }
	for i := range s.lanes {
		l := &s.lanes[i]
		l.Queue = groupcommit.New(maxGroupCost, (*request).cost, func(group []*groupcommit.Call[*request]) { s.commit(l, group) })
	}
	s.bell.start(s)
	if !opts.NoListen {
		s.listen.Listen = func(ctx context.Context) { s.hear(ctx, cfg.ConnConfig) }
	}
	return s, nil
}

// setUp refuses an unsafe server and migrates the schema. Then it makes sure that the
// numbers by which entries are watched go on ascending.
func (s *Store) setUp(ctx context.Context) error {
	if err := s.lend(ctx, "connect", s.judgeServer); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	return s.rewind(ctx)
}

// Close waits for calls in progress and closes the connections. Acknowledged writes are
// durable without it. A second call returns nil.
func (s *Store) Close() error {
	if !s.lifecycle.Close() {
		return nil
	}
	s.news.Close()
	s.listen.Stop()
	s.bell.stop()
	// It waits for the groups that are being committed. All queued requests, these
	// included, fail since the store is closed.
	for i := range s.lanes {
		_ = s.lanes[i].Do(context.Background(), &request{})
	}
	s.pool.Close()
	return nil
}
