package natsstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
)

// A rest is what must be deleted once the log says that it is gone.
type rest struct {
	messages []uint64 // of the log
	chunks   []uint64
}

// A cut is one message of a removal, and what it takes.
type cut struct {
	out  *message
	last uint64 // the thread's message that it follows
	done posthouse.Removed
	rest rest
}

// A page of entries and bytes bounds the message of a removal of bodies.
const (
	cutEntries = 256
	cutBytes   = 256 << 10
)

// Remove implements [posthouse.Store]. It first writes to the log what is gone, with the
// rest of messages that lose a part, and then has the server overwrite the old messages.
// If the process is killed in between, the next that opens the store does the second.
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	if err := s.streams.writable(ctx); err != nil {
		return done, err
	}
	s.removing.Lock()
	defer s.removing.Unlock()
	doing := fmt.Sprintf("remove from thread %q", r.Thread)
	ctx = context.WithoutCancel(ctx)
	var left rest
	for more := true; more; {
		var c *cut
		c, err = s.cutOnce(ctx, doing, r)
		if err != nil {
			return done, s.streams.wrap(doing, err)
		}
		more = c != nil
		if more {
			done.Entries, done.Bodies, done.Bytes = done.Entries+c.done.Entries, done.Bodies+c.done.Bodies, done.Bytes+c.done.Bytes
			left.messages, left.chunks = append(left.messages, c.rest.messages...), append(left.chunks, c.rest.chunks...)
			more = c.out.removal == nil
		}
	}
	if r.All {
		if err := s.removeSlots(ctx, r.Thread); err != nil {
			return done, s.streams.wrap(doing, err)
		}
	}
	if len(left.messages) > 0 {
		err = s.finish(ctx, left)
	}
	return done, s.streams.wrap(doing, err)
}

