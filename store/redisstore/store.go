package redisstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
	"github.com/posthouse/posthouse/store/internal/wake"
	"github.com/posthouse/posthouse/store/redisstore/internal/redis"
)

// A Store keeps threads in one database of a Redis server, under keys with one prefix.
// Besides [posthouse.Store] it is a Watcher, Checker, SlotLister and BulkAppender. Any
// number of Stores, in any number of processes, may use the same prefix.
type Store struct {
	opts   Options
	where  string // the server's address, for messages
	prefix string // of all keys, with their hash tag
	client *redis.Client
	life   string // in cursors: commit numbers of another store start at 1 again

	news   wake.News
	listen wake.Listener

	lifecycle lifecycle.State
}

var (
	_ posthouse.Store        = (*Store)(nil)
	_ posthouse.Watcher      = (*Store)(nil)
	_ posthouse.Checker      = (*Store)(nil)
	_ posthouse.SlotLister   = (*Store)(nil)
	_ posthouse.BulkAppender = (*Store)(nil)
)

// Open connects to the server that a URL names, redis://user:password@host:port/database,
// or rediss: for TLS. It fails with [posthouse.ErrUnsupported] on a cluster, and on a
// server with settings that lose acknowledged writes, unless Options.AllowWeak is set;
// with [posthouse.ErrReadOnly] on a replica; with [posthouse.ErrNewer] if a newer version
// has written the store.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	opts := o.withDefaults()
	cfg, err := opts.configure(url)
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, where: cfg.Addr, prefix: "{" + opts.Prefix + "}:"}
	s.lifecycle = lifecycle.State{Store: "the store in " + s.where, ReadOnly: opts.ReadOnly, Writer: "a process"}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.client, err = redis.Open(ctx, cfg)
	if err != nil {
		return nil, away.Read(s.wrap("connect", err))
	}
	if err := s.setUp(ctx); err != nil {
		s.client.Close()
		return nil, away.Read(err)
	}
	s.listen.Listen = s.hear
	return s, nil
}

// format is the number of the layout of keys and values. Since 2 slots have checksums.
// Opening for writing raises the number, so that a program that knows only 1 is refused.
const format = 2

// setUp refuses an unsafe server, and makes the store or finds it.
func (s *Store) setUp(ctx context.Context) error {
	if err := s.judge(ctx); err != nil {
		return err
	}
	life := ""
	if !s.opts.ReadOnly {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
		life = hex.EncodeToString(b[:])
	}
	r, err := s.ask(ctx, "open the store", openScript, strconv.Itoa(format), life)
	if err != nil {
		return err
	}
	have, err := r[0].Int()
	switch {
	case r[0].IsNil() && s.opts.ReadOnly:
		return posthouse.NotFound("store in "+s.where+" with the prefix", s.opts.Prefix)
	case err != nil || have < 1:
		return posthouse.Corrupt("the store in %s does not say its format", s.where)
	case have > format:
		return &posthouse.Error{
			Code: posthouse.CodeNewer, Message: fmt.Sprintf("the store in %s has format %d; this program knows formats up to %d", s.where, have, format),
			Hint: "use that version or a newer one; nothing was changed",
		}
	}
	s.life, err = r[1].Text()
	return s.wrap("open the store", err)
}

// Close waits for calls in progress and closes the connections. Acknowledged writes are
// durable without it. A second call returns nil.
func (s *Store) Close() error {
	if !s.lifecycle.Close() {
		return nil
	}
	s.listen.Stop()
	s.news.Close()
	s.client.Close()
	return nil
}
