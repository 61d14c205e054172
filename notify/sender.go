package notify

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A sender tells one endpoint, while this process has it. All its fields belong to one
// goroutine; attempts and the replay run on others and answer through channels.
type sender struct {
	lease    *lease
	endpoint *Endpoint
	source   *source
	counts   *counts
	log      *slog.Logger
	kick     chan struct{} // something was asked of the endpoint here
	holds    func(bool)    // told when this process has the endpoint, and when no more

	watch     iter.Seq2[*posthouse.Event, error] // of an endpoint that is new
	feed      *feed
	item      *item     // what is being told; nil: nothing
	told      int       // messages of it that were tried
	busy      bool      // an attempt is under way
	retried   bool      // the last attempt was one more of a message that waits
	dirty     bool      // the state was not saved as it is
	confirmed time.Time // when a read or write began that found the endpoint ours
	notBefore time.Time // an attempt may begin
	replaying *replaying
}

// A result is how an attempt ended.
type result struct {
	pending *pending  // nil: the first attempt of a message of the item
	message *Message  // nil: it is not in the log any more
	err     error     // of the store, before the attempt
	failure *Failure  // nil: the receiver has it, or there was nothing to send
	made    *Delivery // nil: no attempt was made, or there was nothing to send
}

// run has the endpoint and tells it, or waits until another process is gone, until ctx ends.
func (s *sender) run(outer context.Context) {
	for outer.Err() == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(outer)) // of reads and attempts: they outlive outer by a moment
		s.watch = nil
		s.lease.begin = func() { s.watch = s.source.ledger.Watch(ctx, ledger.WatchQuery{Cursor: "now"}) }
		if s.lease.acquire(outer) == nil {
			s.holds(true)
			err := s.serve(outer, ctx, cancel)
			s.holds(false)
			if outer.Err() == nil {
				s.log.Warn("an endpoint was lost to another process", "endpoint", s.endpoint.Name, "error", err)
			}
		}
		cancel()
	}
}

// Times of a sender.
const (
	saveSoon  = 100 * time.Millisecond // after a delivery
	saveLater = 10 * time.Second       // after records without messages
	lookEvery = time.Second            // for what is asked
	lastWords = 2 * time.Second        // for an attempt under way when the process ends
)

// serve tells the endpoint until ctx ends or the endpoint is lost. An attempt under way is given a
// moment to end.
func (s *sender) serve(outer, ctx context.Context, cancel func()) (err error) {
	var work sync.WaitGroup
	results := make(chan *result, 1)
	defer func() {
		if outer.Err() != nil && s.busy {
			select {
			case r := <-results:
				err = errors.Join(err, s.settled(ctx, r))
			case <-time.After(lastWords):
			}
		}
		cancel()
		work.Wait()
		if !errors.Is(err, errLost) {
			s.pass()
			s.lease.release(outer)
		}
	}()
	s.start(ctx, &work)
	look, late := time.NewTicker(lookEvery), time.NewTicker(saveLater)
	defer look.Stop()
	defer late.Stop()
	soon := time.NewTimer(saveSoon)
	defer soon.Stop()
	for {
		if err := s.next(ctx, &work, results); err != nil {
			return err
		}
		items, due := s.ready()
		select {
		case <-outer.Done():
			return outer.Err()
		case s.item = <-items:
			s.told = 0
		case r := <-results:
			err = s.settled(ctx, r)
			soon.Reset(saveSoon)
		case <-due:
		case p := <-s.replaying.steps():
			s.replayed(p)
			soon.Reset(saveSoon)
		case <-soon.C:
			err = s.saveDirty(ctx)
		case <-late.C:
			s.pass()
			err = s.saveDirty(ctx)
		case <-look.C:
			err = s.look(ctx, &work)
		case <-s.kick:
			err = s.look(ctx, &work)
		}
		if err != nil {
			return err
		}
	}
}

// start reads the log from the endpoint's place on. One that is new begins with what was written
// since its slot was made.
func (s *sender) start(ctx context.Context, work *sync.WaitGroup) {
	s.feed = &feed{source: s.source, log: s.log, name: s.endpoint.Name, items: make(chan *item), scan: s.lease.state.Scan}
	s.item, s.told, s.busy, s.dirty = nil, 0, false, false
	s.confirmed, s.notBefore = s.source.ledger.Now(), time.Time{}
	watch, cursor, since, at := s.watch, s.lease.state.Cursor, s.lease.state.Since, s.lease.state.At
	if !s.lease.fresh {
		watch = nil
	}
	work.Go(func() { s.feed.run(ctx, watch, cursor, since, at) })
	s.replaying = nil
	s.startReplay(ctx, work)
}

