package posthouse

import "github.com/posthouse/posthouse/internal/base/canon"

// A SignalInfo is the header of a signal; the body is its value, JSON.
type SignalInfo struct {
	ID     ID     `json:"id"`
	Name   string `json:"name"` // one that begins with $ is the runtime's own
	By     string `json:"by,omitempty"`
	Latch  bool   `json:"latch,omitempty"`
	Branch string `json:"branch,omitempty"` // the branch that a request of the runtime is about; else empty
	Prev   uint64 `json:"prev,omitempty"`   // entry of the thread's previous signal of this name; 0 for the first

	// Requesters are those on whose behalf a program sent it, beside By.
	Requesters []string `json:"requesters,omitempty"`
}

// Flags of a signal.
const (
	signalLatches  = 1 << 0
	signalOnBehalf = 1 << 1 // a list of requesters follows
)

// A TakeInfo says that a branch took a signal: its later waits for that name continue
// behind it. It has no body. It stands in the entry that records what became of the
// value: a step result or the decision of a gate.
type TakeInfo struct {
	Branch string `json:"branch"`
	Name   string `json:"name"`
	Signal uint64 `json:"signal"` // the signal's entry
}

func (s *SignalInfo) append(b []byte) []byte {
	b = canon.AppendString(appendID(b, s.ID), s.Name)
	flags := byte(0)
	if s.Latch {
		flags |= signalLatches
	}
	if len(s.Requesters) > 0 {
		flags |= signalOnBehalf
	}
	b = append(canon.AppendString(b, s.By), flags)
	if len(s.Requesters) > 0 {
		b = canon.AppendStrings(b, s.Requesters)
	}
	return canon.AppendUint(canon.AppendString(b, s.Branch), s.Prev)
}

func readSignal(r *decoder) *SignalInfo {
	s := &SignalInfo{ID: readID(r), Name: r.String(), By: r.String()}
	flags := r.Byte()
	if flags >= signalOnBehalf<<1 {
		r.Fail("unknown flags of a signal")
	}
	s.Latch = flags&signalLatches != 0
	if flags&signalOnBehalf != 0 {
		if s.Requesters = r.Strings(); len(s.Requesters) == 0 {
			r.Fail("an empty list of requesters")
		}
	}
	s.Branch, s.Prev = r.String(), r.Uint()
	return s
}

func (t *TakeInfo) append(b []byte) []byte {
	b = canon.AppendString(b, branchCode(t.Branch))
	return canon.AppendUint(canon.AppendString(b, t.Name), t.Signal)
}

func readTake(r *decoder) *TakeInfo {
	return &TakeInfo{Branch: readBranch(r), Name: r.String(), Signal: r.Uint()}
}

// gateKindCodes are the kinds of gate that have a code; others are written as text.
var gateKindCodes = []string{GateApproval, GateTimer, GateSignal, GateThread}

func appendGateKind(b []byte, kind string) []byte {
	if kind == "" {
		kind = GateApproval
	}
	code := codeOf(gateKindCodes, kind)
	b = canon.AppendUint(b, code)
	if code == uint64(len(gateKindCodes)) {
		b = canon.AppendString(b, kind)
	}
	return b
}

func readGateKind(r *decoder) string {
	code := r.Uint()
	if code < uint64(len(gateKindCodes)) {
		return gateKindCodes[code]
	}
	kind := ""
	if code > uint64(len(gateKindCodes)) {
		r.Fail("code %d out of range", code)
	} else if kind = r.String(); kind == "" || codeOf(gateKindCodes, kind) < code {
		r.Fail("a kind of gate in its long form")
	}
	return kind
}

// appendAwaited writes which signal a gate of kind [GateSignal] waits for. Other gates
// have none.
func appendAwaited(b []byte, kind, signal string, latch bool) []byte {
	if kind != GateSignal {
		return b
	}
	return appendBool(canon.AppendString(b, signal), latch)
}

func readAwaited(r *decoder, kind string) (signal string, latch bool) {
	if kind != GateSignal {
		return "", false
	}
	return r.String(), readBool(r)
}
