package storetest

import (
	"context"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

// A mutant is the model with one fault, which a case of the suite must catch.
type mutant struct {
	fault  string
	caught string // by this case
	store  func(m *model.Store) posthouse.Store
}

var mutants = []mutant{
	{"keeps the caller's entry", "boundary/what was handed in belongs to the caller again", func(m *model.Store) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			err := m.Append(context.Background(), b)
			if t := m.Log(b.Entry.Thread); err == nil && t != nil {
				t.Entries[len(t.Entries)-1] = b.Entry
			}
			return err
		}}
	}},
	{"hands out its own headers", "boundary/what was handed out belongs to the caller", func(m *model.Store) posthouse.Store {
		return listMutant{m, func(posthouse.Query) []*posthouse.Header { return headersOf(m) }}
	}},
	{"does not say what it promises", "info/a store says what it is", func(m *model.Store) posthouse.Store { return infoMutant{m} }},
	{"does not say where the log ends", "append/a conflict carries the tail", func(m *model.Store) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			err := m.Append(context.Background(), b)
			if isCode(err, posthouse.CodeConflict) {
				return posthouse.ErrConflict
			}
			return err
		}}
	}},
	{"takes an entry again for another", "append/the same entry again is success", func(m *model.Store) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			if t := m.Log(b.Entry.Thread); t != nil && t.Info.Tail.Seq >= b.Entry.Seq {
				return posthouse.ErrConflict
			}
			return m.Append(context.Background(), b)
		}}
	}},
	{"takes another's entry for its own", "append/a first append finds nothing of another", func(m *model.Store) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			one := *b
			one.First = false
			return m.Append(context.Background(), &one)
		}}
	}},
	{"drops before it knows", "append/all or nothing", func(m *model.Store) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			m.Unindex(func(id model.ID) bool { return slices.Contains(b.Drop, id.ID) })
			return m.Append(context.Background(), b)
		}}
	}},
	{"leaves the beginning of a bulk that it refuses", "bulk/all or nothing", func(m *model.Store) posthouse.Store {
		return bulkMutant{m, func(bs []*posthouse.Batch) error {
			for _, b := range bs {
				if err := m.Append(context.Background(), b); err != nil {
					return err
				}
			}
			return nil
		}}
	}},
	{"takes a bulk of any length", "bulk/as many as the limit, and no more", func(m *model.Store) posthouse.Store {
		return bulkMutant{m, func(bs []*posthouse.Batch) error {
			for chunk := range slices.Chunk(bs, posthouse.MaxBulk) {
				if err := m.AppendAll(context.Background(), chunk); err != nil {
					return err
				}
			}
			return nil
		}}
	}},
	{"keeps the first summary of a bulk", "bulk/entries come as if one by one", func(m *model.Store) posthouse.Store {
		return bulkMutant{m, func(bs []*posthouse.Batch) error {
			err := m.AppendAll(context.Background(), bs)
			if err == nil && len(bs) > 1 {
				m.Log(bs[0].Entry.Thread).Info = bs[0].Thread
			}
			return err
		}}
	}},
	{"takes a bulk again for another", "bulk/the same entries again are success", func(m *model.Store) posthouse.Store {
		return bulkMutant{m, func(bs []*posthouse.Batch) error {
			if t := m.Log(bs[0].Entry.Thread); t != nil && t.Info.Tail != bs[0].After {
				tail := t.Info.Tail
				return &posthouse.Error{Code: posthouse.CodeConflict, Tail: &tail}
			}
			return m.AppendAll(context.Background(), bs)
		}}
	}},
	{"compares no hash", "append/other content at a taken place is a conflict", func(m *model.Store) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			if t := m.Log(b.Entry.Thread); t != nil && t.Info.Tail.Seq >= b.Entry.Seq {
				return nil
			}
			return m.Append(context.Background(), b)
		}}
	}},
	{"lets another thread take an id", "ids/an id of another thread is taken", func(m *model.Store) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error {
			for _, id := range b.IDs {
				m.Unindex(func(have model.ID) bool { return have.ID == id.ID && have.Ref.Thread != b.Entry.Thread })
			}
			return m.Append(context.Background(), b)
		}}
	}},
	{"reads a place once", "read/entries of several threads", func(m *model.Store) posthouse.Store { return placesMutant{m} }},
	{"reads bodies when asked for headers", "read/headers only", func(m *model.Store) posthouse.Store {
		return readMutant{m, func(r posthouse.Range) posthouse.Range { r.Headers = false; return r }}
	}},
	{"counts the limit from the start", "read/ranges", func(m *model.Store) posthouse.Store {
		return readMutant{m, func(r posthouse.Range) posthouse.Range {
			if r.Limit > 0 && r.Reverse {
				r.To, r.Limit = max(r.From, 1)+uint64(r.Limit)-1, 0
			}
			return r
		}}
	}},
	{"lists in the order of appending", "list/order across threads is the order key", func(m *model.Store) posthouse.Store {
		return listMutant{m, func(q posthouse.Query) []*posthouse.Header {
			return slices.DeleteFunc(headersOf(m), func(h *posthouse.Header) bool { return !q.Match(h) })
		}}
	}},
	{"lists a thread by order key", "list/order within a thread is the sequence", func(m *model.Store) posthouse.Store {
		return listMutant{m, func(q posthouse.Query) []*posthouse.Header {
			hs := slices.DeleteFunc(headersOf(m), func(h *posthouse.Header) bool { return !q.Match(h) })
			q.Thread = ""
			return model.Headers(hs, q)
		}}
	}},
	{"repeats the cursor's own", "list/pages show each checkpoint once", func(m *model.Store) posthouse.Store {
		return listMutant{m, func(q posthouse.Query) []*posthouse.Header {
			after, limit := q.After, q.Limit
			q.After, q.Limit = "", 0
			hs := model.Headers(headersOf(m), q)
			i := max(0, slices.IndexFunc(hs, func(h *posthouse.Header) bool { return h.Cursor() == after }))
			return hs[i:min(len(hs), i+limit)]
		}}
	}},
	{"limits before it turns round", "list/newest first with a limit shows the newest", func(m *model.Store) posthouse.Store {
		return listMutant{m, func(q posthouse.Query) []*posthouse.Header {
			q.Descending = false
			return model.Headers(headersOf(m), q)
		}}
	}},
	{"forgets a label's case", "list/each filter", func(m *model.Store) posthouse.Store {
		return listMutant{m, func(q posthouse.Query) []*posthouse.Header {
			q.Label = strings.ToLower(q.Label)
			return model.Headers(headersOf(m), q)
		}}
	}},
	{"takes a prefix for a pattern", "threads/a prefix is bytes, not a pattern", func(m *model.Store) posthouse.Store {
		return threadsMutant{m, func(q posthouse.ThreadQuery) posthouse.ThreadQuery {
			q.Prefix = strings.TrimSuffix(q.Prefix, "_")
			return q
		}}
	}},
	{"forgets what was active", "threads/the newest activity comes first", func(m *model.Store) posthouse.Store {
		return threadsMutant{m, func(q posthouse.ThreadQuery) posthouse.ThreadQuery { q.Newest = false; return q }}
	}},
	{"forgets when things are due", "threads/due ones come by due time", func(m *model.Store) posthouse.Store {
		return threadsMutant{m, func(q posthouse.ThreadQuery) posthouse.ThreadQuery { q.DueBefore = 0; return q }}
	}},
	{"starts revisions anew", "slots/revisions grow across deletes", func(m *model.Store) posthouse.Store {
		return slotMutant{m, func(op posthouse.SlotOp, s *model.Slot) {
			if op.Verb == posthouse.SlotDelete {
				s.Revision = 0
			}
		}}
	}},
	{"forgets fences", "slots/a fence keeps older writers out", func(m *model.Store) posthouse.Store {
		return slotMutant{m, func(op posthouse.SlotOp, s *model.Slot) { s.Fence = op.Fence }}
	}},
	{"keeps a removed thread's slots", "slots/lie beside the log", func(m *model.Store) posthouse.Store {
		return removeMutant{m, func(r posthouse.Removal) posthouse.Removal {
			if r.All {
				r.Below, r.All = 1<<60, false
			}
			return r
		}}
	}},
	{"removes a body too many", "remove/bodies go, their headers stay", func(m *model.Store) posthouse.Store {
		return removeMutant{m, func(r posthouse.Removal) posthouse.Removal {
			for _, b := range r.Bodies {
				r.Bodies = append(r.Bodies, posthouse.BodyRef{Seq: b.Seq, Record: 2})
			}
			return r
		}}
	}},
	{"removes the floor too", "remove/entries below a sequence number", func(m *model.Store) posthouse.Store {
		return removeMutant{m, func(r posthouse.Removal) posthouse.Removal {
			if r.Below > 0 {
				r.Below++
			}
			return r
		}}
	}},
	{"works on after Close", "close/later calls fail with ErrClosed", func(m *model.Store) posthouse.Store { return openMutant{m} }},
	{"does not look at the context", "cancel/a cancelled context stops each call", func(m *model.Store) posthouse.Store {
		return appendMutant{m, func(b *posthouse.Batch) error { return m.Append(context.Background(), b) }}
	}},
}

