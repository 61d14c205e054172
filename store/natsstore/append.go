package natsstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// Append implements [posthouse.Store]. It is one message, which the server takes if the
// thread's last one is that which this process knows. Where the connection is lost it asks
// again, and fails with [posthouse.ErrUnknown] after Options.Timeout.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := valid.Batch(b); err != nil {
		return err
	}
	return s.append(ctx, []*posthouse.Batch{b})
}

// AppendAll implements [posthouse.BulkAppender], with one message.
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := valid.Batches(bs); err != nil {
		return err
	}
	if len(bs) == 0 {
		return s.streams.writable(ctx)
	}
	return s.append(ctx, bs)
}

func (s *Store) append(ctx context.Context, bs []*posthouse.Batch) (err error) {
	if err := s.streams.writable(ctx); err != nil {
		return err
	}
	thread := bs[0].Entry.Thread
	doing := fmt.Sprintf("append to thread %q", thread)
	defer func() { err = s.streams.wrap(doing, err) }()                               // the end of our own time is no answer
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout) // what was sent cannot be taken back
	defer cancel()
	var out outgoing
	defer func() { err = out.unsure(err) }()
	for wait := newRetries(); ; {
		if out.sent {
			bs = repeated(bs)
		}
		fresh, expected, err := s.admit(within, bs)
		if err != nil || len(fresh) == 0 {
			s.streams.discard(within, &out)
			return err
		}
		if err := s.streams.prepare(within, &out, fresh); err != nil {
			return err
		}
		seq, err := s.streams.publishOnce(within, out.msg, expected)
		if err == nil {
			return s.outcome(within, &out, doing, seq)
		}
		if s.streams.own != nil && errors.Is(err, posthouse.ErrFull) {
			return s.appendedWhenFull(within, &out, bs, expected, err)
		}
		if err := s.streams.wrap(doing, err); !hasMoved(err) && !isLost(err) {
			return err
		}
		if !hasMoved(err) {
			out.sent = true // it may have been taken
			s.opts.Logger.Warn("posthouse: asking NATS again", "store", s.streams.where, "doing", doing, "err", err)
			if !s.streams.pause(within, &wait) {
				return err
			}
		}
		if err := s.look(within, thread, expected); err != nil {
			return err
		}
	}
}

// repeated returns the batches of an append that the server may have taken before.
func repeated(bs []*posthouse.Batch) []*posthouse.Batch {
	all := make([]*posthouse.Batch, len(bs))
	for i, b := range bs {
		one := *b
		one.First = false
		all[i] = &one
	}
	return all
}

// admit judges an append by what this process knows. Before it refuses it brings that up
// to date. It returns what is not in the log yet, and the thread's last message.
func (s *Store) admit(ctx context.Context, bs []*posthouse.Batch) (fresh []*posthouse.Batch, expected uint64, err error) {
	for current := false; ; current = true {
		if err := s.streams.writable(ctx); err != nil {
			return nil, 0, err
		}
		s.view.index.RLock()
		err = s.view.err
		if err == nil {
			fresh, err = s.view.index.Admit(bs)
		}
		if sub := s.view.subjects[bs[0].Entry.Thread]; sub != nil {
			expected = sub.last
		}
		s.view.index.RUnlock()
		if err == nil || current || s.streams.own != nil {
			return fresh, expected, err
		}
		if err := s.catchUp(ctx); err != nil {
			return nil, 0, err
		}
	}
}

// appendedWhenFull returns the error of a message that found no room, full, unless the
// server took it before.
func (s *Store) appendedWhenFull(ctx context.Context, out *outgoing, bs []*posthouse.Batch, expected uint64, full error) error {
	out.sent = true
	if err := s.look(ctx, bs[0].Entry.Thread, expected); err != nil {
		return err
	}
	s.view.index.RLock()
	fresh, err := s.view.index.Admit(repeated(bs))
	s.view.index.RUnlock()
	if err == nil && len(fresh) > 0 {
		out.sent = false
		return full
	}
	return err
}

// unsure makes an error unknown if the server may have taken the message at an earlier attempt.
func (out *outgoing) unsure(err error) error {
	var e *posthouse.Error
	if !out.sent || !errors.As(err, &e) || e.Code != posthouse.CodeFull && e.Code != posthouse.CodeReadOnly {
		return err
	}
	hint := e.Hint
	if e.Code == posthouse.CodeFull {
		hint = "make room and try again: repeating is safe"
	}
	return &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the server may have taken it, and takes no more writes: " + e.Message, Err: err, Hint: hint}
}

