package natshint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/hint"
)

// pulse is how often a server says that it is there while a Take waits. A server that is
// silent for two of them is away.
const pulse = time.Second

// Take implements [hint.Queue].
func (q *Queue) Take(ctx context.Context, d hint.Demand, fn func(hint.Delivery)) error {
	for once := false; ; once = true {
		c, err := q.consumer(ctx, d)
		if err != nil {
			return err
		}
		err = q.take(ctx, c, d, func(x hint.Delivery) {
			d.N--
			fn(x)
		})
		switch {
		case err == nil || ctx.Err() != nil || d.N == 0:
			return nil
		case once || !isGone(err):
			return away("ask the queue for tasks", err)
		}
		q.forget(d) // somebody deleted the consumer, perhaps with the stream
	}
}

// isGone reports whether a consumer is not there.
func isGone(err error) bool {
	return errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrConsumerNotFound)
}

func (q *Queue) take(ctx context.Context, c jetstream.Consumer, d hint.Demand, fn func(hint.Delivery)) error {
	wait, cancel := context.WithTimeout(ctx, max(d.Wait, 3*pulse))
	defer cancel()
	batch, err := c.Fetch(d.N, jetstream.FetchContext(wait), jetstream.FetchHeartbeat(pulse))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		h, err := hint.Parse(m.Data())
		if err == nil && m.Subject() != q.subjectOf(h.Task, h.Group, h.Gate) {
			err = posthouse.Invalid("hint", "names another task, group or gate than its subject")
		}
		one := &delivery{q, m, h}
		if err != nil {
			one.Dead(err.Error())
			continue
		}
		fn(one)
	}
	if err := batch.Error(); err != nil && wait.Err() == nil {
		return err
	}
	return nil
}

// consumer returns the consumer of a task and group, and makes it where it is not there.
func (q *Queue) consumer(ctx context.Context, d hint.Demand) (jetstream.Consumer, error) {
	key := settings(d)
	q.mu.Lock()
	c := q.consumers[key]
	q.mu.Unlock()
	if c != nil {
		return c, nil
	}
	most := d.Most
	if most == 0 {
		most = -1
	}
	prefix := q.prefixOf(d.Task, d.Group)
	c, err := q.makeConsumer(ctx, prefix, jetstream.ConsumerConfig{
		Description: prefix, FilterSubject: prefix + ".*",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: d.Lease, MaxAckPending: most, MaxDeliver: -1, InactiveThreshold: idle,
	})
	if err != nil {
		return nil, away("make the line of a task", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.consumers) >= maxConsumers {
		clear(q.consumers) // they are found again where they are still asked for
	}
	q.consumers[key] = c
	return c, nil
}

// makeConsumer makes a consumer that is named after its subjects and the time at which the stream was
// made. An acknowledgement goes to the consumer that gave the hint, by its number: one of a
// stream that was made again must not take it for its own hint of that number. A line has one
// consumer: one of another name was made for a stream that is lost, and is deleted.
func (q *Queue) makeConsumer(ctx context.Context, prefix string, o jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	s, err := q.js.Stream(ctx, q.hints())
	if err != nil {
		return nil, err
	}
	for {
		made := s.CachedInfo().Created
		sum := sha256.Sum256([]byte(prefix + made.UTC().Format(time.RFC3339Nano)))
		o.Durable = hex.EncodeToString(sum[:16])
		c, err := s.CreateOrUpdateConsumer(ctx, o)
		if isTaken(err) {
			err = deleteOthers(ctx, s, &o)
			if err == nil {
				c, err = s.CreateOrUpdateConsumer(ctx, o)
			}
		}
		if err != nil {
			return nil, err
		}
		now, err := s.Info(ctx)
		if err != nil {
			return nil, err
		}
		if now.Created.Equal(made) {
			return c, nil
		}
	}
}

// filterNotUnique is the server's code for a work queue's second consumer of the same subjects. Package
// jetstream has no name for it.
const filterNotUnique = 10100

// isTaken reports whether a consumer was refused because its subjects have another one.
func isTaken(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.ErrorCode == filterNotUnique
}

// deleteOthers deletes the consumers of the same subjects that have another name.
func deleteOthers(ctx context.Context, s jetstream.Stream, o *jetstream.ConsumerConfig) error {
	all := s.ListConsumers(ctx)
	for c := range all.Info() {
		if c.Config.FilterSubject != o.FilterSubject || c.Name == o.Durable {
			continue
		}
		if err := s.DeleteConsumer(ctx, c.Name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
	}
	return all.Err()
}

func (q *Queue) forget(d hint.Demand) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.consumers, settings(d))
}

func settings(d hint.Demand) string {
	return fmt.Sprintf("%q %q %s %d", d.Task, d.Group, d.Lease, d.Most)
}

// A delivery is a message with a hint.
type delivery struct {
	queue *Queue
	msg   jetstream.Msg
	hint  hint.Hint
}

var _ hint.Delivery = (*delivery)(nil)

// Hint implements [hint.Delivery].
func (d *delivery) Hint() hint.Hint { return d.hint }

// Ack implements [hint.Delivery].
func (d *delivery) Ack() { d.said(d.msg.Ack()) }

// InProgress implements [hint.Delivery].
func (d *delivery) InProgress() { d.said(d.msg.InProgress()) }

// Later implements [hint.Delivery].
func (d *delivery) Later(after time.Duration) {
	if after <= 0 {
		d.said(d.msg.Nak())
		return
	}
	d.said(d.msg.NakWithDelay(after))
}

// said notes what could not be said: the hint comes again after its lease.
func (d *delivery) said(err error) {
	if err != nil {
		d.queue.log.Debug("the queue does not hear what becomes of a hint", "gate", d.hint.Gate, "error", err)
	}
}

// Dead implements [hint.Delivery]. The hint stays where it is until its letter is kept.
func (d *delivery) Dead(reason string) {
	d.queue.log.Warn("a hint cannot be used: it goes to the dead letters", "subject", d.msg.Subject(), "bytes", len(d.msg.Data()), "reason", reason)
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	err := d.queue.Put(ctx, deadletter.Letter{Kind: deadletter.Hint, Subject: d.msg.Subject(), Reason: reason, Data: d.msg.Data()})
	if err != nil {
		d.queue.log.Warn("a dead letter cannot be kept: the hint comes again", "subject", d.msg.Subject(), "error", err)
		d.Later(answerTime)
		return
	}
	d.said(d.msg.TermWithReason("dead letter"))
}