func headersOf(m *model.Store) (hs []*posthouse.Header) {
	for _, id := range m.IDs {
		if id.Header != nil {
			hs = append(hs, id.Header)
		}
	}
	return hs
}

type bulkMutant struct {
	*model.Store
	appendAll func([]*posthouse.Batch) error
}

func (s bulkMutant) AppendAll(_ context.Context, bs []*posthouse.Batch) error { return s.appendAll(bs) }

type appendMutant struct {
	*model.Store
	append func(*posthouse.Batch) error
}

func (s appendMutant) Append(_ context.Context, b *posthouse.Batch) error { return s.append(b) }

type readMutant struct {
	*model.Store
	change func(posthouse.Range) posthouse.Range
}

func (s readMutant) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return s.Store.Read(ctx, thread, s.change(r))
}

type placesMutant struct{ *model.Store }

func (s placesMutant) ReadAll(ctx context.Context, refs []posthouse.Ref, headers bool) iter.Seq2[*posthouse.Entry, error] {
	seen := map[posthouse.Ref]bool{}
	return s.Store.ReadAll(ctx, slices.DeleteFunc(slices.Clone(refs), func(r posthouse.Ref) bool {
		defer func() { seen[r] = true }()
		return seen[r]
	}), headers)
}

type listMutant struct {
	*model.Store
	list func(posthouse.Query) []*posthouse.Header
}

