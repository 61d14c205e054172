package redisstore

import (
	"context"
	"sync"

	"github.com/redis/rueidis"
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

// A listener is subscribed to the messages of appends while there are watches.
type listener struct {
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
	if l.watches++; l.watches > 1 || l.stopped {
		return
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	l.done.Go(func() { s.hear(ctx) })
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

// stop ends the subscription and waits for that.
func (l *listener) stop() {
	l.mu.Lock()
	if l.stopped = true; l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
	l.mu.Unlock()
	l.done.Wait()
}

// hear wakes watches at each message until ctx ends. It subscribes again whenever the
// connection is lost.
func (s *Store) hear(ctx context.Context) {
	for wait := newRetries(); ; {
		err := s.client.Receive(ctx, s.client.B().Subscribe().Channel(s.prefix+"news").Build(), func(rueidis.PubSubMessage) {
			wait.Reset()
			s.news.tell()
		})
		if ctx.Err() != nil || !wait.Next(ctx) {
			return
		}
		s.opts.Logger.Warn("posthouse: listening to Redis again", "store", s.where, "err", err)
	}
}
