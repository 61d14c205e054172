package natsstore

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/memindex"
	"github.com/posthouse/posthouse/store/internal/replay"
	"github.com/posthouse/posthouse/store/internal/wake"
)

// state is what a process knows of the log's stream besides the index. The messages of
// the stream, applied in their order, give every process the same index and state.
type state struct {
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

func newState() state {
	return state{
		subjects: map[string]*subject{}, live: map[uint64]posthouse.Hash{}, chunks: map[uint64][]uint64{},
		voids: map[uint64]error{},
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
func (st *state) count(r *received) (garbage []uint64) {
	st.applied = r.seq
	sub := st.subjects[r.msg.thread]
	if sub == nil {
		sub = &subject{}
		st.subjects[r.msg.thread] = sub
	}
	sub.last = r.seq
	if r.msg.removal != nil {
		sub.removal = r.seq
	}
	st.live[r.seq] = r.item
	st.digest.Add(r.item)
	if all := append(r.msg.allChunks(), r.spill...); len(all) > 0 {
		st.chunks[r.seq] = all
	}
	kept := map[uint64]bool{}
	for _, c := range r.msg.allChunks() {
		kept[c] = true
	}
	for _, g := range r.msg.gone {
		item, ok := st.live[g]
		if !ok {
			continue // deleted before this process began
		}
		st.digest.Drop(item)
		for _, c := range st.chunks[g] {
			if !kept[c] {
				garbage = append(garbage, c)
			}
		}
		delete(st.live, g)
		delete(st.chunks, g)
		delete(st.voids, g)
	}
	return garbage
}

// apply applies the next message of the stream.
func (s *Store) apply(r *received) error {
	s.index.Lock()
	defer s.index.Unlock()
	switch {
	case s.lifecycle.Closed():
		return s.lifecycle.ClosedError() // the index may be empty already
	case r.seq <= s.applied:
		return nil
	}
	s.count(r)
	err := s.indexMessage(r)
	s.state.err = err
	if err == nil {
		s.index.Wake()
	}
	s.moved.Tell()
	return err
}

// indexMessage brings what a message says to the index.
func (s *Store) indexMessage(r *received) error {
	for i := range r.parts {
		e := &r.parts[i]
		if e.Commit != 0 { // written again
			have := s.index.Entry(e.Entry.Thread, e.Entry.Seq)
			if have == nil || have.Commit != e.Commit || have.Hash != e.Entry.Hash {
				return posthouse.Corrupt("message %d writes entry %d of thread %q again, which is not there", r.seq, e.Entry.Seq, e.Entry.Thread)
			}
			memindex.Swap(s.index, have, place{r.seq, i})
		}
	}
	if m := r.msg.removal; m != nil {
		if m.all {
			s.index.RemoveAll(r.msg.thread)
		} else {
			s.index.RemoveEntries(r.msg.thread, m.from, m.below)
		}
		return nil
	}
	if err := s.taken(r.parts); err != nil {
		s.voids[r.seq] = err
		return nil
	}
	info := posthouse.ThreadInfo{}
	if have := s.index.Info(r.msg.thread); have != nil {
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
		if err := replay.Add(s.index, &s.headers, e, place{r.seq, i}, &next); err != nil {
			return err
		}
	}
	return nil
}

// taken returns the error if new entries bring an id that leads to another thread. The
// server compares the end of one thread only. So when two processes bring one id to two
// threads at once, both messages are in the stream, and the first of them counts.
func (s *Store) taken(parts []framelog.Entry) error {
	for i := range parts {
		e := &parts[i]
		if e.Commit != 0 {
			continue
		}
		for _, id := range e.IDs {
			if at, ok := s.index.Place(id); ok && at.Thread != e.Entry.Thread {
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
func (s *Store) await(ctx context.Context, seq uint64) error {
	for {
		s.index.Lock()
		if s.state.err != nil || s.applied >= seq {
			err := s.state.err
			s.index.Unlock()
			return err
		}
		moved := s.moved.Wait()
		s.index.Unlock()
		select {
		case <-moved:
		case <-s.ctx.Done():
			return s.lifecycle.ClosedError()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
