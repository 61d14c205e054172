package posthouse

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/posthouse/posthouse/internal/canon"
)

// A Hold is a thread's legal hold; the zero value is none.
type Hold struct {
	By    string `json:"by"`
	Since Millis `json:"since"`
	Seq   uint64 `json:"seq"` // of the entry that records it
}

// HoldOptions say who holds a thread, or lifts the hold, and why.
type HoldOptions struct {
	By     string // required; at most 200 bytes
	Reason string // at most 4,000 bytes
}

func (o *HoldOptions) check() error {
	switch {
	case o.By == "":
		return invalid("by", "must say who asks for it")
	case len(o.Reason) > maxText || !checkUTF8(o.Reason):
		return invalid("reason", "must be at most %d bytes of text", maxText)
	}
	return CheckPerson("by", o.By)
}

// A holdReason is the value of the signals $hold and $unhold.
type holdReason struct {
	Reason string `json:"reason,omitempty"`
}

// Hold puts a thread under legal hold, also while a run has it: until
// [Ledger.Unhold] nothing of it can be removed. Deleting fails with
// [ErrForbidden], retention and compaction pass it over. Work goes on as before.
// The hold is a signed record of the log. A thread that is held already stays
// held by whom it was, which is returned. [ErrNotFound].
func (l *Core) Hold(ctx context.Context, thread string, o HoldOptions) (*Hold, error) {
	info, err := l.hold(ctx, thread, signalHold, o)
	if err != nil {
		return nil, err
	}
	return &info.Hold, nil
}

// Unhold lifts a thread's legal hold; the record of who held it and of who
// lifted it stays. Lifting none is no error. [ErrNotFound].
func (l *Core) Unhold(ctx context.Context, thread string, o HoldOptions) error {
	_, err := l.hold(ctx, thread, signalUnhold, o)
	return err
}

func (l *Core) hold(ctx context.Context, thread, name string, o HoldOptions) (*ThreadInfo, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(holdReason{o.Reason})
	if err != nil {
		return nil, invalid("reason", "does not encode: %v", err)
	}
	t, err := l.lock(thread)
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	t.forget() // what another process did must not make this a no-op
	err = l.append(ctx, t, func(a *appending) error {
		if t.info.gone() && t.info.Releases == 0 {
			return notFound("thread", thread)
		}
		if held := t.info.Hold.Seq != 0; held == (name == signalHold) {
			return errNothing
		}
		a.signal(&SignalInfo{ID: l.ids.new(a.at), Name: name, By: o.By}, body)
		a.sign = true
		return nil
	})
	if err != nil && !errors.Is(err, errNothing) {
		return nil, err
	}
	info := *t.info
	return &info, nil
}

// removable lets something of the thread be removed, unless it is held or a run
// has it.
func (a *appending) removable() error {
	h := a.t.info.Hold
	if h.Seq == 0 {
		return a.checkLease(nil)
	}
	e := &Error{
		Code: CodeForbidden, Message: "thread " + a.t.name + " is under legal hold by " + h.By,
		Hint: "lift it first, with Ledger.Unhold or posthouse thread unhold " + a.t.name,
	}
	s, err := a.l.reader(a.ctx, a.t.name).signal(h.Seq)
	if err != nil {
		e.Err = err
		return e
	}
	var why holdReason
	if json.Unmarshal(s.Value, &why) == nil && why.Reason != "" {
		e.Message += ": " + why.Reason
	}
	return e
}

func (h Hold) append(b []byte) []byte {
	b = canon.AppendUint(b, h.Seq)
	if h.Seq == 0 {
		return b
	}
	return canon.AppendUint(canon.AppendString(b, h.By), uint64(h.Since))
}

func readHold(r *decoder) (h Hold) {
	if h.Seq = r.Uint(); h.Seq != 0 {
		h.By, h.Since = r.String(), Millis(r.Uint())
	}
	return h
}
