package model

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// A Store is a reference implementation of [posthouse.Store] without any index: it reads
// all its data for each answer. Its data is open, for tests that spoil it.
type Store struct {
	mu      sync.Mutex
	Closed  bool
	Logs    []*Log
	IDs     []ID
	Slotted map[posthouse.SlotKey]*Slot
}

// A Log is a thread with its summary.
type Log struct {
	Info    *posthouse.ThreadInfo
	Entries []*posthouse.Entry
}

// An ID is where an id leads.
type ID struct {
	ID     posthouse.ID
	Ref    posthouse.Ref
	Header *posthouse.Header // nil for a gate
}

// A Slot keeps its revision and its fence after a delete.
type Slot struct {
	posthouse.Slot
	There bool
}

// New returns an empty store.
func New() *Store { return &Store{Slotted: map[posthouse.SlotKey]*Slot{}} }

func (m *Store) usable(ctx context.Context) error {
	if m.Closed {
		return posthouse.ErrClosed
	}
	return ctx.Err()
}

// Log returns a thread, nil if it is not there.
func (m *Store) Log(name string) *Log {
	for _, t := range m.Logs {
		if t.Info.Thread == name {
			return t
		}
	}
	return nil
}

// Append implements [posthouse.Store].
func (m *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	return m.append(b)
}

// AppendAll implements [posthouse.BulkAppender].
func (m *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	if len(bs) > posthouse.MaxBulk {
		return posthouse.TooMany("batches", len(bs), posthouse.MaxBulk, "append fewer at a time")
	}
	for i := 1; i < len(bs); i++ {
		if bs[i].Entry.Thread != bs[0].Entry.Thread || bs[i].After != bs[i-1].Thread.Tail {
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "batches", Message: "do not follow each other"}
		}
	}
	threads, ids := slices.Clone(m.Logs), slices.Clone(m.IDs)
	var was Log
	if len(bs) > 0 {
		if t := m.Log(bs[0].Entry.Thread); t != nil {
			was = *t
		}
	}
	for _, b := range bs {
		if err := m.append(b); err != nil {
			if t := m.Log(b.Entry.Thread); t != nil {
				*t = was
			}
			m.Logs, m.IDs = threads, ids
			return err
		}
	}
	return nil
}

// again answers an append of what is there already.
func again(b *posthouse.Batch, t *Log) error {
	if tail := t.Info.Tail; b.First {
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "the entry is there already", Tail: &tail}
	}
	return nil
}

func (m *Store) append(b *posthouse.Batch) error {
	if b.Entry.Seq != b.After.Seq+1 && !(b.Copy && b.Entry.Seq > b.After.Seq) {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "seq", Message: "does not follow"}
	}
	t := m.Log(b.Entry.Thread)
	if t == nil {
		t = &Log{Info: &posthouse.ThreadInfo{}}
	}
	for _, e := range t.Entries {
		if e.Seq == b.Entry.Seq && e.Hash == b.Entry.Hash {
			return again(b, t)
		}
	}
	if t.Info.Tail == b.Thread.Tail {
		return again(b, t)
	}
	if tail := t.Info.Tail; tail != b.After {
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "the log has moved on", Tail: &tail}
	}
	for _, id := range b.IDs {
		for _, have := range m.IDs {
			if have.ID == id.ID && (have.Ref.Thread != b.Entry.Thread || !id.Replace) {
				return &posthouse.Error{Code: posthouse.CodeExists, Message: fmt.Sprintf("%q is taken", id.ID)}
			}
		}
	}
	for _, id := range b.Drop {
		m.Unindex(func(have ID) bool { return have.ID == id && have.Ref.Thread == b.Entry.Thread })
	}
	hs, err := b.Entry.Checkpoints()
	if err != nil {
		return err
	}
	for _, id := range b.IDs {
		m.Unindex(func(have ID) bool { return have.ID == id.ID })
		at := ID{ID: id.ID, Ref: posthouse.Ref{Thread: b.Entry.Thread, Seq: b.Entry.Seq}}
		if i := slices.IndexFunc(hs, func(h posthouse.Header) bool { return h.ID == id.ID }); i >= 0 {
			at.Header = &hs[i]
		}
		m.IDs = append(m.IDs, at)
	}
	if t.Info.Tail.Seq == 0 {
		m.Logs = append(m.Logs, t)
	}
	t.Entries = append(t.Entries, CloneEntry(b.Entry))
	t.Info = CloneThread(b.Thread)
	return nil
}

// Unindex makes ids lead nowhere.
func (m *Store) Unindex(gone func(ID) bool) { m.IDs = slices.DeleteFunc(m.IDs, gone) }

// answer yields copies of what a query selects.
func answer[V any](ctx context.Context, m *Store, clone func(V) V, choose func() ([]V, error)) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		m.mu.Lock()
		err := m.usable(ctx)
		var vs []V
		if err == nil {
			vs, err = choose()
		}
		for i := range vs {
			vs[i] = clone(vs[i])
		}
		m.mu.Unlock()
		for _, v := range vs {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var none V
			yield(none, err)
		}
	}
}

// Read implements [posthouse.Store].
func (m *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return answer(ctx, m, CloneEntry, func() ([]*posthouse.Entry, error) {
		if t := m.Log(thread); t != nil {
			return Entries(t.Entries, r), nil
		}
		return nil, nil
	})
}

