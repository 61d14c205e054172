package core

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/encryption"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// A Core is what a Ledger and its upkeep share.
type Core struct {
	Store   posthouse.Store
	Config  Config
	Observe Observing
	Logs    *threadlog.Logs
	Vault   *encryption.Vault
	IDs     IDSource
	Owners  Owners

	mu      sync.Mutex
	threads map[string]*Thread // what this process knows of each thread
	idle    *list.List         // threads that no run here holds, the last used in front
	held    *list.List         // and those that one does
	cached  int                // bytes of parts and step results that they hold
	closed  bool

	transactions sync.Pool // of *Tx

	heartbeat heartbeat
	leases    leaseCounts
	lines     waitQueues
	Cap       capCounter
}

// Limits of the memory kept between commits; beyond them, more is read back.
const (
	maxThreads     = 4096      // threads that no run here holds; each one that a run holds takes about 2 KB more
	maxMemory      = 256 << 20 // bytes of states and step results, over all threads
	maxCached      = 1 << 20   // bytes of one part
	maxRecent      = 256       // step results of a branch since its head
	maxRecentBytes = 16 << 20  // and their bytes
)

// New returns the core of a Ledger over the store.
func New(store posthouse.Store, c Config) *Core {
	l := &Core{Store: store, Config: c, Observe: Observing{c.Observer, c.Logger}, threads: map[string]*Thread{}, idle: list.New(), held: list.New()}
	l.Vault = encryption.NewVault(store, c.Cipher, c.Now, c.MaxState)
	l.Logs = &threadlog.Logs{Store: store, Vault: l.Vault}
	l.Owners.core = l
	if l.Config.Owner == "" {
		l.Config.Owner = string(l.NewID())
	}
	return l
}

// Now returns the time.
func (c *Core) Now() time.Time { return c.Config.Now() }

// NewID returns a new UUIDv7; ids of one Ledger ascend strictly.
func (c *Core) NewID() posthouse.ID { return c.IDs.New(c.Config.Now()) }

// Close makes later commits fail with [posthouse.ErrClosed].
func (c *Core) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.heartbeat.stop()
	if r := c.runs(); r != nil {
		r.GiveAll(c)
	}
	clear(c.threads)
	c.idle, c.held, c.cached = list.New(), list.New(), 0
	return nil
}

// A Thread is what the Ledger knows of a thread between commits. It is a cache of what
// was read from or written to the store. Each append is conditional on it, so that
// stale content never leads to a wrong entry.
type Thread struct {
	mu            sync.Mutex
	Name          string
	Info          *posthouse.ThreadInfo // nil: not loaded; changed in place by an append
	Heads         map[string]*Head      // by branch, loaded as needed
	Claim         *Claim                // a run of this process that has the thread
	lastGateEntry *threadlog.ReadEntry  // the entry of the gate decided last, if it has more gates that wait
	lastSignedAt  time.Time             // when the thread's newest signature was made, or its log begun

	unfinished map[string]*threadlog.Unfinished // by branch: checks itself, so that it outlives Info and Heads

	evicted bool          // no longer among the Core's threads
	counted int           // what of Core.cached is its own
	element *list.Element // in Core.idle or held
	held    bool          // in which; changed under both locks
}

// A Head is a branch's newest checkpoint, with what the next one is encoded against.
type Head struct {
	posthouse.Header
	Parts    []threadlog.PartState // in the order they first appeared
	manifest uint64                // sequence of the newest manifest
	age      int                   // checkpoints since
	recent   []threadlog.Result    // newest step results recorded since this checkpoint
	cached   int                   // bytes that parts and recent hold
}

func (h *Head) count() {
	h.cached = 0
	for i := range h.Parts {
		h.cached += len(h.Parts[i].Data)
	}
	for i := range h.recent {
		h.cached += len(h.recent[i].Data)
	}
}

// record notes results, and drops the oldest beyond what is worth keeping.
func (h *Head) record(rs ...threadlog.Result) {
	all := append(h.recent, rs...)
	h.recent = newest(all)
	if len(h.recent) < len(all) {
		h.recent = slices.Clone(h.recent)
	}
	h.count()
}

// newest returns those of rs that are worth keeping.
func newest(rs []threadlog.Result) []threadlog.Result {
	size := 0
	for i := len(rs) - 1; i >= 0; i-- {
		if size += len(rs[i].Data); size > maxRecentBytes || len(rs)-i > maxRecent {
			return rs[i+1:]
		}
	}
	return rs
}

// Load brings t.Info up to date with what this process knows. Callers hold t.mu.
func (c *Core) Load(ctx context.Context, t *Thread) error {
	if t.Info != nil {
		return nil
	}
	return c.reload(ctx, t)
}

func (c *Core) reload(ctx context.Context, t *Thread) error {
	info, err := readSummary(ctx, c.Store, t.Name)
	if err != nil {
		return err
	}
	if info == nil {
		info = &posthouse.ThreadInfo{Thread: t.Name}
	}
	t.Info, t.Heads = info, map[string]*Head{}
	t.notifyCancelled()
	return nil
}

// readSummary reads a thread's summary, nil if there is no such thread.
func readSummary(ctx context.Context, s posthouse.Store, thread string) (info *posthouse.ThreadInfo, err error) {
	s.Threads(ctx, posthouse.ThreadQuery{Thread: thread})(func(found *posthouse.ThreadInfo, failed error) bool {
		info, err = found, failed
		return false
	})
	if err == nil && info != nil && info.Dated {
		err = recall(ctx, s, info)
	}
	return info, err
}

// recall completes a summary of an earlier version, so that the next entry's is complete.
func recall(ctx context.Context, s posthouse.Store, info *posthouse.ThreadInfo) error {
	for e, err := range s.Read(ctx, info.Thread, posthouse.Range{From: info.First, To: info.Tail.Seq, Headers: true}) {
		if err != nil {
			return err
		}
		records, err := e.Records()
		if err != nil {
			return err
		}
		info.Recall(e.Seq, records)
	}
	info.Dated = false
	return nil
}

// refresh reads t.Info from the store. The cached heads stay if no other process has
// appended since.
func (c *Core) refresh(ctx context.Context, t *Thread) error {
	known, heads := t.Info, t.Heads
	t.Invalidate()
	if err := c.reload(ctx, t); err != nil {
		return err
	}
	if known != nil && t.Info.Tail == known.Tail {
		t.Heads = heads
	}
	return nil
}

// Invalidate drops what is known of a thread, after a conflict or an unknown outcome.
func (t *Thread) Invalidate() { t.Info, t.Heads, t.lastGateEntry = nil, nil, nil }
