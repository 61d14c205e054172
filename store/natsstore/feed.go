package natsstore

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
)

// pulls say how messages are asked for. After two missed heartbeats the server is asked
// again; the network may be slow.
func pulls() []jetstream.PullMessagesOpt {
	return []jetstream.PullMessagesOpt{jetstream.PullExpiry(10 * time.Second), jetstream.PullHeartbeat(3 * time.Second)}
}

// A feed yields the messages of the log's stream in order, from one on.
type feed struct {
	messages jetstream.MessagesContext
}

func (s *streams) feed(ctx context.Context, from uint64) (*feed, error) {
	f := &feed{}
	err := s.retryUnknown(ctx, "read the log", func(ctx context.Context) error {
		c, err := s.log.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from})
		if err == nil {
			f.messages, err = c.Messages(pulls()...)
		}
		return err
	})
	return f, err
}

// receive reads a message of the stream.
func (s *streams) receive(ctx context.Context, subject string, seq uint64, data []byte) (*received, error) {
	r := &received{seq: seq, item: itemOf(seq, data)}
	damaged := func(err error) error { return s.lost("message %d of the log: %v", seq, err) }
	m, chunks, err := decode(data)
	if err == nil && m == nil {
		var whole []byte
		whole, err = s.readChunks(ctx, chunks)
		if err != nil {
			return nil, err
		}
		r.spill = chunks
		m, _, err = decode(whole)
		if err == nil && m == nil {
			err = posthouse.Corrupt("its chunks have no message")
		}
	}
	if err == nil && s.names.logSubject(m.thread) != subject {
		err = posthouse.Corrupt("it is of thread %q", m.thread)
	}
	if err != nil {
		return nil, damaged(err)
	}
	r.msg = m
	for i := range m.parts {
		p := &m.parts[i]
		e, err := p.read()
		if err == nil && e.Entry.Thread != m.thread {
			err = posthouse.Corrupt("it has an entry of thread %q", e.Entry.Thread)
		}
		if err != nil {
			return nil, damaged(err)
		}
		r.parts = append(r.parts, e)
	}
	return r, nil
}

// drain calls f for each message until there are no more, or the server stops sending. It waits
// for Options.Timeout for the message last, 0 for any.
func (s *streams) drain(ctx context.Context, messages jetstream.MessagesContext, last uint64, f func(jetstream.Msg, *jetstream.MsgMetadata) error) error {
	most := max(stalls, int(s.opts.Timeout/patience)) // as often it may stall before the message last
	seen := uint64(0)
	for silent := 0; silent < stalls || seen < last && silent < most; {
		m, err := messages.Next(jetstream.NextMaxWait(patience))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoHeartbeat):
			silent++
			if _, err := s.streamInfo(ctx); err != nil { // on a slow network its answer comes after the message
				return err
			}
			continue
		case err != nil:
			return err
		}
		silent = 0
		meta, err := m.Metadata()
		if err == nil {
			err = f(m, meta)
		}
		if err != nil {
			return err
		}
		seen = meta.Sequence.Stream
		if meta.NumPending == 0 && seen >= last {
			return nil
		}
	}
	return nil
}

func (s *streams) streamInfo(ctx context.Context) (info *jetstream.StreamInfo, err error) {
	err = s.retryUnknown(ctx, "ask for the end of the log", func(ctx context.Context) error {
		info, err = s.log.Info(ctx)
		return err
	})
	return info, err
}
