package wake

import (
	"context"
	"sync"
)

// A Listener listens to what other processes commit, while there are watches.
type Listener struct {
	// Listen runs from the first watch until ctx ends, which is after the last one. It is
	// set before the first watch; with nil, watches have to poll.
	Listen func(ctx context.Context)

	mu      sync.Mutex
	watches int
	stopped bool
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// Begin counts one more watch.
func (l *Listener) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches++; l.watches > 1 || l.stopped || l.Listen == nil {
		return
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	l.done.Go(func() { l.Listen(ctx) })
}

// End counts one watch less.
func (l *Listener) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watches--; l.watches == 0 {
		l.end()
	}
}

// Stop ends listening for good, and returns when Listen has.
func (l *Listener) Stop() {
	l.mu.Lock()
	l.stopped = true
	l.end()
	l.mu.Unlock()
	l.done.Wait()
}

func (l *Listener) end() {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}
