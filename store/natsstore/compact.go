package natsstore

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
)

// chunkGrace is how old a chunk is, by the server's clock, before it counts as left over:
// the message that refers to it comes within Options.Timeout.
const chunkGrace = time.Hour

// Compact implements [posthouse.Compacter]. It deletes large bodies older than an hour that
// belong to no entry and no slot: leftovers of lost connections and killed processes.
func (s *Store) Compact(ctx context.Context) (done posthouse.Compacted, err error) {
	if err := s.streams.writable(ctx); err != nil {
		return done, err
	}
	done.Before, err = s.streams.asideSize(ctx)
	if err != nil {
		return done, err
	}
	chunks, err := s.streams.oldChunks(ctx)
	if err != nil {
		return done, s.streams.wrap("compact", err)
	}
	kept, err := s.keptChunks(ctx) // after what was old was read
	if err != nil {
		return done, s.streams.wrap("compact", err)
	}
	var left []uint64
	for _, c := range chunks {
		if !kept[c] {
			left = append(left, c)
		}
	}
	if err := s.streams.erase(ctx, s.streams.aside, left); err != nil {
		return done, err
	}
	done.After, err = s.streams.asideSize(ctx)
	return done, err
}

func (s *streams) asideSize(ctx context.Context) (bytes int64, err error) {
	err = s.retryUnknown(ctx, "look at large bodies", func(ctx context.Context) error {
		info, err := s.aside.Info(ctx)
		if err == nil {
			bytes = int64(info.State.Bytes)
		}
		return err
	})
	return bytes, err
}

// oldChunks returns the chunks that are past their grace.
func (s *streams) oldChunks(ctx context.Context) (old []uint64, err error) {
	info, err := s.aside.Info(ctx, jetstream.WithSubjectFilter(s.names.chunkSubject()))
	if err != nil || info.State.Subjects[s.names.chunkSubject()] == 0 {
		return nil, err
	}
	c, err := s.aside.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{s.names.chunkSubject()}, HeadersOnly: true})
	if err != nil {
		return nil, err
	}
	messages, err := c.Messages(pulls()...)
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	err = s.drain(ctx, messages, 0, func(_ jetstream.Msg, meta *jetstream.MsgMetadata) error {
		if info.TimeStamp.Sub(meta.Timestamp) > s.grace() {
			old = append(old, meta.Sequence.Stream)
		}
		return nil
	})
	return old, err
}

func (s *streams) grace() time.Duration {
	if s.opts.grace != 0 {
		return s.opts.grace
	}
	return chunkGrace
}

// keptChunks returns the chunks that an entry or a slot refers to.
func (s *Store) keptChunks(ctx context.Context) (map[uint64]bool, error) {
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	kept := map[uint64]bool{}
	s.view.index.RLock()
	for _, chunks := range s.view.chunks {
		for _, c := range chunks {
			kept[c] = true
		}
	}
	s.view.index.RUnlock()
	keys, err := s.slots.keys(ctx, "")
	for _, key := range keys {
		have, err := s.slots.read(ctx, "compact", key)
		if err != nil {
			return nil, err
		}
		for _, c := range have.chunks {
			kept[c] = true
		}
	}
	return kept, err
}
