package natsstore_test

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse/store/natsstore"
)

// A laggard is a server that gives one message of the log, is silent, and then gives the next.
type laggard struct {
	jetstream.MessagesContext
	given  uint64
	silent int // so many times yet
}

// Next implements [jetstream.MessagesContext].
func (l *laggard) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	if l.given == 1 && l.silent > 0 {
		l.silent--
		return nil, nats.ErrTimeout
	}
	l.given++
	return numbered{seq: l.given}, nil
}

// A numbered is the last message of its server.
type numbered struct {
	jetstream.Msg
	seq uint64
}

// Metadata implements [jetstream.Msg].
func (m numbered) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{Sequence: jetstream.SequencePair{Stream: m.seq}}, nil
}

// TestLaggingServerIsWaitedFor: a server that lacks a message which is known to be there is
// waited for, for as long as Options.Timeout. Otherwise its messages are all there are.
func TestLaggingServerIsWaitedFor(t *testing.T) {
	s := openAt(t, startServer(t, t.TempDir()).ClientURL(), &natsstore.Options{Timeout: 5 * time.Second}) // 10 silences
	for name, c := range map[string]struct {
		last   uint64
		silent int
		want   []uint64
	}{
		"waited for": {2, 9, []uint64{1, 2}},
		"too long":   {2, 11, []uint64{1}},
		"any":        {0, 9, []uint64{1}},
	} {
		got, err := s.Drain(t.Context(), &laggard{silent: c.silent}, c.last)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, error %v", name, got, err)
		}
	}
}
