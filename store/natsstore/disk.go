package natsstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// A server in this process says of each of its lives why there are no writes. If there was no
// room, writes fail as full, and the server is started again once there is some. After any other
// failure the disk's content is unknown, and the store takes no more writes.

// diskError returns why the disk of a server in this process takes no writes, or nil.
func (s *streams) diskError() error {
	if s.own == nil {
		return nil
	}
	if e := s.own.Life().Failure(); e != nil {
		return e
	}
	return nil
}

// answerTime is how long the answer to a write that was done may be on its way within this
// process.
const answerTime = 100 * time.Millisecond

// write sends a request that writes to a stream. It does not wait for a server in this process
// after a failed write of this stream: that server does not answer. Then it fails as full, or
// as unknown if the write may have been done.
func (s *streams) write(ctx context.Context, stream string, send func(context.Context) error) error {
	if s.own == nil {
		return send(ctx)
	}
	l := s.own.Life()
	if e := l.Failure(); e != nil {
		return e
	}
	waits, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := l.Failed(stream)
	stop := context.AfterFunc(failed, func() { time.AfterFunc(answerTime, cancel) })
	defer stop()
	err := send(waits)
	if err == nil || hasMoved(err) || failed.Err() == nil {
		return err
	}
	e := *l.Failure()
	if e.Code != posthouse.CodeFull {
		e.Code = posthouse.CodeUnknown
	}
	return &e
}

// probeEvery is how often the store looks whether there is room.
const probeEvery = time.Second

// keepWriting starts the server in this process again when its disk was full and has room,
// until the store closes.
func (s *Store) keepWriting() {
	for {
		l := s.streams.own.Life()
		select {
		case <-s.ctx.Done():
			return
		case <-l.AnyFailed().Done():
		}
		e := l.Failure()
		s.opts.Logger.Error("posthouse: NATS in this process takes no writes", "store", s.streams.where, "err", e)
		for e.Code == posthouse.CodeFull && !s.startAgain() {
			t := time.NewTimer(probeEvery)
			select {
			case <-t.C:
			case <-s.ctx.Done():
				t.Stop()
				return
			}
			e = l.Failure()
		}
		if e.Code != posthouse.CodeFull {
			s.lifecycle.Poison(e)
			return
		}
	}
}

// startAgain starts the server again if there is room, and looks whether it has all that
// it had. It reports false to be called later.
func (s *Store) startAgain() bool {
	if !s.streams.own.HasRoom() {
		return false
	}
	next, err := s.streams.own.Restart()
	if err == nil {
		err = s.checkStream(s.ctx)
	}
	switch {
	case s.ctx.Err() != nil:
		return false
	case errors.Is(err, posthouse.ErrCorrupt):
		var e *posthouse.Error
		errors.As(err, &e)
		s.lifecycle.Poison(e)
	case err != nil:
		s.opts.Logger.Warn("posthouse: NATS in this process does not start", "store", s.streams.where, "err", err)
		return false
	}
	s.streams.own.Adopt(next)
	if s.lifecycle.Damage() == nil {
		s.finishLeft()
		s.opts.Logger.Info("posthouse: there is room again, and NATS in this process takes writes", "store", s.streams.where)
	}
	return true
}

// undeleted is what the log says is gone, and there was no room to delete.
type undeleted struct {
	mu   sync.Mutex
	rest rest
}

// add keeps more, until there is room.
func (u *undeleted) add(left rest) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rest.messages = append(u.rest.messages, left.messages...)
	u.rest.chunks = append(u.rest.chunks, left.chunks...)
}

// take returns all, and keeps nothing.
func (u *undeleted) take() rest {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.rest
	u.rest = rest{}
	return all
}

// finishLeft deletes what there was no room to delete.
func (s *Store) finishLeft() {
	left := s.undeleted.take()
	if len(left.messages) == 0 {
		return
	}
	if err := s.finish(s.ctx, left); err != nil {
		s.opts.Logger.Warn("posthouse: cannot delete what was removed", "store", s.streams.where, "err", err)
	}
}
