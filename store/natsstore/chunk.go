package natsstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Chunks are the bytes of what is too large for one message, or for those that every
// process receives. They are in a stream of their own, before what refers to them.

// putChunks writes bytes, and returns where they are.
func (s *streams) putChunks(ctx context.Context, b []byte) (seqs []uint64, err error) {
	for chunk := range slices.Chunk(b, s.room) {
		err := s.retryUnknown(ctx, "write a large body", func(ctx context.Context) error {
			return s.write(ctx, s.names.aside(), func(ctx context.Context) error {
				ack, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: s.names.chunkSubject(), Data: chunk}, jetstream.WithRetryAttempts(0))
				if err == nil {
					seqs = append(seqs, ack.Sequence)
				}
				return err
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return seqs, nil
}

// readChunks reads what putChunks wrote. Whoever wrote it knows its checksum.
func (s *streams) readChunks(ctx context.Context, seqs []uint64) (b []byte, err error) {
	for _, seq := range seqs {
		m, err := s.getMessage(ctx, s.aside, seq)
		if err != nil {
			return nil, err
		}
		b = append(b, m.Data...)
	}
	return b, nil
}

// catchUpTime is how long copies of a stream have to get a message that another has sent.
const catchUpTime = 2 * time.Second

// getMessage reads a message that was seen, by its sequence. It fails with
// [posthouse.ErrCorrupt] if the message is not there. Any copy of the stream may answer, and may
// lag the copy that sent the message, even the leader's. So getMessage repeats the request for a
// while if there are several copies.
func (s *streams) getMessage(ctx context.Context, stream jetstream.Stream, seq uint64) (*stored, error) {
	const doing = "read a message"
	config := stream.CachedInfo().Config
	late := time.NewTimer(catchUpTime)
	defer late.Stop()
	for wait := 5 * time.Millisecond; ; wait *= 2 {
		var m *jetstream.RawStreamMsg
		err := s.retryUnknown(ctx, doing, func(ctx context.Context) (err error) {
			m, err = stream.GetMsg(ctx, seq)
			return err
		})
		if err == nil {
			return &stored{Subject: m.Subject, Seq: m.Sequence, Data: m.Data}, nil
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, err
		}
		had, err := s.askLeader(ctx, doing, config.Name, map[string]any{"seq": seq})
		if !errors.Is(err, errNone) {
			return had, err
		}
		if config.Replicas > 1 {
			select {
			case <-time.After(wait):
				continue
			case <-late.C:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return nil, s.lost("message %d of stream %s is missing", seq, config.Name)
	}
}

// erase deletes messages for good: the server writes over their bytes. It skips
// messages that are gone already.
func (s *streams) erase(ctx context.Context, stream jetstream.Stream, seqs []uint64) error {
	for _, seq := range seqs {
		err := s.retryUnknown(ctx, "delete what was removed", func(ctx context.Context) error {
			err := s.write(ctx, stream.CachedInfo().Config.Name, func(ctx context.Context) error { return stream.SecureDeleteMsg(ctx, seq) })
			var api *jetstream.APIError
			if errors.As(err, &api) && strings.Contains(api.Description, "no message found") {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
