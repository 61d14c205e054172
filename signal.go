package posthouse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// MaxSignal is how many bytes a signal's value may have.
const MaxSignal = 1 << 20

// maxSignalNames is how many names the signals of one thread may have.
const maxSignalNames = 1000

// A Signal is a value that somebody sends to a thread under a name. It is on
// record whether or not anything waits for it. Waits of a branch take the
// signals of a name one by one, oldest first, each once; a wait that latches
// reads the newest and takes none.
type Signal struct {
	ID     ID              `json:"id"`           // "": a new one; sending the same again is no error and sends nothing
	Thread string          `json:"thread"`       // set by the Ledger
	Name   string          `json:"name"`         // 1 to 200 bytes of text without control characters that do not begin with $
	Value  json.RawMessage `json:"value"`        // at most [MaxSignal] bytes; empty is null
	By     string          `json:"by,omitempty"` // who sent it
	Latch  bool            `json:"latch,omitempty"`
	Early  bool            `json:"-"` // it may be sent to a thread that is not there yet

	At    time.Time `json:"at"`              // set by the Ledger
	Seq   uint64    `json:"seq"`             // of its entry, set by the Ledger
	Gates []ID      `json:"gates,omitempty"` // that it answered, set by the Ledger
}

// Signal appends s to a thread's log, also while a run has the thread. In the
// same commit it answers gates that wait for its name and have not expired, and
// makes their branches runnable: all gates that latch, and on each branch the
// oldest other one, or all others if s latches.
//
// It fails with [ErrNotFound] for an unknown thread unless s.Early is set, with
// [ErrExists] if s.ID is on record with another name or value, with
// [ErrTooLarge] beyond [MaxSignal] or 1,000 names in the thread. A thread that
// has ended takes signals too: a later run may wait for them.
func (l *Ledger) Signal(ctx context.Context, thread string, s Signal) (*Signal, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	t, err := l.lock(thread)
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	own := s.ID == ""
	if own {
		s.ID = l.NewID()
	} else if old, err := l.sent(ctx, thread, &s); old != nil || err != nil {
		return old, err
	}
	var answered []*Gate
	err = l.append(ctx, t, func(a *appending) error {
		if t.info.gone() && !s.Early && t.claim == nil {
			return t.info.absent()
		}
		answered, err = a.send(&s)
		return err
	})
	if errors.Is(err, ErrExists) && !own {
		if old, e := l.sent(ctx, thread, &s); old != nil {
			return old, e // another process was first
		}
	}
	if err != nil {
		return nil, err
	}
	coordination := t.info.coordination()
	l.observeSignalled(&s, coordination)
	for _, g := range answered {
		l.observeDecided(g, coordination)
	}
	return &s, nil
}

func (s *Signal) validate() error {
	switch {
	case s.Name == "" || len(s.Name) > MaxID || !validText(s.Name) || isReserved(s.Name):
		return invalid("name", "%.40q must be 1 to %d bytes of text that do not begin with $", s.Name, MaxID)
	case len(s.Value) > MaxSignal:
		return tooLarge("value", len(s.Value), MaxSignal)
	}
	if s.ID != "" {
		if err := s.ID.Validate(); err != nil {
			return err
		}
	}
	if len(s.Value) == 0 {
		s.Value = json.RawMessage("null")
	}
	s.Value = slices.Clone(s.Value)
	if err := checkStrict("value", s.Value); err != nil {
		return err
	}
	return CheckPerson("by", s.By)
}

// sent returns the signal that is on record under the id of s, nil if none is.
func (l *Ledger) sent(ctx context.Context, thread string, s *Signal) (*Signal, error) {
	ref, err := l.store.Find(ctx, s.ID)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if ref.Thread == thread {
		old, err := l.reader(ctx, thread).signal(ref.Seq)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		if old != nil && old.ID == s.ID && old.Name == s.Name && bytes.Equal(old.Value, s.Value) {
			return old, nil
		}
	}
	return nil, &Error{Code: CodeExists, Message: "id " + string(s.ID) + " is taken", Hint: "send the signal under another id, or none"}
}

// signal reads the signal in an entry. [ErrNotFound] if it holds none.
func (r *logReader) signal(seq uint64) (*Signal, error) {
	e, err := r.entry(seq, true)
	if err != nil {
		return nil, err
	}
	var s *Signal
	for i := range e.recs {
		switch rec := &e.recs[i]; {
		case rec.Signal != nil:
			s = rec.Signal.signal(&e.Entry, e.Bodies[i])
		case rec.Decision != nil && s != nil:
			s.Gates = append(s.Gates, rec.Decision.Gate)
		}
	}
	if s == nil {
		return nil, notFound("signal at entry of thread "+r.thread, seq)
	}
	return s, nil
}

func (s *SignalInfo) signal(e *Entry, body []byte) *Signal {
	return &Signal{
		ID: s.ID, Thread: e.Thread, Name: s.Name, Value: slices.Clone(body), By: s.By, Latch: s.Latch, At: e.Time(), Seq: e.Seq,
	}
}

// send adds the signal and the decisions of the gates that it answers, which
// it returns.
func (a *appending) send(s *Signal) ([]*Gate, error) {
	info := a.t.info
	prev := info.newestSignal(s.Name)
	if prev == 0 && len(info.Signals) >= maxSignalNames {
		return nil, tooManyNames(a.t.name)
	}
	s.Thread, s.Seq, s.At, s.Gates = a.t.name, a.seq, toMillis(a.at), nil
	a.signal(&SignalInfo{ID: s.ID, Name: s.Name, By: s.By, Latch: s.Latch, Prev: prev}, s.Value)
	var answered []*Gate
	served := map[string]bool{} // branches that took it
	for _, w := range info.Waiting {
		late := !w.ExpiresAt.IsZero() && !a.at.Before(w.ExpiresAt)
		if w.Kind != GateSignal || w.Signal != s.Name || late || !w.Latch && !s.Latch && served[w.Branch] {
			continue
		}
		if !w.Latch {
			if !served[w.Branch] {
				a.take(w.Branch, s.Name, s.Seq)
			}
			served[w.Branch] = true
		}
		d := s.decision(w.ID)
		a.decision(d, w.Seq)
		s.Gates = append(s.Gates, w.ID)
		if a.l.opt.Observer != nil {
			g, err := a.l.reader(a.ctx, a.t.name).gateAt(w.ID, w.Seq)
			if err != nil {
				return nil, err
			}
			g.Decision = d
			answered = append(answered, g)
		}
	}
	return answered, nil
}

func tooManyNames(thread string) error {
	return &Error{
		Code: CodeTooLarge, Field: "name", Message: "is the signal of a new name, and thread " + thread + " has " + itoa(maxSignalNames) + " names already",
		Hint: "tell signals apart by their value, not by their name",
	}
}

// decision is what the signal answers to a gate.
func (s *Signal) decision(gate ID) *Decision {
	by := s.By
	if by == "" {
		by = "signal"
	}
	return &Decision{Gate: gate, Verdict: Respond, By: by, Value: s.Value, Signal: s.Seq, At: s.At}
}

func (a *appending) signal(s *SignalInfo, value []byte) {
	a.add(Record{Kind: RecordSignal, Signal: s}, value)
	a.ids = append(a.ids, IndexedID{ID: s.ID})
}
