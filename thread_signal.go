package posthouse

import (
	"slices"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A SignalMark locates the newest signal of a name.
type SignalMark struct {
	Name string `json:"name"`
	Seq  uint64 `json:"seq"` // of its entry
}

// A SignalTake says up to where a branch took the signals of a name.
type SignalTake struct {
	Branch string `json:"branch"`
	Name   string `json:"name"`
	Signal uint64 `json:"signal"` // entry of the newest signal taken
	Seq    uint64 `json:"seq"`    // entry that took it
}

// A CancelMark is a pending request to cancel a branch.
type CancelMark struct {
	Branch string `json:"branch"`
	Seq    uint64 `json:"seq"` // of the request's entry
}

// IsOver reports whether a branch with this status has ended for good.
func IsOver(s Status) bool { return s == StatusDone || s == StatusCancelled }

// NewestSignal returns the entry of the newest signal of a name, 0 if there is no signal.
func (t *ThreadInfo) NewestSignal(name string) uint64 {
	for i := range t.Signals {
		if t.Signals[i].Name == name {
			return t.Signals[i].Seq
		}
	}
	return 0
}

// TakenSignal returns the entry of the newest signal of a name that a branch took.
func (t *ThreadInfo) TakenSignal(branch, name string) uint64 {
	for i := range t.Taken {
		if k := &t.Taken[i]; k.Branch == branch && k.Name == name {
			return k.Signal
		}
	}
	return 0
}

// CancelMark returns the request to cancel a branch, or nil.
func (t *ThreadInfo) CancelMark(branch string) *CancelMark {
	for i := range t.Cancelling {
		if t.Cancelling[i].Branch == branch {
			return &t.Cancelling[i]
		}
	}
	return nil
}

// The names of the runtime's own signals.
const (
	SignalCancel = "$cancel"
	SignalHold   = "$hold"
	SignalUnhold = "$unhold"
)

func (t *ThreadInfo) applySignal(s *SignalInfo, seq uint64, at Millis) {
	switch {
	case s.Name == SignalHold && t.Hold.Seq == 0:
		t.Hold = Hold{By: s.By, Since: at, Seq: seq}
	case s.Name == SignalUnhold:
		t.Hold = Hold{}
	case s.Name == SignalCancel:
		if b, ok := t.Branch(s.Branch); ok && !IsOver(b.Status) && t.CancelMark(b.Branch) == nil {
			t.Cancelling = append(slices.Clip(t.Cancelling), CancelMark{b.Branch, seq})
		}
	case !IsReserved(s.Name):
		marks := slices.Clone(t.Signals)
		if i := slices.IndexFunc(marks, func(m SignalMark) bool { return m.Name == s.Name }); i >= 0 {
			marks[i].Seq = seq
		} else {
			marks = append(marks, SignalMark{s.Name, seq})
		}
		t.Signals = marks
	}
}

func (t *ThreadInfo) applyTake(k *TakeInfo, seq uint64) {
	takes, next := slices.Clone(t.Taken), SignalTake{k.Branch, k.Name, k.Signal, seq}
	if i := slices.IndexFunc(takes, func(s SignalTake) bool { return s.Branch == k.Branch && s.Name == k.Name }); i >= 0 {
		takes[i] = next
	} else {
		takes = append(takes, next)
	}
	t.Taken = takes
}

// cancelled drops the request to cancel a branch that has ended.
func (t *ThreadInfo) cancelled(branch string) {
	if t.CancelMark(branch) != nil {
		t.Cancelling = slices.DeleteFunc(slices.Clone(t.Cancelling), func(m CancelMark) bool { return m.Branch == branch })
	}
}

// signals are the summary's newest signals, how far branches took them, and requests to cancel.
func (t *ThreadInfo) signals(f *fields) {
	canon.List(&f.Fields, &t.Signals, func(m *SignalMark) {
		f.Text(&m.Name)
		f.Number(&m.Seq)
	})
	canon.List(&f.Fields, &t.Taken, func(k *SignalTake) {
		f.branch(&k.Branch)
		f.Text(&k.Name)
		f.Number(&k.Signal)
		f.Number(&k.Seq)
	})
	canon.List(&f.Fields, &t.Cancelling, func(m *CancelMark) {
		f.branch(&m.Branch)
		f.Number(&m.Seq)
	})
}