func (s listMutant) List(_ context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return func(yield func(*posthouse.Header, error) bool) {
		for _, h := range s.list(q) {
			if !yield(h, nil) {
				return
			}
		}
	}
}

type threadsMutant struct {
	*model.Store
	change func(posthouse.ThreadQuery) posthouse.ThreadQuery
}

func (s threadsMutant) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return s.Store.Threads(ctx, s.change(q))
}

type slotMutant struct {
	*model.Store
	spoil func(posthouse.SlotOp, *model.Slot)
}

func (s slotMutant) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	slot, err := s.Store.Slot(ctx, key, op)
	if err == nil && op.Verb != posthouse.SlotGet {
		s.spoil(op, s.Slotted[key])
	}
	return slot, err
}

type removeMutant struct {
	*model.Store
	change func(posthouse.Removal) posthouse.Removal
}

func (s removeMutant) Remove(ctx context.Context, r posthouse.Removal) (posthouse.Removed, error) {
	return s.Store.Remove(ctx, s.change(r))
}

type infoMutant struct{ *model.Store }

func (infoMutant) Info(ctx context.Context) (kind, promise string, bytes int64, err error) {
	return "model", "", 0, ctx.Err()
}

type openMutant struct{ *model.Store }

func (openMutant) Close() error { return nil }

func TestTheSuiteCatchesEachMutant(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.fault, func(t *testing.T) {
			t.Parallel()
			h := Harness{Open: func(TB, string) posthouse.Store { return m.store(model.New()) }}
			if !h.fails(t, m.caught) {
				t.Errorf("a store that %s passes %q", m.fault, m.caught)
			}
		})
	}
}

// TestTheSuiteCatchesAStoreThatIsNotDurable is the control arm of the cases
// that reopen: data that another process cannot see, or that misses the last
// operation.
func TestTheSuiteCatchesAStoreThatIsNotDurable(t *testing.T) {
	var mu sync.Mutex
	models := map[string]*model.Store{}
	h := Harness{Durable: true, Open: func(_ TB, dir string) posthouse.Store {
		mu.Lock()
		defer mu.Unlock()
		if models[dir] == nil {
			models[dir] = model.New()
		}
		models[dir].Closed = false
		return models[dir]
	}}
	if dir := os.Getenv(childEnv); dir != "" {
		h.child(t, dir)
		return
	}
	if h.fails(t, "reopen/everything is there again") {
		t.Error("a store that keeps everything within the process fails to reopen")
	}
	if !h.fails(t, "reopen/another process wrote it and was killed") {
		t.Error("a store that keeps everything within the process passes for durable")
	}
	forgetful := Harness{Durable: true, Open: func(t TB, dir string) posthouse.Store {
		s := h.Open(t, dir).(*model.Store)
		if n := len(s.IDs); n > 0 {
			s.IDs = s.IDs[:n-1]
		}
		return s
	}}
	if !forgetful.fails(t, "reopen/everything is there again") {
		t.Error("a store that loses the last id passes for durable")
	}
}

// fails runs a case by its name.
func (h Harness) fails(t *testing.T, name string) bool {
	t.Helper()
	cases := Cases()
	i := slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no case %q", name)
	}
	return h.Fails(t, cases[i])
}
