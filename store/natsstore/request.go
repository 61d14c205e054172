package natsstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse/internal/base/backoff"
)

// attempt is how long a request waits for its answer before it is sent again, unless answers
// come later than that: then it is twice, four or eight times as long.
const (
	attempt  = 2 * time.Second
	mostLate = 3
)

// once sends a request and waits for its answer, within ctx.
func (s *streams) once(ctx context.Context, send func(context.Context) error) error {
	late := s.late.Load()
	waits, cancel := context.WithTimeout(ctx, attempt<<late)
	defer cancel()
	soon := time.NewTimer(attempt / 2)
	err := send(waits)
	switch {
	case soon.Stop() && err == nil:
		s.late.Store(0)
	case err != nil && waits.Err() != nil && ctx.Err() == nil:
		s.late.CompareAndSwap(late, min(late+1, mostLate))
	}
	return err
}

// retryUnknown calls fn until the server answers, for as long as Options.Timeout.
func (s *streams) retryUnknown(ctx context.Context, doing string, fn func(ctx context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	for wait := newRetries(); ; {
		if err := s.lifecycle.Usable(ctx); err != nil {
			return err
		}
		err := s.wrap(doing, s.once(within, fn))
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && !s.lifecycle.Closed():
			return ctx.Err()
		case !isLost(err):
			return err
		}
		if !s.pause(within, &wait) {
			return err
		}
		s.opts.Logger.Warn("posthouse: asking NATS again", "store", s.where, "doing", doing, "err", err)
	}
}

// newRetries returns waits for a server that may be back soon.
func newRetries() backoff.Retries {
	return backoff.Retries{Waits: backoff.Waits{First: 5 * time.Millisecond, Most: 500 * time.Millisecond}}
}

// pause waits before the next attempt, and no longer than until the store closes. It
// reports false if ctx ends first.
func (s *streams) pause(ctx context.Context, retries *backoff.Retries) bool {
	t := time.NewTimer(retries.Wait())
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.closing.Done():
		return true
	}
}

// writable returns why the store takes no writes, or nil.
func (s *streams) writable(ctx context.Context) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	return s.diskError()
}

// publish sends a message to a stream, which takes it if expected is the sequence of the last
// one with its subject. It returns its sequence.
func (s *streams) publish(ctx context.Context, stream string, m *nats.Msg, expected uint64) (seq uint64, err error) {
	err = s.write(ctx, stream, func(ctx context.Context) error {
		ack, err := s.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(expected), jetstream.WithRetryAttempts(0))
		if err == nil {
			seq = ack.Sequence
		}
		return err
	})
	return seq, err
}

// publishOnce is publish to the log, for a caller who looks for itself what became of the
// message.
func (s *streams) publishOnce(ctx context.Context, m *nats.Msg, expected uint64) (seq uint64, err error) {
	err = s.once(ctx, func(ctx context.Context) (err error) {
		seq, err = s.publish(ctx, s.names.log(), m, expected)
		return err
	})
	return seq, err
}

// A stored message is one that a stream's leader has.
type stored struct {
	Subject string `json:"subject"`
	Seq     uint64 `json:"seq"`
	Hdrs    []byte `json:"hdrs"`
	Data    []byte `json:"data"`
}

// newest asks the leader of a stream for the last message with a subject. It fails
// with [errNone] if there is no such message, or no stream.
func (s *streams) newest(ctx context.Context, doing, stream, subject string) (m *stored, header nats.Header, err error) {
	m, err = s.askLeader(ctx, doing, stream, map[string]any{"last_by_subj": subject})
	if err != nil {
		return nil, nil, err
	}
	if len(m.Hdrs) > 0 {
		header, err = nats.DecodeHeadersMsg(m.Hdrs)
	}
	return m, header, s.wrap(doing, err)
}

// askLeader asks the leader of a stream for a message, never a copy that may lag. It
// fails with [errNone] if there is no such message, or no stream.
func (s *streams) askLeader(ctx context.Context, doing, stream string, which map[string]any) (m *stored, err error) {
	ask, err := json.Marshal(which)
	if err != nil {
		return nil, err
	}
	err = s.retryUnknown(ctx, doing, func(ctx context.Context) error {
		r, err := s.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, ask)
		if err != nil {
			return err
		}
		var answer struct {
			Error   *jetstream.APIError `json:"error"`
			Message *stored             `json:"message"`
		}
		if err := json.Unmarshal(r.Data, &answer); err != nil {
			return err
		}
		m = answer.Message
		if answer.Error != nil {
			return answer.Error
		}
		return nil
	})
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeMessageNotFound || api.ErrorCode == jetstream.JSErrCodeStreamNotFound) {
		return nil, errNone
	}
	return m, err
}