// cutOnce plans and publishes the next message of a removal until the server takes it. It
// returns nil if there is nothing to remove any more.
func (s *Store) cutOnce(ctx context.Context, doing string, r posthouse.Removal) (*cut, error) {
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	var sent *cut // the server may have it
	for wait := newRetries(); ; {
		if err := s.catchUp(within); err != nil {
			return nil, err
		}
		if sent != nil && s.superseded(sent.rest.messages) {
			return sent, nil
		}
		c, err := s.plan(within, r)
		if err != nil || c == nil {
			return nil, err
		}
		data, chunks, err := s.streams.encode(within, c.out)
		if err != nil {
			return nil, err
		}
		seq, err := s.streams.publishOnce(within, &nats.Msg{Subject: s.streams.names.logSubject(r.Thread), Data: data}, c.last)
		if err == nil {
			return c, s.view.await(within, seq)
		}
		if hasMoved(err) {
			err = s.streams.erase(within, s.streams.aside, append(chunks, c.fresh()...))
			if err == nil {
				err = s.look(within, r.Thread, c.last)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		err = s.streams.wrap(doing, err)
		if !isLost(err) || !s.streams.pause(within, &wait) {
			return nil, err
		}
		sent = c
	}
}

// superseded reports whether no message counts any more.
func (s *Store) superseded(messages []uint64) bool {
	s.view.index.RLock()
	defer s.view.index.RUnlock()
	return !slices.ContainsFunc(messages, func(m uint64) bool { _, ok := s.view.live[m]; return ok })
}

// fresh returns the chunks that were written for this message only.
func (c *cut) fresh() (chunks []uint64) {
	for _, p := range c.out.parts {
		chunks = append(chunks, p.chunks...)
	}
	return slices.DeleteFunc(chunks, func(n uint64) bool { return slices.Contains(c.rest.chunks, n) })
}

// finish deletes what the log says is gone. Before, a witness says so too: else a log
// without these messages would look like one that has lost them. If the disk of a server in
// this process has no room for that, it is done when there is some.
func (s *Store) finish(ctx context.Context, left rest) error {
	err := s.testify(ctx)
	if err == nil {
		err = s.streams.erase(ctx, s.streams.aside, left.chunks)
	}
	if err == nil {
		err = s.streams.erase(ctx, s.streams.log, left.messages)
	}
	if s.streams.own != nil && errors.Is(err, posthouse.ErrFull) {
		s.undeleted.add(left)
	}
	return err
}

// plan makes the next message of a removal, nil if there is nothing to do any more.
func (s *Store) plan(ctx context.Context, r posthouse.Removal) (*cut, error) {
	s.view.index.RLock()
	info := s.view.index.Info(r.Thread)
	var summary []byte
	if info != nil {
		summary, _ = info.MarshalBinary() // never fails
	}
	s.view.index.RUnlock()
	if info == nil {
		return nil, nil
	}
	p := planning{s: s, r: r}
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	if r.All || r.Below > 0 {
		return p.entriesGo(ctx, summary)
	}
	return p.bodiesGo(ctx)
}

// planning is a message of a removal that is being made.
type planning struct {
	s       *Store
	r       posthouse.Removal
	entries []*entry // all of the thread
	cut     cut
	size    int
}

// load finds all entries of the thread.
func (p *planning) load(ctx context.Context) error {
	var r posthouse.Range
	for more := true; more; {
		page, further, err := p.s.view.index.Entries(ctx, p.r.Thread, &r, cutEntries)
		if err != nil {
			return err
		}
		p.entries, more = append(p.entries, page...), further
	}
	return nil
}

// entriesGo plans a removal of entries.
func (p *planning) entriesGo(ctx context.Context, summary []byte) (*cut, error) {
	s, r := p.s, p.r
	p.cut.out = &message{thread: r.Thread, removal: &removal{all: r.All, from: r.From, below: r.Below}}
	if !r.All {
		p.cut.out.removal.summary = summary
	}
	goes := func(e *entry) bool { return r.All || e.Seq >= r.From && e.Seq < r.Below }
	messages := map[uint64]bool{}
	for _, e := range p.entries {
		if goes(e) {
			messages[entryPlace(e).message] = true
		}
	}
	if len(messages) == 0 && !r.All {
		return nil, nil
	}
	for page := range slices.Chunk(p.entries, pageEntries) {
		page = slices.DeleteFunc(slices.Clone(page), func(e *entry) bool { return !goes(e) && !messages[entryPlace(e).message] && !p.misleads(e) })
		frames, err := s.frames(ctx, page, true)
		if err != nil {
			return nil, err
		}
		for i, f := range frames {
			switch {
			case f == nil:
				return nil, &posthouse.Error{Code: posthouse.CodeUnknown, Message: "entries were removed meanwhile", Hint: "try again"}
			case goes(page[i]):
				p.count(f)
			default:
				messages[entryPlace(page[i]).message] = true
				if err := p.again(ctx, page[i], f); err != nil {
					return nil, err
				}
			}
		}
	}
	return p.end(messages), nil
}

// misleads reports whether an entry before a hole brings ids that do not lead to it any
// more. The removal may take the entry that took them away.
func (p *planning) misleads(e *entry) bool {
	if p.r.All || e.Seq >= p.r.From {
		return false
	}
	p.s.view.index.RLock()
	defer p.s.view.index.RUnlock()
	return len(p.s.view.index.Leads(e)) < len(e.IDs)
}

// bodiesGo plans a removal of bodies, up to a page of them.
func (p *planning) bodiesGo(ctx context.Context) (*cut, error) {
	p.cut.out = &message{thread: p.r.Thread}
	strip := map[uint64][]int{}
	for _, ref := range p.r.Bodies {
		strip[ref.Seq] = append(strip[ref.Seq], ref.Record)
	}
	for group := range byMessage(p.entries) {
		if !slices.ContainsFunc(group, func(e *entry) bool { return strip[e.Seq] != nil }) {
			continue
		}
		frames, err := p.s.frames(ctx, group, true)
		if err != nil {
			return nil, err
		}
		before := p.cut.done.Bodies
		for i, f := range frames {
			if f == nil {
				return nil, &posthouse.Error{Code: posthouse.CodeUnknown, Message: "entries were removed meanwhile", Hint: "try again"}
			}
			for _, record := range strip[group[i].Seq] {
				if record >= 0 && record < len(f.Entry.Bodies) && f.Entry.Bodies[record] != nil {
					p.cut.done.Bodies++
					p.cut.done.Bytes += int64(len(f.Entry.Bodies[record]))
					f.Entry.Bodies[record] = nil
				}
			}
		}
		if p.cut.done.Bodies == before {
			continue
		}
		p.cut.rest.messages = append(p.cut.rest.messages, entryPlace(group[0]).message)
		for i, f := range frames {
			if err := p.again(ctx, group[i], f); err != nil {
				return nil, err
			}
		}
		if len(p.cut.out.parts) >= cutEntries || p.size >= cutBytes {
			break
		}
	}
	if p.cut.done.Bodies == 0 {
		return nil, nil
	}
	return p.end(nil), nil
}

// byMessage yields entries that are in one message together.
func byMessage(entries []*entry) func(func([]*entry) bool) {
	sorted := slices.SortedStableFunc(slices.Values(entries), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(entryPlace(a).message, entryPlace(b).message), cmp.Compare(entryPlace(a).part, entryPlace(b).part))
	})
	return func(yield func([]*entry) bool) {
		for i := 0; i < len(sorted); {
			j := i + 1
			for j < len(sorted) && entryPlace(sorted[j]).message == entryPlace(sorted[i]).message {
				j++
			}
			if !yield(sorted[i:j]) {
				return
			}
			i = j
		}
	}
}

