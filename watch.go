package posthouse

import (
	"context"
	"errors"
	"iter"
	"time"
)

// An Event is one record as it became durable.
type Event struct {
	Cursor string     `json:"cursor"` // go on behind this event: see [WatchQuery]
	Kind   RecordKind `json:"kind"`
	Thread string     `json:"thread"`
	Seq    uint64     `json:"seq"`
	At     time.Time  `json:"at"`

	Checkpoint *Header      `json:"checkpoint,omitempty"`
	Step       *StepInfo    `json:"step,omitempty"`
	Gate       *Gate        `json:"gate,omitempty"`
	Decision   *Decision    `json:"decision,omitempty"`
	Claim      *ClaimInfo   `json:"claim,omitempty"`
	Removal    *RemovalInfo `json:"removal,omitempty"`
	Vote       *Decision    `json:"vote,omitempty"`
	Assignment *Assignment  `json:"assignment,omitempty"`
	Release    *ReleaseInfo `json:"release,omitempty"`
	Signal     *Signal      `json:"signal,omitempty"`
	Take       *TakeInfo    `json:"take,omitempty"`
}

// A WatchQuery says what to watch from where.
type WatchQuery struct {
	Thread string // "": all threads
	Cursor string // of the last event seen; "": from the beginning; "now": what comes after the call of Watch
}

// Watch yields events in commit order, per thread in the log's order, and
// blocks for more until ctx ends; then it stops without an error. Whoever goes
// on from the cursor of an event is given exactly what comes behind it, the rest
// of its entry first. [ErrInvalid] for a cursor that the store did not give
// out, or has forgotten.
//
// An entry that cannot be read ([ErrCorrupt], [ErrSealed]), or before which some
// are missing that this watch should have been given, is yielded as one event of
// its cursor, thread and number, with the error; whoever goes on is given what
// follows. Any other error is the last element, without an event.
//
// A store that is no [Watcher] is polled each Options.Poll: then nothing orders
// events of different threads, and the cursor of a watch of all threads grows
// with their number, by about 20 bytes each.
func (l *Ledger) Watch(ctx context.Context, q WatchQuery) iter.Seq2[*Event, error] {
	inside, ok := parseInside(q.Cursor)
	if ok {
		q.Cursor = inside.behind
	}
	entries := l.entries(ctx, q) // here, not at the first element, since "now" is now
	return func(yield func(*Event, error) bool) {
		w := watching{l: l.Core, ctx: ctx, q: q, seen: map[string]mark{}, whole: q.Cursor == "", yield: yield}
		if ok {
			e, err := inside.entry(ctx, l.store)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if e != nil && !w.tell(e, inside.seen) {
				return
			}
		}
		for e, err := range entries {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !w.tell(e, 0) {
				return
			}
		}
	}
}

// maxWatched bounds the threads of which a watch remembers the last entry, of
// about 150 bytes each.
const maxWatched = 1 << 14

// A watching is a watch of which somebody takes the events.
type watching struct {
	l     *Core
	ctx   context.Context
	q     WatchQuery
	seen  map[string]mark // the last entry of each thread
	whole bool            // what is not in seen was not watched before
	gap   order           // of the thread that lacked entries last
	yield func(*Event, error) bool
}

// follow makes sure that nothing is missing between an entry and the one of its
// thread that was watched before it.
func (w *watching) follow(e *Entry) error {
	m := mark{e.Seq, e.Prev, e.Link()}
	last, ok := w.seen[e.Thread]
	if len(w.seen) >= maxWatched && !ok {
		clear(w.seen)
		w.whole = false
	}
	w.seen[e.Thread] = m
	if !ok && !w.whole || m.seq <= last.seq || m.follows(last) { // one that is not higher is of a thread that began anew
		return nil
	}
	if w.gap.thread != e.Thread {
		w.gap = order{l: w.l, ctx: w.ctx, thread: e.Thread}
	}
	return w.gap.gap(last, m)
}

