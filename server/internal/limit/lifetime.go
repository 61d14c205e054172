package limit

import (
	"context"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A Lifetime is the time from a server's start to the end of Close. Close waits for all that
// was entered or started before it.
type Lifetime struct {
	ctx     context.Context // ends with the begin of Close
	stop    context.CancelFunc
	work    context.Context // ends with the context of Close
	abandon context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// NewLifetime begins a lifetime.
func NewLifetime() *Lifetime {
	l := &Lifetime{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.work, l.abandon = context.WithCancel(context.Background())
	return l
}

// Context ends when Close begins: what only waits, such as a stream, ends with it.
func (l *Lifetime) Context() context.Context { return l.ctx }

// Work ends when the time that Close was given is over: what an agent works on ends with it.
func (l *Lifetime) Work() context.Context { return l.work }

// Enter begins something that Close waits for. leave says that it is over. Once the server is
// closed it fails: [posthouse.ErrClosed].
func (l *Lifetime) Enter() (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "the server is shutting down", Hint: "try again in a moment"}
	}
	l.running.Add(1)
	return l.running.Done, nil
}

// Go runs fn in a goroutine that Close waits for. It does nothing once the server is closed.
func (l *Lifetime) Go(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.running.Go(fn)
	}
}

// Close ends Context, lets nothing more enter, and waits for what runs. When ctx ends it ends
// Work, too, and returns the error of ctx once all has returned.
func (l *Lifetime) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	stop := context.AfterFunc(ctx, l.abandon)
	defer stop()
	l.Wait()
	l.abandon()
	return ctx.Err()
}

// Wait returns once nothing runs any more.
func (l *Lifetime) Wait() { l.running.Wait() }

// Bound returns a context that ends with ctx and with the server's Context.
func (l *Lifetime) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, l.endWithContext(cancel)
}

func (l *Lifetime) endWithContext(cancel context.CancelFunc) context.CancelFunc {
	stop := context.AfterFunc(l.ctx, cancel)
	return func() { stop(); cancel() }
}

// An AnswerTimeout bounds how long an answer waits for the outcome of work. The work goes on
// after it.
type AnswerTimeout struct {
	Wait time.Duration
	Life *Lifetime // a server that closes waits no longer
}

// Bound returns a context that ends with ctx, with the server, or when Wait is over.
func (t *AnswerTimeout) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, t.Wait)
	return ctx, t.Life.endWithContext(cancel)
}
