package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
)

// A Model is a reference implementation of [posthouse.Store] without any index: it reads
// all its data for each answer. The suite compares other stores with it.
type Model struct {
	mu      sync.Mutex
	closed  bool
	threads []*modelThread
	ids     []modelID
	slots   map[posthouse.SlotKey]*modelSlot
}

type modelThread struct {
	info    *posthouse.ThreadInfo
	entries []*posthouse.Entry
}

type modelID struct {
	id     posthouse.ID
	ref    posthouse.Ref
	header *posthouse.Header // nil for a gate
}

type modelSlot struct {
	posthouse.Slot
	there bool
}

// NewModel returns an empty model.
func NewModel() *Model { return &Model{slots: map[posthouse.SlotKey]*modelSlot{}} }

func (m *Model) usable(ctx context.Context) error {
	if m.closed {
		return posthouse.ErrClosed
	}
	return ctx.Err()
}

func (m *Model) thread(name string) *modelThread {
	for _, t := range m.threads {
		if t.info.Thread == name {
			return t
		}
	}
	return nil
}

// Append implements [posthouse.Store].
func (m *Model) Append(ctx context.Context, b *posthouse.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	return m.append(b)
}

// AppendAll implements [posthouse.BulkAppender].
func (m *Model) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	for i := 1; i < len(bs); i++ {
		if bs[i].Entry.Thread != bs[0].Entry.Thread || bs[i].After != bs[i-1].Thread.Tail {
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "batches", Message: "do not follow each other"}
		}
	}
	threads, ids := slices.Clone(m.threads), slices.Clone(m.ids)
	var was modelThread
	if len(bs) > 0 {
		if t := m.thread(bs[0].Entry.Thread); t != nil {
			was = *t
		}
	}
	for _, b := range bs {
		if err := m.append(b); err != nil {
			if t := m.thread(b.Entry.Thread); t != nil {
				*t = was
			}
			m.threads, m.ids = threads, ids
			return err
		}
	}
	return nil
}

func (m *Model) append(b *posthouse.Batch) error {
	if b.Entry.Seq != b.After.Seq+1 && !(b.Copy && b.Entry.Seq > b.After.Seq) {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "seq", Message: "does not follow"}
	}
	t := m.thread(b.Entry.Thread)
	if t == nil {
		t = &modelThread{info: &posthouse.ThreadInfo{}}
	}
	for _, e := range t.entries {
		if e.Seq == b.Entry.Seq && e.Hash == b.Entry.Hash {
			return nil
		}
	}
	if t.info.Tail == b.Thread.Tail {
		return nil
	}
	if tail := t.info.Tail; tail != b.After {
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "the log has moved on", Tail: &tail}
	}
	for _, id := range b.IDs {
		for _, have := range m.ids {
			if have.id == id.ID && (have.ref.Thread != b.Entry.Thread || !id.Replace) {
				return &posthouse.Error{Code: posthouse.CodeExists, Message: fmt.Sprintf("%q is taken", id.ID)}
			}
		}
	}
	for _, id := range b.Drop {
		m.unindex(func(have modelID) bool { return have.id == id && have.ref.Thread == b.Entry.Thread })
	}
	hs := headers(b.Entry)
	for _, id := range b.IDs {
		m.unindex(func(have modelID) bool { return have.id == id.ID })
		at := modelID{id: id.ID, ref: posthouse.Ref{Thread: b.Entry.Thread, Seq: b.Entry.Seq}}
		if i := slices.IndexFunc(hs, func(h posthouse.Header) bool { return h.ID == id.ID }); i >= 0 {
			at.header = &hs[i]
		}
		m.ids = append(m.ids, at)
	}
	if t.info.Tail.Seq == 0 {
		m.threads = append(m.threads, t)
	}
	t.entries = append(t.entries, copyOf(b.Entry))
	t.info = copyOfThread(b.Thread)
	return nil
}

func (m *Model) unindex(gone func(modelID) bool) { m.ids = slices.DeleteFunc(m.ids, gone) }

// answer yields copies of what a query selects.
func answer[V any](ctx context.Context, m *Model, clone func(V) V, choose func() ([]V, error)) iter.Seq2[V, error] {
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
func (m *Model) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return answer(ctx, m, copyOf, func() ([]*posthouse.Entry, error) {
		if t := m.thread(thread); t != nil {
			return selected(t.entries, r), nil
		}
		return nil, nil
	})
}

// Find implements [posthouse.Store].
func (m *Model) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return posthouse.Ref{}, err
	}
	for _, have := range m.ids {
		if have.id == id {
			return have.ref, nil
		}
	}
	return posthouse.Ref{}, posthouse.ErrNotFound
}

// List implements [posthouse.Store].
func (m *Model) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
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
		for _, have := range m.ids {
			if have.header != nil {
				hs = append(hs, have.header)
			}
		}
		return listed(hs, q), nil
	})
}

// Threads implements [posthouse.Store].
func (m *Model) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return answer(ctx, m, copyOfThread, func() ([]*posthouse.ThreadInfo, error) {
		if _, err := q.Follows(&posthouse.ThreadInfo{}); err != nil {
			return nil, err
		}
		var infos []*posthouse.ThreadInfo
		for _, t := range m.threads {
			infos = append(infos, t.info)
		}
		return found(infos, q), nil
	})
}