// ReadAll implements [lists.BulkReader].
func (m *Store) ReadAll(ctx context.Context, refs []posthouse.Ref, headers bool) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for _, r := range refs {
			for e, err := range m.Read(ctx, r.Thread, posthouse.Range{Seqs: []uint64{r.Seq}, Headers: headers}) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// Find implements [posthouse.Store].
func (m *Store) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return posthouse.Ref{}, err
	}
	for _, have := range m.IDs {
		if have.ID == id {
			return have.Ref, nil
		}
	}
	return posthouse.Ref{}, posthouse.ErrNotFound
}

// List implements [posthouse.Store].
func (m *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	clone := func(h *posthouse.Header) *posthouse.Header {
		return &(&posthouse.Checkpoint{Header: *h}).Clone().Header
	}
	return answer(ctx, m, clone, func() ([]*posthouse.Header, error) {
		if q.After != "" {
			if _, _, err := posthouse.ParseCursor(q.After); err != nil {
				return nil, err
			}
		}
		var hs []*posthouse.Header
		for _, have := range m.IDs {
			if have.Header != nil {
				hs = append(hs, have.Header)
			}
		}
		return Headers(hs, q), nil
	})
}

// Threads implements [posthouse.Store].
func (m *Store) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return answer(ctx, m, CloneThread, func() ([]*posthouse.ThreadInfo, error) {
		if _, err := lists.Follows(&q, &posthouse.ThreadInfo{}); err != nil {
			return nil, err
		}
		var infos []*posthouse.ThreadInfo
		for _, t := range m.Logs {
			infos = append(infos, t.Info)
		}
		return Threads(infos, q), nil
	})
}

// Slot implements [posthouse.Store].
func (m *Store) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return posthouse.Slot{}, err
	}
	s := m.Slotted[key]
	if s == nil {
		s = &Slot{}
	}
	revision := uint64(0)
	if s.There {
		revision = s.Revision
	}
	switch {
	case op.Verb == posthouse.SlotGet && !s.There:
		return posthouse.Slot{}, posthouse.ErrNotFound
	case op.Verb == posthouse.SlotGet:
	case len(op.Value) > 1<<20:
		return posthouse.Slot{}, posthouse.ErrTooLarge
	case op.Fence != 0 && op.Fence < s.Fence:
		return posthouse.Slot{}, posthouse.ErrFenced
	case op.Verb == posthouse.SlotDelete && !s.There:
		s.Fence = max(s.Fence, op.Fence)
	case op.Revision != posthouse.AnyRevision && op.Revision != revision:
		return posthouse.Slot{}, posthouse.ErrConflict
	default:
		s.Fence, s.There = max(s.Fence, op.Fence), op.Verb == posthouse.SlotPut
		s.Value = bytes.Clone(op.Value)
		if s.There {
			s.Revision++
		}
	}
	m.Slotted[key] = s
	out := s.Slot
	out.Value = bytes.Clone(s.Value)
	return out, nil
}

// Slots implements [posthouse.SlotLister].
func (m *Store) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	same := func(s *posthouse.SlotItem) *posthouse.SlotItem { return s }
	return answer(ctx, m, same, func() (items []*posthouse.SlotItem, _ error) {
		for key, s := range m.Slotted {
			if s.There && (thread == "" || thread == key.Thread) {
				item := &posthouse.SlotItem{Key: key, Slot: s.Slot}
				item.Value = bytes.Clone(s.Value)
				items = append(items, item)
			}
		}
		slices.SortFunc(items, func(a, b *posthouse.SlotItem) int {
			return cmp.Or(cmp.Compare(a.Key.Thread, b.Key.Thread), cmp.Compare(a.Key.Step, b.Key.Step))
		})
		return items, nil
	})
}

// SlotKeys returns the keys of the slots ever used, also of deleted ones.
func (m *Store) SlotKeys() []posthouse.SlotKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.Slotted))
}

// Remove implements [posthouse.Store].
func (m *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return done, err
	}
	take := func(b []byte) {
		if len(b) > 0 {
			done.Bodies++
			done.Bytes += int64(len(b))
		}
	}
	if r.All {
		for key := range m.Slotted {
			if key.Thread == r.Thread {
				delete(m.Slotted, key)
			}
		}
		r.Below = ^uint64(0)
	}
	t := m.Log(r.Thread)
	if t == nil {
		return done, nil
	}
	t.Entries = slices.DeleteFunc(t.Entries, func(e *posthouse.Entry) bool {
		for _, ref := range r.Bodies {
			if ref.Seq == e.Seq && ref.Record >= 0 && ref.Record < len(e.Bodies) {
				take(e.Bodies[ref.Record])
				e.Bodies[ref.Record] = nil
			}
		}
		if e.Seq < r.From || e.Seq >= r.Below {
			return false
		}
		done.Entries++
		done.Bytes += int64(len(e.Header))
		for _, b := range e.Bodies {
			take(b)
		}
		return true
	})
	m.Unindex(func(have ID) bool {
		return have.Ref.Thread == r.Thread && have.Ref.Seq >= r.From && have.Ref.Seq < r.Below
	})
	if r.All {
		m.Logs = slices.DeleteFunc(m.Logs, func(have *Log) bool { return have == t })
	}
	return done, nil
}

// Close implements [posthouse.Store].
func (m *Store) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Closed = true
	return nil
}
