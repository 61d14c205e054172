package natsstore

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
)

// slotThreads are a thread of each bucket.
var slotThreads = [2]string{"", posthouse.ProcessThread}

// verify reads all slots, and compares the buckets with a witness.
func (s *slots) verify(ctx context.Context, w *witness) error {
	for i, thread := range slotThreads {
		bucket := s.streams.names.bucket(thread)
		var stream jetstream.Stream
		err := s.streams.retryUnknown(ctx, "look at the slots", func(ctx context.Context) (err error) {
			stream, err = s.streams.js.Stream(ctx, "KV_"+bucket)
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return s.streams.lost("the bucket %s is gone", bucket)
			}
			return err
		})
		if err != nil {
			return err
		}
		state := stream.CachedInfo().State
		if have := w.slots[i]; state.LastSeq < have.last || state.NumSubjects < have.keys {
			return s.streams.lost("the bucket %s has %d keys up to message %d, and had %d up to %d", bucket, state.NumSubjects, state.LastSeq, have.keys, have.last)
		}
		seen, err := s.verifyBucket(ctx, stream)
		if err == nil {
			err = s.verifyUnseen(ctx, stream, seen)
		}
		if err != nil {
			return s.streams.wrap("look at the slots", err)
		}
	}
	return nil
}

// verifyUnseen looks for the keys of a bucket that were not seen when it was read: they were
// written again since, or they are lost.
func (s *slots) verifyUnseen(ctx context.Context, stream jetstream.Stream, seen map[string]bool) error {
	if uint64(len(seen)) >= stream.CachedInfo().State.NumSubjects {
		return nil
	}
	now, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return err
	}
	for subject := range now.State.Subjects {
		if seen[subject] {
			continue
		}
		key, ok := slotKey(subject)
		if !ok {
			return s.streams.lost("a bucket has %.80q", subject)
		}
		if v, err := s.read(ctx, "look at the slots", key); err != nil {
			return err
		} else if v.last > 0 {
			continue
		}
		// removed since, or lost
		again, err := stream.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err != nil {
			return err
		}
		if again.State.Subjects[subject] > 0 {
			return s.streams.lost("the slot %q of thread %q", key.Step, key.Thread)
		}
	}
	return nil
}

// verifyBucket reads all slots of a bucket, and returns the subjects it saw.
func (s *slots) verifyBucket(ctx context.Context, stream jetstream.Stream) (seen map[string]bool, err error) {
	if stream.CachedInfo().State.Msgs == 0 {
		return nil, nil
	}
	c, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	messages, err := c.Messages(pulls()...)
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	seen = map[string]bool{}
	err = s.streams.drain(ctx, messages, 0, func(m jetstream.Msg, meta *jetstream.MsgMetadata) error {
		key, ok := slotKey(m.Subject())
		if !ok {
			return s.streams.lost("a bucket has %.80q", m.Subject())
		}
		if _, err := s.parse(ctx, key, &stored{Seq: meta.Sequence.Stream, Data: m.Data()}, m.Headers()); err != nil {
			_, err = s.read(ctx, "look at the slots", key) // it may have been written again
			if err != nil {
				return err
			}
		}
		seen[m.Subject()] = true
		return nil
	})
	return seen, err
}

// ends returns how far the buckets are.
func (s *slots) ends(ctx context.Context) (ends [2]slotEnd, err error) {
	for i, thread := range slotThreads {
		stream, err := s.streams.js.Stream(ctx, "KV_"+s.streams.names.bucket(thread))
		if err != nil {
			return ends, err
		}
		ends[i].last = stream.CachedInfo().State.LastSeq
		if s.streams.own != nil {
			ends[i].keys = stream.CachedInfo().State.NumSubjects
		}
	}
	return ends, nil
}