// count counts an entry that goes.
func (p *planning) count(f *framelog.Entry) {
	p.cut.done.Entries++
	p.cut.done.Bytes += int64(len(f.Entry.Header) + len(f.Entry.Sig))
	for _, b := range f.Entry.Bodies {
		if len(b) > 0 {
			p.cut.done.Bodies++
			p.cut.done.Bytes += int64(len(b))
		}
	}
}

// again writes an entry again, as it is now and with the ids that lead to it.
func (p *planning) again(ctx context.Context, e *entry, f *framelog.Entry) error {
	p.s.view.index.RLock()
	leads := p.s.view.index.Leads(e)
	p.s.view.index.RUnlock()
	var ids []posthouse.ID
	var headers []bool
	for _, i := range leads {
		if at := slices.Index(f.IDs, e.IDs[i]); at >= 0 {
			ids, headers = append(ids, f.IDs[at]), append(headers, f.Headers[at])
		}
	}
	f.IDs, f.Headers, f.Commit = ids, headers, e.Commit
	frame, _ := f.Append(nil)
	out, err := p.s.streams.partOf(ctx, frame)
	p.cut.out.parts = append(p.cut.out.parts, out)
	p.size += len(frame)
	return err
}

// end completes the message with what is gone by it: the messages that it takes or writes
// again, and those that count for nothing.
func (p *planning) end(messages map[uint64]bool) *cut {
	s, c := p.s, &p.cut
	for m := range messages {
		c.rest.messages = append(c.rest.messages, m)
	}
	s.view.index.RLock()
	defer s.view.index.RUnlock()
	sub := s.view.subjects[p.r.Thread]
	c.last = sub.last
	if c.out.removal != nil && sub.removal != 0 && !slices.ContainsFunc(p.entries, func(e *entry) bool {
		return entryPlace(e).message == sub.removal && !messages[sub.removal]
	}) && !slices.Contains(c.rest.messages, sub.removal) {
		c.rest.messages = append(c.rest.messages, sub.removal)
	}
	for m := range s.view.voids {
		c.rest.messages = append(c.rest.messages, m)
	}
	slices.Sort(c.rest.messages)
	for _, m := range c.rest.messages {
		c.rest.chunks = append(c.rest.chunks, s.view.chunks[m]...)
	}
	c.out.gone = c.rest.messages
	return c
}