// ready returns the channel of the next item, and one that fires when a message is to be tried
// again: nil where they are not wanted.
func (s *sender) ready() (items chan *item, due <-chan time.Time) {
	if s.busy || !s.lease.state.Gone.IsZero() {
		return nil, nil
	}
	if s.item == nil && !s.lease.state.isDown() {
		items = s.feed.items
	}
	p, at := s.lease.state.due()
	if s.item != nil {
		at = s.notBefore
	} else if at.Before(s.notBefore) {
		at = s.notBefore
	}
	if p != nil || s.item != nil {
		due = time.After(max(at.Sub(s.source.ledger.Now()), 0))
	}
	return items, due
}

// next begins the next attempt, if there is one to be made now.
func (s *sender) next(ctx context.Context, work *sync.WaitGroup, results chan<- *result) error {
	now := s.source.ledger.Now()
	if s.busy || !s.lease.state.Gone.IsZero() || now.Before(s.notBefore) {
		return nil
	}
	p, at := s.lease.state.due()
	again := p != nil && !at.After(now)
	if again && s.retried && s.item == nil && !s.lease.state.isDown() {
		select { // the log has its turn
		case s.item = <-s.feed.items:
			s.told = 0
		default:
		}
	}
	if s.item == nil && !again {
		return nil
	}
	switch err := s.confirm(ctx, now); {
	case errors.Is(err, errLost):
		return err
	case err != nil:
		s.log.Warn("cannot make sure of an endpoint; trying again", "endpoint", s.endpoint.Name, "error", err)
		s.notBefore = now.Add(time.Second)
		return nil
	}
	s.busy = true
	if s.item != nil && (!again || s.retried) {
		s.retried = false
		m := *s.item.messages[s.told]
		m.Attempt = 1
		work.Go(func() {
			made, failure := s.deliver(ctx, &m)
			results <- &result{message: &m, failure: failure, made: made}
		})
		return nil
	}
	s.retried = true
	id, thread, seq, attempt := p.ID, p.Thread, p.Seq, p.Attempts+1
	work.Go(func() {
		r := &result{pending: p}
		r.message, r.err = s.source.find(ctx, thread, seq, id)
		if r.message != nil && r.err == nil {
			r.message.Attempt = attempt
			r.made, r.failure = s.deliver(ctx, r.message)
		}
		results <- r
	})
	return nil
}

// deliver makes one attempt, and keeps how it went with the gate that the message is about.
func (s *sender) deliver(ctx context.Context, m *Message) (made *Delivery, failure *Failure) {
	timed, cancel := context.WithTimeout(ctx, s.endpoint.timeout())
	defer cancel()
	begun := s.source.ledger.Now()
	m.Memo, m.Reached = newMemo(s.source.ledger.Store(), s.endpoint.Name, s.lease.state.Fence, m), nil
	err := s.endpoint.Channel.Deliver(timed, m)
	ended := s.source.ledger.Now()
	passed := errors.Is(err, ErrPassed)
	if err != nil && !passed {
		failure = failureOf(err)
	}
	if !passed || !m.Followed { // what is followed is passed over for each gate that the channel has not told
		s.note(ctx, m, func(t *sent) { t.tried(m, begun, ended, passed, failure) })
	}
	if passed {
		return nil, nil
	}
	s.counts.attempt(s.endpoint.Name, ended.Sub(begun), err)
	return deliveryOf(m, begun, ended.Sub(begun), failure), failure
}

// settled takes the result of an attempt.
func (s *sender) settled(ctx context.Context, r *result) error {
	s.busy = false
	now := s.source.ledger.Now()
	if r.made != nil {
		s.lease.state.made(r.made)
	}
	switch {
	case r.err != nil:
		r.pending.Next = now.Add(time.Second)
		s.log.Warn("a message cannot be read for another attempt", "endpoint", s.endpoint.Name, "message", r.pending.ID, "error", r.err)
		return nil
	case r.message == nil: // its thread was removed
		s.lease.state.remove(r.pending)
	case r.failure == nil:
		if r.made != nil {
			s.lease.state.delivered(now)
		}
		s.lease.state.remove(r.pending)
	default:
		s.failed(r.failure, now)
		s.keep(ctx, r, now)
		if r.failure.Busy {
			s.notBefore = now.Add(r.failure.After)
		}
	}
	s.dirty = true
	if r.pending == nil {
		s.told++
		if r.failure != nil && r.failure.Gone {
			for _, m := range s.item.messages[s.told:] {
				s.wait(m, 0, now, now)
			}
			s.told = len(s.item.messages)
		}
		if s.told == len(s.item.messages) {
			s.lease.state.reach(s.item.place)
			s.item = nil
		}
	}
	if r.failure != nil {
		s.log.Info("a delivery failed", "endpoint", s.endpoint.Name, "message", r.message.ID, "type", r.message.Event.Type, "attempt", r.message.Attempt, "error", r.failure)
		return s.saveDirty(ctx)
	}
	return nil
}

