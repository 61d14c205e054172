package posthouse

import (
	"log/slog"
	"time"
)

// An Observer is told of operations after they are durable: exactly one event
// for each logical operation, the same on every store. Its functions run on the
// caller's goroutine, so they must be quick and safe for concurrent use; one
// that panics is logged and swallowed. Nil functions are passed over. For a
// durable feed that misses nothing use [Ledger.Watch]. What an event holds is the
// observer's own.
type Observer struct {
	Saved   func(ObserverEvent) // a checkpoint was committed
	Loaded  func(ObserverEvent) // a checkpoint was read with its state
	Forked  func(ObserverEvent) // a fork was made; Source is set
	Deleted func(ObserverEvent) // a checkpoint, thread or coordination was deleted
	Decided func(ObserverEvent) // a gate got its decision
	Evicted func(ObserverEvent) // retention removed a checkpoint, by policy or by the cap

	Released func(ObserverEvent) // a thread was released
	Copied   func(ObserverEvent) // a thread was copied; Source names the original

	Signalled func(ObserverEvent) // a signal was sent; before Decided of the gates that it answers
	Voted     func(ObserverEvent) // somebody voted on a gate; before Decided where the vote met the rule
}

// An ObserverEvent tells of one operation.
type ObserverEvent struct {
	At           time.Time
	Thread       string
	Coordination string   // of the checkpoint, else of the thread when it happened; for Deleted only where a coordination was
	ID           ID       // of the checkpoint; of the gate for Decided and Voted, of the signal for Signalled
	Source       *Source  // for Forked
	Header       *Header  // for Saved, Loaded and Forked
	Gate         *Gate    // for Decided, and for Voted as the vote left it
	Count        int      // for Deleted: checkpoints that went; for Released: that the version has; for Copied: that were copied
	Release      *Release // for Released

	Signal *Signal   // for Signalled
	Vote   *Decision // for Voted
}

// Tee returns an Observer that tells each of obs in turn.
func Tee(obs ...*Observer) *Observer {
	return observerOf(func(pick func(*Observer) func(ObserverEvent)) func(ObserverEvent) {
		return func(e ObserverEvent) {
			for _, o := range obs {
				if o != nil && pick(o) != nil {
					pick(o)(e)
				}
			}
		}
	})
}

// through returns an Observer that hands obs' functions to tell, each with its
// event.
func through(obs *Observer, tell func(func(ObserverEvent), ObserverEvent)) *Observer {
	return observerOf(func(pick func(*Observer) func(ObserverEvent)) func(ObserverEvent) {
		if obs == nil || pick(obs) == nil {
			return nil
		}
		f := pick(obs)
		return func(e ObserverEvent) { tell(f, e) }
	})
}

// observerOf makes each function of an Observer by what picks it from others.
func observerOf(each func(pick func(*Observer) func(ObserverEvent)) func(ObserverEvent)) *Observer {
	return &Observer{
		Saved:   each(func(o *Observer) func(ObserverEvent) { return o.Saved }),
		Loaded:  each(func(o *Observer) func(ObserverEvent) { return o.Loaded }),
		Forked:  each(func(o *Observer) func(ObserverEvent) { return o.Forked }),
		Deleted: each(func(o *Observer) func(ObserverEvent) { return o.Deleted }),
		Decided: each(func(o *Observer) func(ObserverEvent) { return o.Decided }),
		Evicted: each(func(o *Observer) func(ObserverEvent) { return o.Evicted }),

		Released: each(func(o *Observer) func(ObserverEvent) { return o.Released }),
		Copied:   each(func(o *Observer) func(ObserverEvent) { return o.Copied }),

		Signalled: each(func(o *Observer) func(ObserverEvent) { return o.Signalled }),
		Voted:     each(func(o *Observer) func(ObserverEvent) { return o.Voted }),
	}
}

func (o *Observer) saved(log *slog.Logger, h *Header) {
	if o != nil {
		call(log, "saved", o.Saved, headerEvent(h))
	}
}

func (o *Observer) loaded(log *slog.Logger, h *Header) {
	if o != nil {
		call(log, "loaded", o.Loaded, headerEvent(h))
	}
}

func (o *Observer) forked(log *slog.Logger, h *Header) {
	if o != nil {
		e := headerEvent(h)
		e.Source = e.Header.Source
		call(log, "forked", o.Forked, e)
	}
}

func (o *Observer) deleted(log *slog.Logger, e ObserverEvent) {
	if o != nil {
		call(log, "deleted", o.Deleted, e)
	}
}

func (o *Observer) decided(log *slog.Logger, g *Gate, coordination string) {
	if o != nil {
		call(log, "decided", o.Decided, ObserverEvent{At: g.Decision.At, Thread: g.Thread, Coordination: coordination, ID: g.ID, Gate: g.clone()})
	}
}

func (o *Observer) signalled(log *slog.Logger, s *Signal, coordination string) {
	if o != nil {
		call(log, "signalled", o.Signalled, ObserverEvent{At: s.At, Thread: s.Thread, Coordination: coordination, ID: s.ID, Signal: s.clone()})
	}
}

func (o *Observer) voted(log *slog.Logger, g *Gate, vote *Decision, coordination string) {
	if o != nil {
		call(log, "voted", o.Voted, ObserverEvent{At: vote.At, Thread: g.Thread, Coordination: coordination, ID: g.ID, Gate: g.clone(), Vote: vote.clone()})
	}
}

func (o *Observer) evicted(log *slog.Logger, h *Header, at time.Time) {
	if o != nil {
		call(log, "evicted", o.Evicted, ObserverEvent{At: at, Thread: h.Thread, Coordination: h.Coordination, ID: h.ID})
	}
}

func (o *Observer) released(log *slog.Logger, r *Release) {
	if o != nil {
		call(log, "released", o.Released, ObserverEvent{At: r.At, Thread: r.Thread, Coordination: r.coordination, Release: r.clone(), Count: r.Checkpoints})
	}
}

func (o *Observer) copied(log *slog.Logger, e ObserverEvent) {
	if o != nil {
		call(log, "copied", o.Copied, e)
	}
}

func headerEvent(h *Header) ObserverEvent {
	return ObserverEvent{At: h.CreatedAt, Thread: h.Thread, Coordination: h.Coordination, ID: h.ID, Header: h.clone()}
}

func call(log *slog.Logger, name string, f func(ObserverEvent), e ObserverEvent) {
	if f == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			log.Error("an observer panicked", "event", name, "thread", e.Thread, "panic", p)
		}
	}()
	f(e)
}
