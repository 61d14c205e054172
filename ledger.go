package posthouse

import (
	"context"
	"sync"
	"time"
)

// A Ledger is what programs and people use: it gives a [Store] ids, deltas,
// hashes, signatures, conditional commits, gates, forks and events. It is safe
// for concurrent use; commits of different threads run at once.
type Ledger struct {
	store Store
	opt   Options
	ids   idSource

	mu      sync.Mutex
	threads map[string]*thread // what this process knows of each thread
	order   []string           // of threads, oldest first, for letting go
	closed  bool

	owners   ownerWatch
	retained retention
}

// maxThreads is how many threads' tails are kept in memory, maxCached how many
// bytes of a thread's state.
const (
	maxThreads = 4096
	maxCached  = 1 << 20
)

// Open returns a Ledger over the store. The store stays the caller's: Close
// does not close it.
func Open(store Store, o *Options) (*Ledger, error) {
	if store == nil {
		return nil, invalid("store", "is nil")
	}
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Ledger{store: store, opt: opt, threads: map[string]*thread{}}
	if l.opt.Owner == "" {
		l.opt.Owner = string(l.NewID())
	}
	return l, nil
}

// Store returns the store below.
func (l *Ledger) Store() Store { return l.store }

// Owner returns this process's name in leases.
func (l *Ledger) Owner() string { return l.opt.Owner }

// Now returns the Ledger's time.
func (l *Ledger) Now() time.Time { return l.opt.Now() }

// NewID returns a new UUIDv7; ids of one Ledger ascend strictly.
func (l *Ledger) NewID() ID { return l.ids.new(l.opt.Now()) }

// Close makes later commits fail with [ErrClosed]. It waits for nothing, since
// nothing is buffered, and leaves the store open.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	clear(l.threads)
	return nil
}

// A thread is what the Ledger knows of a thread between commits. It is a
// cache: whatever it holds was read from or written to the store, and each
// append is conditional on its being current.
type thread struct {
	mu    sync.Mutex
	name  string
	info  *ThreadInfo      // nil: not loaded
	heads map[string]*head // by branch, loaded as needed
	claim *Claim           // a run of this process that has the thread
	since time.Time        // when the thread's newest signature was made, or its log begun
}

// A head is a branch's newest checkpoint with what the next one is encoded
// against.
type head struct {
	Header
	parts    []partState // in the order they first appeared
	manifest uint64      // sequence of the newest manifest
	age      int         // checkpoints since
	recent   []recent    // step results recorded since this checkpoint
}

// A recent step result may turn up again in the next checkpoint's state.
type recent struct {
	seq    uint64
	record int
	data   []byte
}

func (l *Ledger) thread(name string) (*thread, error) {
	if err := validateName("thread", name); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, &Error{Code: CodeClosed, Message: "the ledger is closed"}
	}
	if t := l.threads[name]; t != nil {
		return t, nil
	}
	if len(l.order) >= maxThreads {
		l.letGo()
	}
	t := &thread{name: name}
	l.threads[name] = t
	l.order = append(l.order, name)
	return t, nil
}

// letGo drops the older half of the threads that nothing is using. A caller
// that still holds one merely works on a cache of its own.
func (l *Ledger) letGo() {
	var kept []string
	for i, name := range l.order {
		t := l.threads[name]
		if i >= len(l.order)/2 || !t.mu.TryLock() {
			kept = append(kept, name)
			continue
		}
		if t.claim != nil {
			kept = append(kept, name)
		} else {
			delete(l.threads, name)
		}
		t.mu.Unlock()
	}
	l.order = kept
}

// load makes t.info current as far as this process knows. Callers hold t.mu.
func (l *Ledger) load(ctx context.Context, t *thread) error {
	if t.info != nil {
		return nil
	}
	return l.reload(ctx, t)
}

func (l *Ledger) reload(ctx context.Context, t *thread) error {
	info := &ThreadInfo{Thread: t.name}
	for found, err := range l.store.Threads(ctx, ThreadQuery{Thread: t.name}) {
		if err != nil {
			return err
		}
		info = found
	}
	t.info, t.heads = info, map[string]*head{}
	return nil
}

// forget drops what is known, after a conflict or an unknown outcome.
func (t *thread) forget() { t.info, t.heads = nil, nil }
