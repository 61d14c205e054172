package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse/internal/backoff"
)

// news wakes the watches of this store.
type news struct {
	mu     sync.Mutex
	ch     chan struct{} // closed at the next event; nil while nobody waits
	closed bool
}

func (n *news) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch == nil {
		n.ch = make(chan struct{})
		if n.closed {
			close(n.ch)
		}
	}
	return n.ch
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch != nil && !n.closed {
		close(n.ch)
		n.ch = nil
	}
}

// close wakes all watches, which then find the store closed.
func (n *news) close() {
	n.tell()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed, n.ch = true, nil
}

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
	default: // it has not been heard yet, or nobody is to hear it
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

// A listener has a connection of its own that listens while there are watches.
type listener struct {
	config *pgx.ConnConfig

	mu      sync.Mutex
	watches int
	stopped bool
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// begin counts one more watch.
func (l *listener) begin(s *Store) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches++; l.watches > 1 || l.stopped || s.opts.NoListen {
		return
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	l.done.Go(func() { l.run(ctx, s) })
}

// end counts one watch less.
func (l *listener) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches--; l.watches == 0 && l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// stop ends the connection and waits for that.
func (l *listener) stop() {
	l.mu.Lock()
	if l.stopped = true; l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
	l.mu.Unlock()
	l.done.Wait()
}

// run listens until ctx ends, on another connection whenever one is lost.
func (l *listener) run(ctx context.Context, s *Store) {
	for wait := newRetries(); ; {
		err := l.listen(ctx, s, &wait)
		if ctx.Err() != nil || !wait.Next(ctx) {
			return
		}
		s.opts.Logger.Warn("posthouse: listening to Postgres again", "store", s.where, "err", err)
	}
}

func (l *listener) listen(ctx context.Context, s *Store, wait *backoff.Retries) error {
	c, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return err
	}
	wait.Reset()
	for {
		s.news.tell() // of what came before, too
		if _, err := c.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}
