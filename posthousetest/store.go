package posthousetest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/memstore"
)

// A world is what outlives each process: the store, and every entry in the order of its append.
type world struct {
	below *memstore.Store

	mu   sync.Mutex
	logs map[string][]*posthouse.Batch
}

func newWorld(below *memstore.Store) *world {
	return &world{below: below, logs: map[string][]*posthouse.Batch{}}
}

// keep notes an entry that was appended.
func (w *world) keep(b *posthouse.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs[b.Entry.Thread] = append(w.logs[b.Entry.Thread], cloneBatch(b))
}

// log returns a thread's entries.
func (w *world) log(thread string) []*posthouse.Batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.logs[thread])
}

// cloneBatch copies what its maker may use again.
func cloneBatch(b *posthouse.Batch) *posthouse.Batch {
	c := *b
	e := *b.Entry
	e.Header, e.Sig = slices.Clone(e.Header), slices.Clone(e.Sig)
	e.Bodies = slices.Clone(e.Bodies)
	for i := range e.Bodies {
		e.Bodies[i] = slices.Clone(e.Bodies[i])
	}
	c.Entry, c.IDs, c.Drop = &e, slices.Clone(b.IDs), slices.Clone(b.Drop)
	if b.Thread != nil {
		t := *b.Thread
		t.Branches, t.Waiting, t.Signals, t.Taken = slices.Clone(t.Branches), slices.Clone(t.Waiting), slices.Clone(t.Signals), slices.Clone(t.Taken)
		t.Cancelling, t.Births, t.Begun, t.Labels = slices.Clone(t.Cancelling), slices.Clone(t.Births), slices.Clone(t.Begun), maps.Clone(t.Labels)
		c.Thread = &t
	}
	return &c
}

// A store is one process's way to what is on record: it can be lost at an append. Nothing that
// the process does after that reaches the store below.
type store struct {
	*memstore.Store
	env     *Env
	running *posthouse.Running

	mu    sync.Mutex
	alive func() // ends the work of the process; nil while it moves nothing
	dead  bool
}

// count has each append until over is called count as the programs' own. lost is called when the
// process is lost.
func (s *store) count(lost func()) (over func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = lost
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.alive = nil
	}
}

func (s *store) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}

var errGone = &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the process was killed by the test"}

// Append implements [posthouse.Store].
func (s *store) Append(ctx context.Context, b *posthouse.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errGone
	}
	dies, made := false, true
	if s.alive != nil {
		dies, made = s.env.kill.meets(b.Entry)
	}
	if made {
		if err := s.Store.Append(ctx, b); err != nil {
			return err
		}
		s.env.world.keep(b)
	}
	if dies {
		s.dead = true
		s.alive()
		return errGone
	}
	return nil
}

// AppendAll implements [posthouse.BulkAppender]. Programs do not call it: only copies and imports do.
func (s *store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return errGone
	}
	if err := s.Store.AppendAll(ctx, bs); err != nil {
		return err
	}
	for _, b := range bs {
		s.env.world.keep(b)
	}
	return nil
}

// Slot implements [posthouse.Store].
func (s *store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if s.isDead() && op.Verb != posthouse.SlotGet {
		return posthouse.Slot{}, errGone
	}
	return s.Store.Slot(ctx, key, op)
}

// Exclusive implements [posthouse.Excluder]: what a killed process had is free at once.
func (s *store) Exclusive() bool { return true }

// Runs implements [posthouse.Excluder].
func (s *store) Runs() *posthouse.Running { return s.running }

// Close leaves the store below open for the next process.
func (s *store) Close() error { return nil }
