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

// A CancelMark is a request to cancel a branch that nobody has carried out yet.
type CancelMark struct {
	Branch string `json:"branch"`
	Seq    uint64 `json:"seq"` // of the request's entry
}

// IsOver reports whether a branch with this status has ended for good.
func IsOver(s Status) bool { return s == StatusDone || s == StatusCancelled }

// NewestSignal returns the entry of the newest signal of a name, 0 for none.
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

func (t *ThreadInfo) appendSignals(b []byte) []byte {
	b = canon.AppendUint(b, uint64(len(t.Signals)))
	for _, m := range t.Signals {
		b = canon.AppendUint(canon.AppendString(b, m.Name), m.Seq)
	}
	b = canon.AppendUint(b, uint64(len(t.Taken)))
	for _, k := range t.Taken {
		b = canon.AppendString(canon.AppendString(b, branchCode(k.Branch)), k.Name)
		b = canon.AppendUint(canon.AppendUint(b, k.Signal), k.Seq)
	}
	b = canon.AppendUint(b, uint64(len(t.Cancelling)))
	for _, m := range t.Cancelling {
		b = canon.AppendUint(canon.AppendString(b, branchCode(m.Branch)), m.Seq)
	}
	return b
}

func (t *ThreadInfo) readSignals(r *decoder) {
	for range r.Items() {
		t.Signals = append(t.Signals, SignalMark{r.String(), r.Uint()})
	}
	for range r.Items() {
		t.Taken = append(t.Taken, SignalTake{readBranch(r), r.String(), r.Uint(), r.Uint()})
	}
	for range r.Items() {
		t.Cancelling = append(t.Cancelling, CancelMark{readBranch(r), r.Uint()})
	}
}
