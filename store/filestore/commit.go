package filestore

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/memindex"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// A request is a write that waits for the leader: appends to one thread, a change of a
// slot, or work that runs alone.
type request struct {
	batches  []*posthouse.Batch
	incoming []memindex.Incoming // one for each batch

	batch [1]*posthouse.Batch  // memory for batches: most requests have one
	first [1]memindex.Incoming // and for incoming

	key   posthouse.SlotKey
	op    posthouse.SlotOp
	slot  bool
	after posthouse.Slot // what the slot is then

	alone func() error
}

// The cost of a group is bounded, so that its first caller does not wait for megabytes
// of others, and so that of a thousand callers some compute while others commit.
const (
	maxGroupCost = 512
	bytesPerCost = 16 << 10
)

func (r *request) cost() (n int) {
	switch {
	case r.alone != nil:
		return maxGroupCost
	case r.slot:
		return 1 + len(r.op.Value)/bytesPerCost
	}
	for _, in := range r.incoming {
		n += 1 + int(entryPlace(in.Entry).body)/bytesPerCost
	}
	return n
}

// Append implements [posthouse.Store].
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := valid.Batch(b); err != nil {
		return err
	}
	return s.append(ctx, []*posthouse.Batch{b})
}

// AppendAll implements [posthouse.BulkAppender].
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := valid.Batches(bs); err != nil || len(bs) == 0 {
		return err
	}
	return s.append(ctx, bs)
}

func (s *Store) append(ctx context.Context, bs []*posthouse.Batch) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	r, ok := s.requests.Get().(*request)
	if !ok {
		r = &request{}
	}
	r.batches, r.incoming = append(r.batch[:0], bs...), r.first[:0]
	for _, b := range bs {
		size := b.Entry.Size()
		if size > framelog.MaxBody/2 {
			return posthouse.TooLarge("entry", size, framelog.MaxBody/2)
		}
		frame, head := framelog.AppendBatch(nil, b)
		at := place{frame: frame, head: uint32(head), body: uint32(len(frame) - framelogHeader - head)}
		r.incoming = append(r.incoming, memindex.Take(b, at))
	}
	err := s.submit(ctx, "append to the log", r)
	if !errors.Is(err, posthouse.ErrUnknown) { // else its group may still have it
		*r = request{}
		s.requests.Put(r)
	}
	return err
}

// submit waits until the request is durable or refused.
func (s *Store) submit(ctx context.Context, doing string, r *request) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	err := s.queue.Do(ctx, r)
	if errors.Is(err, groupcommit.ErrAborted) {
		return s.dir.unknown(err)
	}
	return s.dir.wrap(doing, err)
}

// commit runs one group. The queue never calls it twice at once. A panic leaves the
// journal in an unknown state, so the store takes no more writes after one.
func (s *Store) commit(group []*groupcommit.Call[*request]) {
	returned := false
	defer func() {
		if !returned {
			s.dir.poison(errors.New("a write panicked"))
		}
	}()
	s.commitGroup(group)
	returned = true
}

func (s *Store) commitGroup(group []*groupcommit.Call[*request]) {
	if err := s.lifecycle.Writable(context.Background()); err != nil {
		failAll(group, err)
		return
	}
	if f := group[0].Work.alone; f != nil {
		group[0].Err = f()
		return
	}
	g := &s.group
	defer g.clear()
	g.plan, g.next = s.index.Plan(), s.journal.last
	for i, call := range group {
		if call.Work.slot {
			call.Err = s.gatherSlot(g, call.Work)
		} else {
			call.Err = g.appends(call.Work, i == len(group)-1)
		}
	}
	if len(g.frames) == 0 {
		return
	}
	if err := s.write(g.frames); err != nil {
		failAll(group, err)
		return
	}
	seg := s.journal.current
	s.index.Lock()
	defer s.index.Unlock()
	for _, in := range g.incoming {
		s.index.Add(in)
		s.digest.Add(in.Entry.Hash)
		seg.entries = append(seg.entries, in.Entry)
	}
	for key, change := range g.slots {
		s.keepSlot(seg, key, change)
	}
	s.index.Wake()
}

// A gathering is what a group is going to write. Its memory is used for the next group, too.
type gathering struct {
	plan     *memindex.Plan
	next     uint64 // number of the last commit
	frames   [][]byte
	incoming []memindex.Incoming
	slots    map[posthouse.SlotKey]slot
}

func (g *gathering) appends(r *request, last bool) error {
	fresh, err := g.plan.Admit(r.batches, last)
	if err != nil {
		return err
	}
	for _, in := range r.incoming[len(r.incoming)-len(fresh):] {
		g.next++
		in.Entry.Commit = g.next
		frame := entryPlace(in.Entry).frame
		framelog.Number(frame, g.next)
		g.frames = append(g.frames, frame)
		g.incoming = append(g.incoming, in)
	}
	return nil
}

// clear lets go of what was written.
func (g *gathering) clear() {
	clear(g.frames)
	clear(g.incoming)
	g.frames, g.incoming, g.slots = g.frames[:0], g.incoming[:0], nil
}

// failAll gives err to every call, also to calls refused before: what they were refused
// for may not be there.
func failAll(group []*groupcommit.Call[*request], err error) {
	for _, call := range group {
		call.Err = err
	}
}
