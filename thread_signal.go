package posthouse

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A SignalMark locates the newest signal of a name.
type SignalMark struct {
	Name string `json:"name"`
	Seq  uint64 `json:"seq"` // of its entry
}

// A SignalTake says up to where a branch took the signals of a name, or that it has one of these
// still to take.
type SignalTake struct {
	Branch   string `json:"branch"`
	Name     string `json:"name"`
	Signal   uint64 `json:"signal"`             // entry of the newest signal taken, or of the one that was returned
	Seq      uint64 `json:"seq"`                // entry that took or returned it
	Returned bool   `json:"returned,omitempty"` // it was returned: the branch has it still to take
}

// returnedMark begins the name of a returned signal in the encoding of a summary. No signal's name
// begins with it.
const returnedMark = "$"

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
		if k := &t.Taken[i]; k.Branch == branch && k.Name == name && !k.Returned {
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

	// SignalImported says that an import brought the thread: approvals that were given before it may
	// still be used where they were given, and license nothing here.
	SignalImported = "$imported"

	// SignalPutBack says that the store was put back to an earlier state: what approvals from before
	// it license may have been done since.
	SignalPutBack = "$put-back"
)

// isMark reports whether a summary keeps the newest of the runtime's own signals of a name.
func isMark(name string) bool { return name == SignalImported || name == SignalPutBack }

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
	case !IsReserved(s.Name) || isMark(s.Name):
		marks := slices.Clone(t.Signals)
		if i := slices.IndexFunc(marks, func(m SignalMark) bool { return m.Name == s.Name }); i >= 0 {
			marks[i].Seq = seq
		} else {
			marks = append(marks, SignalMark{s.Name, seq})
		}
		t.Signals = marks
	}
}

// applyTake notes that a branch took a signal, or returned one. A signal that was returned and is
// taken again leaves the newest one that was taken.
func (t *ThreadInfo) applyTake(k *TakeInfo, seq uint64) {
	takes, next := slices.Clone(t.Taken), SignalTake{k.Branch, k.Name, k.Signal, seq, k.Returned}
	same := func(s SignalTake) bool { return s.Branch == k.Branch && s.Name == k.Name }
	returned := func(s SignalTake) bool { return same(s) && s.Returned && s.Signal == k.Signal }
	takes = slices.DeleteFunc(takes, returned)
	i := slices.IndexFunc(takes, func(s SignalTake) bool { return same(s) && !s.Returned })
	switch {
	case next.Returned || i < 0:
		takes = append(takes, next)
	default:
		next.Signal = max(next.Signal, takes[i].Signal)
		takes[i] = next
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
		name := k.Name
		if k.Returned {
			name = returnedMark + name
		}
		f.branch(&k.Branch)
		f.Text(&name)
		f.Number(&k.Signal)
		f.Number(&k.Seq)
		k.Name, k.Returned = strings.CutPrefix(name, returnedMark)
	})
	canon.List(&f.Fields, &t.Cancelling, func(m *CancelMark) {
		f.branch(&m.Branch)
		f.Number(&m.Seq)
	})
}