// tell yields the events of an entry behind those that were seen, and reports
// whether to go on.
func (w *watching) tell(e *Entry, seen int) bool {
	l, ctx, yield := w.l, w.ctx, w.yield
	if w.q.Thread != "" && e.Thread != w.q.Thread {
		return true
	}
	recs, err := e.check()
	var evs []*Event
	if err == nil {
		err = w.follow(e)
	}
	if err == nil {
		evs, err = l.events(ctx, e, recs)
	}
	if errors.Is(err, ErrSealed) && l.removed(ctx, e) {
		return true // and its key with it
	}
	if mayBeGone(err) {
		return yield(&Event{Cursor: e.Cursor, Thread: e.Thread, Seq: e.Seq}, err)
	}
	if err != nil {
		yield(nil, err)
		return false
	}
	for i := seen; i < len(evs); i++ {
		if i < len(evs)-1 {
			at := insideCursor{e.Cursor, i + 1, e.Thread, e.Seq, [4]byte(e.Hash[:4])}
			evs[i].Cursor = at.String()
		}
		if !yield(evs[i], nil) {
			return false
		}
	}
	return true
}

// entries yields what is appended, at least of the thread that is watched.
func (l *Core) entries(ctx context.Context, q WatchQuery) iter.Seq2[*Entry, error] {
	if w, ok := l.store.(Watcher); ok {
		return w.Watch(ctx, q.Cursor)
	}
	return l.poll(ctx, q)
}

// removed reports that an entry is not there any more.
func (l *Core) removed(ctx context.Context, e *Entry) bool {
	for range l.store.Read(ctx, e.Thread, Range{Seqs: []uint64{e.Seq}, Headers: true}) {
		return false
	}
	return true
}

// events opens only the bodies that events show.
func (l *Core) events(ctx context.Context, e *Entry, recs []Record) ([]*Event, error) {
	var body []byte
	var err error
	evs := make([]*Event, 0, len(recs))
	for i := range recs {
		r := &recs[i]
		if r.Audience != nil {
			continue // it says what the gate or the assignment beside it says
		}
		ev := &Event{
			Cursor: e.Cursor, Kind: r.Kind, Thread: e.Thread, Seq: e.Seq, At: e.Time(),
			Checkpoint: r.Checkpoint, Step: r.Step, Claim: r.Claim, Removal: r.Removal, Release: r.Release, Take: r.Take,
		}
		switch {
		case r.Signal != nil:
			if body, err = l.open(ctx, e, recs, i); err == nil {
				ev.Signal = r.Signal.signal(e, body)
			}
		case r.Gate != nil && e.Bodies[i] == nil:
			ev.Gate = &Gate{ID: r.Gate.ID, Name: r.Gate.Name, Thread: e.Thread, Branch: r.Gate.Branch, Seq: e.Seq, Hash: e.Hash}
		case r.Gate != nil:
			if body, err = l.open(ctx, e, recs, i); err == nil {
				ev.Gate, err = readGateBody(e, r, body)
			}
		case r.Decision != nil && e.Bodies[i] == nil:
			ev.Decision = &Decision{Gate: r.Decision.Gate, Verdict: r.Decision.Verdict, By: r.Decision.By, Seq: e.Seq}
		case r.Decision != nil:
			if body, err = l.open(ctx, e, recs, i); err == nil {
				ev.Decision, err = readDecisionBody(e, r, body)
			}
		case r.Vote != nil && e.Bodies[i] == nil:
			ev.Vote = &Decision{Gate: r.Vote.Gate, Verdict: r.Vote.Verdict, By: r.Vote.By, Seq: e.Seq}
		case r.Vote != nil:
			if body, err = l.open(ctx, e, recs, i); err == nil {
				ev.Vote, err = readVoteBody(e, r, body)
			}
		case r.Assignment != nil && e.Bodies[i] == nil:
			ev.Assignment = &Assignment{Gate: r.Assignment.Gate, By: r.Assignment.By, Escalation: r.Assignment.Escalation, Seq: e.Seq}
		case r.Assignment != nil:
			if body, err = l.open(ctx, e, recs, i); err == nil {
				ev.Assignment, err = readAssignBody(e, r, body)
			}
		}
		if err != nil {
			return nil, err
		}
		evs = append(evs, ev)
	}
	return evs, nil
}
