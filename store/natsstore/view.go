package natsstore

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
	"github.com/posthouse/posthouse/store/internal/memindex"
	"github.com/posthouse/posthouse/store/internal/replay"
	"github.com/posthouse/posthouse/store/internal/wake"
)

// A view is what a process knows of the log's stream. The messages of the stream, applied in their
// order, give every process the same view. The index's lock guards all of it.
type view struct {
	index     *memindex.Index
	lifecycle *lifecycle.State
	closing   context.Context // ends when the store closes

	applied  uint64 // the last message that was applied
	subjects map[string]*subject
	live     map[uint64]posthouse.Hash // messages with content that counts, with their items
	digest   framelog.Digest           // of them
	chunks   map[uint64][]uint64       // by message
	voids    map[uint64]error          // messages that count for nothing, and why
	left     rest                      // what an earlier process was killed over
	headers  posthouse.HeaderReader
	moved    wake.News // of applied messages
	err      error     // why no more messages can be applied
}

// A subject is what is known of a thread's messages.
type subject struct {
	last    uint64 // the newest
	removal uint64 // the newest that removes entries
}

// empty makes the view that of a log without messages, up to one.
func (v *view) empty(applied uint64) {
	*v = view{
		index: v.index, lifecycle: v.lifecycle, closing: v.closing, applied: applied,
		subjects: map[string]*subject{}, live: map[uint64]posthouse.Hash{}, chunks: map[uint64][]uint64{}, voids: map[uint64]error{},
	}
}

// A received message is one of the log's stream.
type received struct {
	seq   uint64
	item  posthouse.Hash
	msg   *message
	spill []uint64 // the chunks that have the message
	parts []framelog.Entry
}

// commitOf numbers an entry in the order of commits. A message has at most
// [posthouse.MaxBulk] new entries.
func commitOf(seq uint64, part int) uint64 { return seq<<8 | uint64(part) }

// count makes a message count, and those that it supersedes not any more. It returns the
// chunks that are garbage then.
func (v *view) count(r *received) (garbage []uint64) {
	v.applied = r.seq
	sub := v.subjects[r.msg.thread]
	if sub == nil {
		sub = &subject{}
		v.subjects[r.msg.thread] = sub
	}
	sub.last = r.seq
	if r.msg.removal != nil {
		sub.removal = r.seq
	}
	v.live[r.seq] = r.item
	v.digest.Add(r.item)
	if all := append(r.msg.allChunks(), r.spill...); len(all) > 0 {
		v.chunks[r.seq] = all
	}
	kept := map[uint64]bool{}
	for _, c := range r.msg.allChunks() {
		kept[c] = true
	}
	for _, g := range r.msg.gone {
		item, ok := v.live[g]
		if !ok {
			continue // deleted before this process began
		}
		v.digest.Drop(item)
		for _, c := range v.chunks[g] {
			if !kept[c] {
				garbage = append(garbage, c)
			}
		}
		delete(v.live, g)
		delete(v.chunks, g)
		delete(v.voids, g)
	}
	return garbage
}

// apply applies the next message of the stream.
func (v *view) apply(r *received) error {
	v.index.Lock()
	defer v.index.Unlock()
	switch {
	case v.lifecycle.Closed():
		return v.lifecycle.ClosedError() // the index may be empty already
	case r.seq <= v.applied:
		return nil
	}
	v.count(r)
	err := v.indexMessage(r)
	v.err = err
	if err == nil {
		v.index.Wake()
	}
	v.moved.Tell()
	return err
}

// indexMessage brings what a message says to the index.
func (v *view) indexMessage(r *received) error {
	for i := range r.parts {
		e := &r.parts[i]
		if e.Commit != 0 { // written again
			have := v.index.Entry(e.Entry.Thread, e.Entry.Seq)
			if have == nil || have.Commit != e.Commit || have.Hash != e.Entry.Hash {
				return posthouse.Corrupt("message %d writes entry %d of thread %q again, which is not there", r.seq, e.Entry.Seq, e.Entry.Thread)
			}
			memindex.Swap(v.index, have, place{r.seq, i})
		}
	}
	if m := r.msg.removal; m != nil {
		if m.all {
			v.index.RemoveAll(r.msg.thread)
		} else {
			v.index.RemoveEntries(r.msg.thread, m.from, m.below)
		}
		return nil
	}
	if err := v.taken(r.parts); err != nil {
		v.voids[r.seq] = err
		return nil
	}
	info := posthouse.ThreadInfo{}
	if have := v.index.Info(r.msg.thread); have != nil {
		info = *have
	}
	for i := range r.parts {
		e := &r.parts[i]
		if e.Commit != 0 {
			continue
		}
		e.Commit = commitOf(r.seq, i)
		if err := replay.Follow(&info, e); err != nil {
			return err
		}
		next := info
		if err := replay.Add(v.index, &v.headers, e, place{r.seq, i}, &next); err != nil {
			return err
		}
	}
	return nil
}

// taken returns the error if new entries bring an id that leads to another thread. The
// server compares the end of one thread only. So when two processes bring one id to two
// threads at once, both messages are in the stream, and the first of them counts.
func (v *view) taken(parts []framelog.Entry) error {
	for i := range parts {
		e := &parts[i]
		if e.Commit != 0 {
			continue
		}
		for _, id := range e.IDs {
			if at, ok := v.index.Place(id); ok && at.Thread != e.Entry.Thread {
				return &posthouse.Error{
					Code: posthouse.CodeExists, Message: fmt.Sprintf("%q is already entry %d of thread %q", id, at.Seq, at.Thread),
					Hint: "choose another id",
				}
			}
		}
	}
	return nil
}

// await returns when the message with a sequence was applied.
func (v *view) await(ctx context.Context, seq uint64) error {
	for {
		v.index.Lock()
		if v.err != nil || v.applied >= seq {
			err := v.err
			v.index.Unlock()
			return err
		}
		moved := v.moved.Wait()
		v.index.Unlock()
		select {
		case <-moved:
		case <-v.closing.Done():
			return v.lifecycle.ClosedError()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