func copyOfThread(t *posthouse.ThreadInfo) *posthouse.ThreadInfo {
	c := *t
	c.Branches, c.Births, c.Waiting = slices.Clone(t.Branches), slices.Clone(t.Births), slices.Clone(t.Waiting)
	c.Signals, c.Taken, c.Cancelling = slices.Clone(t.Signals), slices.Clone(t.Taken), slices.Clone(t.Cancelling)
	return &c
}

// Slot implements [posthouse.Store].
func (m *Model) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return posthouse.Slot{}, err
	}
	s := m.slots[key]
	if s == nil {
		s = &modelSlot{}
	}
	revision := uint64(0)
	if s.there {
		revision = s.Revision
	}
	switch {
	case op.Verb == posthouse.SlotGet && !s.there:
		return posthouse.Slot{}, posthouse.ErrNotFound
	case op.Verb == posthouse.SlotGet:
	case len(op.Value) > 1<<20:
		return posthouse.Slot{}, posthouse.ErrTooLarge
	case op.Fence != 0 && op.Fence < s.Fence:
		return posthouse.Slot{}, posthouse.ErrFenced
	case op.Verb == posthouse.SlotDelete && !s.there:
		s.Fence = max(s.Fence, op.Fence)
	case op.Revision != posthouse.AnyRevision && op.Revision != revision:
		return posthouse.Slot{}, posthouse.ErrConflict
	default:
		s.Fence, s.there = max(s.Fence, op.Fence), op.Verb == posthouse.SlotPut
		s.Value = bytes.Clone(op.Value)
		if s.there {
			s.Revision++
		}
	}
	m.slots[key] = s
	out := s.Slot
	out.Value = bytes.Clone(s.Value)
	return out, nil
}

// Slots implements [posthouse.SlotLister].
func (m *Model) Slots(ctx context.Context, thread string) iter.Seq2[*posthouse.SlotItem, error] {
	same := func(s *posthouse.SlotItem) *posthouse.SlotItem { return s }
	return answer(ctx, m, same, func() (items []*posthouse.SlotItem, _ error) {
		for key, s := range m.slots {
			if s.there && (thread == "" || thread == key.Thread) {
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

// Remove implements [posthouse.Store].
func (m *Model) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
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
		for key := range m.slots {
			if key.Thread == r.Thread {
				delete(m.slots, key)
			}
		}
		r.Below = ^uint64(0)
	}
	t := m.thread(r.Thread)
	if t == nil {
		return done, nil
	}
	t.entries = slices.DeleteFunc(t.entries, func(e *posthouse.Entry) bool {
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
	m.unindex(func(have modelID) bool {
		return have.ref.Thread == r.Thread && have.ref.Seq >= r.From && have.ref.Seq < r.Below
	})
	if r.All {
		m.threads = slices.DeleteFunc(m.threads, func(have *modelThread) bool { return have == t })
	}
	return done, nil
}

// Close implements [posthouse.Store].
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

// wantSame compares all answers of two stores. ids are all ids ever used.
func (t *T) wantSame(got posthouse.Store, want *Model, ids []posthouse.ID) {
	t.Helper()
	for _, q := range []posthouse.ThreadQuery{{}, {Waiting: true}, {Runnable: true}, {Leased: true}, {Released: true}, {Newest: true}, {DueBefore: 1 << 50}, {Gates: true}, {Gates: true, People: true, Person: "bob", Descending: true}} {
		t.wantThreads(fmt.Sprintf("%+v", q), all(t, got.Threads(t.ctx, q)), all(t, want.Threads(t.ctx, q))...)
	}
	for _, th := range all(t, want.Threads(t.ctx, posthouse.ThreadQuery{})) {
		t.WantEntries("Read", all(t, got.Read(t.ctx, th.Thread, posthouse.Range{})), all(t, want.Read(t.ctx, th.Thread, posthouse.Range{})))
		q := posthouse.Query{Thread: th.Thread}
		t.wantHeaders(fmt.Sprintf("%+v", q), all(t, got.List(t.ctx, q)), all(t, want.List(t.ctx, q))...)
	}
	for _, q := range []posthouse.Query{{}, {Descending: true, Limit: 7}} {
		t.wantHeaders(fmt.Sprintf("%+v", q), all(t, got.List(t.ctx, q)), all(t, want.List(t.ctx, q))...)
	}
	for _, id := range ids {
		g, gerr := got.Find(t.ctx, id)
		w, werr := want.Find(t.ctx, id)
		if g != w || (gerr == nil) != (werr == nil) {
			t.Errorf("Find(%q): got %v and error %v, want %v and %v", id, g, gerr, w, werr)
		}
	}
	for key := range want.slots {
		g, gerr := got.Slot(t.ctx, key, posthouse.SlotOp{})
		w, werr := want.Slot(t.ctx, key, posthouse.SlotOp{})
		if string(g.Value) != string(w.Value) || g.Fence != w.Fence || (gerr == nil) != (werr == nil) {
			t.Errorf("slot %q: got %+v and error %v, want %+v and %v", key, g, gerr, w, werr)
		}
	}
}
