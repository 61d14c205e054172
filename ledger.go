package posthouse

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/delta"
)

// A Ledger is what programs and people use: it gives a [Store] ids, deltas,
// hashes, signatures, conditional commits, gates, forks and events. It is safe
// for concurrent use; commits of different threads run at once.
type Ledger struct{ *Core }

// A Core is what a Ledger and its upkeep share.
type Core struct {
	store Store
	opt   Options
	ids   idSource

	mu      sync.Mutex
	threads map[string]*thread // what this process knows of each thread
	idle    *list.List         // those of them that no run here holds, used last in front
	held    *list.List         // and those that one does
	cached  int                // bytes of parts and step results that they hold
	closed  bool

	appendings sync.Pool // of *appending

	owners     ownerWatch
	pulse      pulse
	lines      lines
	keys       dataKeys
	encryption encryptionGuard
	packer     delta.Packer // of bodies that are sealed
	retained   retention
}

// What is kept in memory between commits; beyond it, more is read back.
const (
	maxThreads     = 4096      // threads that no run here holds; for each that one does, about 2 KB are kept beside
	maxMemory      = 256 << 20 // bytes of state and step results, over all threads, held or not
	maxCached      = 1 << 20   // bytes of one part
	maxRecent      = 256       // step results of a branch since its head
	maxRecentBytes = 16 << 20  // and their bytes
)

// Open returns a Ledger over the store. The store stays the caller's: Close
// does not close it. [ErrInvalid] for no store, and for options out of range.
func Open(store Store, o *Options) (*Ledger, error) {
	if store == nil {
		return nil, invalid("store", "is nil")
	}
	opt, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Core{store: store, opt: opt, threads: map[string]*thread{}, idle: list.New(), held: list.New()}
	if l.opt.Owner == "" {
		l.opt.Owner = string(l.NewID())
	}
	return &Ledger{l}, nil
}

// Store returns the store below.
func (l *Core) Store() Store { return l.store }

// Owner returns this process's name in leases.
func (l *Core) Owner() string { return l.opt.Owner }

// Now returns the Ledger's time.
func (l *Core) Now() time.Time { return l.opt.Now() }

// NewID returns a new UUIDv7; ids of one Ledger ascend strictly.
func (l *Core) NewID() ID { return l.ids.new(l.opt.Now()) }

// Close makes later commits fail with [ErrClosed]. It waits for nothing, since
// nothing is buffered, and leaves the store open.
func (l *Core) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.pulse.stop()
	if r := l.runs(); r != nil {
		r.giveAll(l)
	}
	clear(l.threads)
	l.idle, l.held, l.cached = list.New(), list.New(), 0
	return nil
}

// A thread is what the Ledger knows of a thread between commits. It is a
// cache: whatever it holds was read from or written to the store, and each
// append is conditional on its being current.
type thread struct {
	mu    sync.Mutex
	name  string
	info  *ThreadInfo      // nil: not loaded; changed in place by an append
	heads map[string]*head // by branch, loaded as needed
	claim *Claim           // a run of this process that has the thread
	asks  *readEntry       // the entry of the gate decided last, if more of its gates wait
	since time.Time        // when the thread's newest signature was made, or its log begun

	gone    bool          // let go: no longer among the Ledger's threads
	counted int           // what of Ledger.cached is its own
	place   *list.Element // in Ledger.idle or held
	held    bool          // in which; changed under both locks
}

// A head is a branch's newest checkpoint with what the next one is encoded
// against.
type head struct {
	Header
	parts    []partState // in the order they first appeared
	manifest uint64      // sequence of the newest manifest
	age      int         // checkpoints since
	recent   []recent    // newest step results recorded since this checkpoint
	cached   int         // bytes that parts and recent hold
}

// count brings cached up to date.
func (h *head) count() {
	h.cached = 0
	for i := range h.parts {
		h.cached += len(h.parts[i].data)
	}
	for i := range h.recent {
		h.cached += len(h.recent[i].data)
	}
}

// record notes results, and lets go of the oldest beyond what is worth keeping.
func (h *head) record(rs ...recent) {
	all := append(h.recent, rs...)
	if h.recent = newest(all); len(h.recent) < len(all) {
		h.recent = slices.Clone(h.recent)
	}
	h.count()
}

// newest returns those of rs that are worth keeping.
func newest(rs []recent) []recent {
	size := 0
	for i := len(rs) - 1; i >= 0; i-- {
		if size += len(rs[i].data); size > maxRecentBytes || len(rs)-i > maxRecent {
			return rs[i+1:]
		}
	}
	return rs
}

// A recent step result may turn up again in the next checkpoint's state.
type recent struct {
	seq    uint64
	record int
	data   []byte
}

// load makes t.info current as far as this process knows. Callers hold t.mu.
func (l *Core) load(ctx context.Context, t *thread) error {
	if t.info != nil {
		return nil
	}
	return l.reload(ctx, t)
}

func (l *Core) reload(ctx context.Context, t *thread) error {
	info := &ThreadInfo{Thread: t.name}
	for found, err := range l.store.Threads(ctx, ThreadQuery{Thread: t.name}) {
		if err != nil {
			return err
		}
		info = found
	}
	t.info, t.heads = info, map[string]*head{}
	t.tell()
	return nil
}

// refresh makes t.info current as the store has it. What is known of the heads
// stays if nobody has appended since.
func (l *Core) refresh(ctx context.Context, t *thread) error {
	known, heads := t.info, t.heads
	t.forget()
	if err := l.reload(ctx, t); err != nil {
		return err
	}
	if known != nil && t.info.Tail == known.Tail {
		t.heads = heads
	}
	return nil
}

// forget drops what is known, after a conflict or an unknown outcome.
func (t *thread) forget() { t.info, t.heads, t.asks = nil, nil, nil }
