package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse/internal/base/backoff"
)

// A bell notifies the stores of other processes after commits of this one. Its
// notifications are transactions of their own, since one within a commit would keep other
// commits waiting. They are hints: a lost one delays a watch until it polls. Many commits
// share one.
type bell struct {
	rung chan struct{}
	end  context.CancelFunc
	done sync.WaitGroup
}

// restBetween bounds how many notifications are sent under load.
const restBetween = 10 * time.Millisecond

func (b *bell) start(s *Store) {
	if s.opts.NoListen || s.opts.ReadOnly {
		return
	}
	var ctx context.Context
	b.rung = make(chan struct{}, 1)
	ctx, b.end = context.WithCancel(context.Background())
	b.done.Go(func() {
		rest := time.NewTicker(restBetween)
		defer rest.Stop()
		for {
			select {
			case <-b.rung:
			case <-ctx.Done():
				return
			}
			_ = s.lend(ctx, "notify", func(ctx context.Context, c *conn) error {
				return c.exec(ctx, "SELECT pg_notify($1, '')", s.channel())
			})
			rest.Reset(restBetween)
			select {
			case <-rest.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (b *bell) ring() {
	select {
	case b.rung <- struct{}{}:
	default: // it was not received yet, or has no receiver
	}
}

func (b *bell) stop() {
	if b.end != nil {
		b.end()
	}
	b.done.Wait()
}

// channel is the name under which stores of this schema notify each other.
func (s *Store) channel() string { return s.opts.Schema }

// hear wakes watches at each notification until ctx ends. It has a connection of its own,
// and another whenever that is lost.
func (s *Store) hear(ctx context.Context, config *pgx.ConnConfig) {
	for wait := newRetries(); ; {
		err := s.hearOn(ctx, config, &wait)
		if ctx.Err() != nil || !wait.Next(ctx) {
			return
		}
		s.opts.Logger.Warn("posthouse: listening to Postgres again", "store", s.where, "err", err)
	}
}

func (s *Store) hearOn(ctx context.Context, config *pgx.ConnConfig, wait *backoff.Retries) error {
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return err
	}
	wait.Reset()
	for {
		s.news.Tell() // of what came before, too
		if _, err := c.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
