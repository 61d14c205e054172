package natsstore

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse/store/natsstore/internal/embedded"
)

// Lazy makes a server in this process sync every other minute, as NATS does by itself.
func (o Options) Lazy() *Options {
	o.lazy = true
	return &o
}

// Grace sets the age at which chunks count as left over.
func (o Options) Grace(d time.Duration) *Options {
	o.grace = d
	return &o
}

// MakeLate makes the streams of an open store, as a process does that looked for them just
// before another made them.
func (s *Store) MakeLate(ctx context.Context) error { return s.create(ctx, s.streams.configs()) }

// Behind makes this store's reads reach copies that lack every message.
func (s *Store) Behind() {
	s.streams.log, s.streams.aside = behind{s.streams.log}, behind{s.streams.aside}
}

// behind is a copy of a stream that has not received its messages yet.
type behind struct{ jetstream.Stream }

func (behind) GetMsg(context.Context, uint64, ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return nil, jetstream.ErrMsgNotFound
}

// NewerWitness is a witness as a later version writes it.
func NewerWitness() []byte { return (&witness{format: format + 1, life: "later"}).encode() }

// Leaps is leaps.
func Leaps(name string, data []byte, far uint64) (at int, found bool) {
	return embedded.Leaps(name, data, far)
}

// Drain is drain, with the numbers of the messages.
func (s *Store) Drain(ctx context.Context, messages jetstream.MessagesContext, last uint64) (seqs []uint64, err error) {
	err = s.streams.drain(ctx, messages, last, func(_ jetstream.Msg, meta *jetstream.MsgMetadata) error {
		seqs = append(seqs, meta.Sequence.Stream)
		return nil
	})
	return seqs, err
}