// keep has a message that failed wait for another attempt, or gives it up: if the receiver refused it for
// good, or if all its attempts were made and the receiver took other messages in between.
func (s *sender) keep(ctx context.Context, r *result, now time.Time) {
	p := r.pending
	if p == nil {
		p = s.wait(r.message, 0, now, now)
	}
	p.failed(now, s.lease.state.DeliveredAt)
	p.Next = now.Add(s.endpoint.pause(p.Attempts, r.failure))
	if r.failure.Refused || p.isHopeless(s.endpoint.attempts()) && !r.failure.Gone {
		s.lease.state.remove(p)
		s.lease.state.giveUp(p.ID)
		s.note(ctx, r.message, func(t *sent) { t.GivenUp = t.Took.IsZero() })
		s.counts.givenUp(s.endpoint.Name)
		s.log.Error("a message is given up", "endpoint", s.endpoint.Name, "message", p.ID, "attempts", p.Attempts, "error", r.failure)
		return
	}
	s.lease.state.turn(p, now, s.endpoint.pause(p.Attempts, &Failure{})/4)
}

func (s *sender) wait(m *Message, attempts int, first, next time.Time) *pending {
	p := &pending{ID: m.ID, Thread: s.item.thread, Seq: s.item.seq, Attempts: attempts, First: first, Next: next}
	s.lease.state.Pending = append(s.lease.state.Pending, p)
	return p
}

// pass moves the endpoint's place over records without messages, if nothing before them is
// under way.
func (s *sender) pass() {
	p := s.feed.passed()
	if s.item != nil || p.cursor == "" || p.cursor == s.lease.state.Cursor {
		return
	}
	s.lease.state.reach(p)
	s.dirty = true
}

// saveDirty saves the state if it has changed. It fails only if the endpoint is lost.
func (s *sender) saveDirty(ctx context.Context) error {
	if !s.dirty {
		return nil
	}
	begun := s.source.ledger.Now()
	s.counts.show(s.endpoint.Name, s.lease.state)
	err := s.lease.save(ctx)
	switch {
	case errors.Is(err, errLost):
		return err
	case err != nil:
		if ctx.Err() == nil {
			s.log.Warn("cannot save how far an endpoint is; trying again", "endpoint", s.endpoint.Name, "error", err)
		}
	default:
		s.dirty, s.confirmed = false, begun
	}
	return nil
}

// confirm makes sure of the endpoint if this process may have been away: frozen, or cut off from
// the store. It fails with errLost if another process has, or had, the endpoint.
func (s *sender) confirm(ctx context.Context, now time.Time) error {
	if age := now.Sub(s.confirmed); age >= 0 && age < s.source.ledger.Core().Config.LeaseTTL/2 {
		return nil
	}
	slot, err := s.source.ledger.Store().Slot(ctx, stateKey(s.endpoint.Name), posthouse.SlotOp{Verb: posthouse.SlotGet})
	if errors.Is(err, posthouse.ErrNotFound) {
		return errLost
	}
	if err != nil {
		return err
	}
	have, err := readState(slot.Value)
	if err != nil || have.Owner != s.lease.owner() || have.Fence != s.lease.state.Fence {
		return errLost
	}
	s.confirmed = now
	return nil
}

// look does what is asked of the endpoint, and saves what was not saved.
func (s *sender) look(ctx context.Context, work *sync.WaitGroup) error {
	a, err := s.lease.asked(ctx)
	switch {
	case errors.Is(err, errLost):
		return err
	case err != nil:
		if ctx.Err() == nil {
			s.log.Warn("cannot see what is asked of an endpoint", "endpoint", s.endpoint.Name, "error", err)
		}
		return nil
	case a != nil && a.Replay != nil:
		s.endReplay()
	}
	s.startReplay(ctx, work)
	return s.saveDirty(ctx)
}
