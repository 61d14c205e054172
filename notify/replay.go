package notify

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// replayAttempts is how often a message of a replay is tried, at most.
const replayAttempts = 10

// A progress is how far a replay is.
type progress struct {
	replay
	gone *Failure  // nil: the receiver wants more
	made *Delivery // an attempt, and nothing else is told; nil: how far it is
}

// A replaying is a replay that is under way on a goroutine of its own.
type replaying struct {
	progress chan progress
	cancel   context.CancelFunc
}

// steps returns the channel of its progress, nil if there is no replay.
func (r *replaying) steps() <-chan progress {
	if r == nil {
		return nil
	}
	return r.progress
}

func (r *replaying) stop() {
	if r != nil {
		r.cancel()
	}
}

// startReplay goes on with a replay that is on record, unless that is under way already.
func (s *sender) startReplay(ctx context.Context, work *sync.WaitGroup) {
	on := s.lease.state.Replay
	if on == nil || !on.Ended.IsZero() || s.replaying != nil || !s.lease.state.Gone.IsZero() {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &replaying{progress: make(chan progress), cancel: cancel}
	s.replaying = r
	from := *on
	work.Go(func() {
		defer cancel()
		for ctx.Err() == nil {
			err := s.walk(ctx, &from, r.progress)
			if err == nil || ctx.Err() != nil {
				return
			}
			if f, ok := errors.AsType[*Failure](err); ok && f.Gone {
				select {
				case r.progress <- progress{replay: from, gone: f}:
				case <-ctx.Done():
				}
				return
			}
			s.log.Warn("a replay cannot go on; trying again", "endpoint", s.endpoint.Name, "error", err)
			sleep(ctx, time.Second)
		}
	})
}

// replayed takes the progress of the replay.
func (s *sender) replayed(p progress) {
	if p.made != nil {
		s.lease.state.made(p.made)
		s.dirty = true
		return
	}
	s.lease.state.Replay, s.dirty = &p.replay, true
	if p.gone != nil {
		s.failed(p.gone, s.source.ledger.Now())
	}
	if !p.Ended.IsZero() {
		s.endReplay()
	}
}

// endReplay ends the walk of a replay. One that is not at its end goes on with [sender.startReplay].
func (s *sender) endReplay() {
	s.replaying.stop()
	s.replaying = nil
}

// failed notes an attempt that failed. Once the receiver wants no more, a replay sends nothing either.
func (s *sender) failed(f *Failure, now time.Time) {
	s.lease.state.failed(f, now)
	if f.Gone {
		s.endReplay()
	}
}

// walk tells what happened in the stretch of a replay, from where that is on, and reports its
// progress. It is nil when all is told, and a [Failure] if the receiver wants no more.
func (s *sender) walk(ctx context.Context, at *replay, steps chan<- progress) error {
	tell := func(p progress) bool {
		select {
		case steps <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	recent := posthouse.Millis(at.From.UnixMilli())
	query := posthouse.ThreadQuery{After: at.Thread}
	if at.Thread != "" { // it may have been left in the middle
		if err := s.walkThread(ctx, at, tell); err != nil {
			return err
		}
	}
	for t, err := range s.source.ledger.Store().Threads(ctx, query) {
		switch {
		case err != nil:
			return err
		case t.Updated+60_000 < recent: // it is rounded down to the minute
			continue
		}
		at.Thread, at.Seq = t.Thread, 0
		if err := s.walkThread(ctx, at, tell); err != nil {
			return err
		}
	}
	at.Ended = s.source.ledger.Now()
	tell(progress{replay: *at})
	return ctx.Err()
}

func (s *sender) walkThread(ctx context.Context, at *replay, tell func(progress) bool) error {
	for e, err := range s.source.ledger.Log(ctx, at.Thread, posthouse.Range{From: at.Seq + 1}) {
		switch {
		case errors.Is(err, posthouse.ErrCorrupt), errors.Is(err, posthouse.ErrSealed), errors.Is(err, posthouse.ErrConflict):
			s.log.Error("a thread cannot be replayed", "endpoint", s.endpoint.Name, "thread", at.Thread, "error", err)
			return nil
		case err != nil:
			return err
		case e.At.Before(at.From) || e.At.After(at.To):
			continue
		}
		sent := at.Sent + at.Failed
		for _, r := range e.Events {
			messages, err := s.source.messages(ctx, r)
			if err != nil {
				return err
			}
			for _, m := range messages {
				if err := s.insist(ctx, at, m, tell); err != nil {
					return err
				}
			}
		}
		at.Seq = e.Seq
		if at.Sent+at.Failed > sent && !tell(progress{replay: *at}) {
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// insist tries a message of a replay until the receiver has it, or it is given up. It fails with a
// [Failure] only if the receiver wants no more.
func (s *sender) insist(ctx context.Context, at *replay, m *Message, tell func(progress) bool) error {
	for n := 1; ; n++ {
		m.Attempt = n
		made, f := s.deliver(ctx, m)
		if made != nil {
			made.Replay = true
			tell(progress{made: made})
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case f == nil:
			if made != nil {
				at.Sent++
			}
			return nil
		case f.Gone:
			return f
		case n >= replayAttempts:
			s.note(ctx, m, func(t *sent) { t.GivenUp = t.Took.IsZero() })
			at.Failed++
			return nil
		}
		if !sleep(ctx, s.endpoint.pause(n, f)) {
			return ctx.Err()
		}
	}
}