// An outgoing message is made once for all attempts to append the same entries.
type outgoing struct {
	n      int // of entries
	msg    *nats.Msg
	chunks []uint64
	sent   bool // the server may have it, so its chunks stay
}

// prepare makes the message for entries.
func (s *streams) prepare(ctx context.Context, out *outgoing, bs []*posthouse.Batch) error {
	if out.msg != nil && out.n == len(bs) {
		return nil
	}
	s.discard(ctx, out)
	m := &message{thread: bs[0].Entry.Thread}
	for _, b := range bs {
		frame, _ := framelog.AppendBatch(nil, b)
		p, err := s.partOf(ctx, frame)
		if err != nil {
			return err
		}
		out.chunks = append(out.chunks, p.chunks...)
		m.parts = append(m.parts, p)
	}
	data, chunks, err := s.encode(ctx, m)
	out.n, out.sent = len(bs), false
	out.msg, out.chunks = &nats.Msg{Subject: s.names.logSubject(m.thread), Data: data}, append(out.chunks, chunks...)
	return err
}

// partOf makes a part of a frame, with large bodies in chunks.
func (s *streams) partOf(ctx context.Context, frame []byte) (p part, err error) {
	head := headLength(frame)
	p.frame = frame
	if len(frame)-head > min(maxInline, s.room/2) {
		p.frame = frame[:head]
		p.chunks, err = s.putChunks(ctx, frame[head:])
	}
	return p, err
}

// encode encodes a message, in chunks if it is too large.
func (s *streams) encode(ctx context.Context, m *message) (data []byte, chunks []uint64, err error) {
	data = m.encode()
	if len(data) <= s.room {
		return data, nil, nil
	}
	chunks, err = s.putChunks(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	return encodeChunked(chunks), chunks, nil
}

// discard deletes the chunks of a message that was not taken. [Store.Compact] finds the
// chunks that a lost connection leaves.
func (s *streams) discard(ctx context.Context, out *outgoing) {
	if len(out.chunks) > 0 && !out.sent {
		_ = s.erase(ctx, s.aside, out.chunks)
	}
	*out = outgoing{sent: out.sent}
}

// outcome returns what became of a message that the server took.
func (s *Store) outcome(ctx context.Context, out *outgoing, doing string, seq uint64) error {
	if err := s.applyOwn(ctx, out.msg, seq); err != nil {
		return s.streams.wrap(doing, err)
	}
	if err := s.view.await(ctx, seq); err != nil {
		return s.streams.wrap(doing, err) // durable, but not judged yet
	}
	s.view.index.RLock()
	err := s.view.voids[seq]
	s.view.index.RUnlock()
	if err == nil {
		s.testifySometimes(ctx, seq)
	}
	return err
}

// applyOwn applies a message of this process if it is the next one, so that the process
// need not wait until it gets it back.
func (s *Store) applyOwn(ctx context.Context, m *nats.Msg, seq uint64) error {
	s.view.index.RLock()
	next := s.view.applied+1 == seq
	s.view.index.RUnlock()
	if !next {
		return nil
	}
	r, err := s.streams.receive(ctx, m.Subject, seq, m.Data)
	if err != nil {
		return err
	}
	return s.view.apply(r)
}

// look finds out why the server did not take a message.
func (s *Store) look(ctx context.Context, thread string, expected uint64) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	s.view.index.RLock()
	sub := s.view.subjects[thread]
	moved := sub != nil && sub.last != expected
	s.view.index.RUnlock()
	if moved {
		return nil
	}
	m, _, err := s.streams.newest(ctx, "read the end of a thread", s.streams.names.log(), s.streams.names.logSubject(thread))
	if err != nil && err != errNone {
		return err
	}
	last := uint64(0) // a message that counted for nothing was deleted
	if err == nil {
		last = m.Seq
	}
	s.view.index.Lock()
	defer s.view.index.Unlock()
	if sub := s.view.subjects[thread]; sub != nil && last <= s.view.applied && sub.last == expected {
		sub.last = last
	}
	return nil
}
