package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// hints is the stream of the queue that engines share.
const hints = "posthouse-hints"

// wipe loses the queue: its stream is emptied, or deleted. Where the server does not answer,
// or no engine has made the stream yet, there is nothing to lose.
func (m *monkey) wipe(ctx context.Context, whole bool) error {
	conn, err := nats.Connect("nats://" + m.address)
	if err != nil {
		return nil
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if whole {
		err = js.DeleteStream(ctx, hints)
	} else {
		var s jetstream.Stream
		s, err = js.Stream(ctx, hints)
		if err == nil {
			err = s.Purge(ctx)
		}
	}
	switch {
	case err == nil:
		m.done.Queue++
	case !errors.Is(err, jetstream.ErrStreamNotFound) && ctx.Err() == nil:
		m.say("the queue is not wiped: %v", err)
	}
	return nil
}
