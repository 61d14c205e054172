package posthouse

import "github.com/posthouse/posthouse/internal/base/canon"

// A VoteInfo is the header of a vote on a gate with a [Quorum]; the body is the
// vote as JSON, a [Decision].
type VoteInfo struct {
	Gate    ID      `json:"gate"`
	GateSeq uint64  `json:"gateSeq"`
	Prior   uint64  `json:"prior,omitempty"` // the previous entry with a vote on or assignment of the gate
	Verdict Verdict `json:"verdict"`
	By      string  `json:"by"`
}

// An AssignInfo is the header of an [Assignment]; the body is the assignment as JSON.
type AssignInfo struct {
	Gate       ID     `json:"gate"`
	GateSeq    uint64 `json:"gateSeq"`
	Prior      uint64 `json:"prior,omitempty"` // as in VoteInfo
	By         string `json:"by"`
	Escalation bool   `json:"escalation,omitempty"`
}

func (v *VoteInfo) append(b []byte) []byte {
	b = canon.AppendUint(appendGateID(b, v.Gate), v.GateSeq)
	b = canon.AppendUint(canon.AppendUint(b, v.Prior), codeOf(verdictCodes, v.Verdict))
	return canon.AppendString(b, v.By)
}

func readVote(r *decoder) *VoteInfo {
	return &VoteInfo{Gate: readGateID(r), GateSeq: r.Uint(), Prior: r.Uint(), Verdict: readCode(r, verdictCodes), By: r.String()}
}

func (a *AssignInfo) append(b []byte) []byte {
	b = canon.AppendUint(appendGateID(b, a.Gate), a.GateSeq)
	b = canon.AppendString(canon.AppendUint(b, a.Prior), a.By)
	return appendBool(b, a.Escalation)
}

func readAssign(r *decoder) *AssignInfo {
	return &AssignInfo{Gate: readGateID(r), GateSeq: r.Uint(), Prior: r.Uint(), By: r.String(), Escalation: readBool(r)}
}

// Trail returns what a vote or assignment refers to: its gate, the gate's entry and the
// previous entry of the trail. ok is false for other records.
func (rec *Record) Trail() (gate ID, at, prior uint64, ok bool) {
	switch {
	case rec.Vote != nil:
		return rec.Vote.Gate, rec.Vote.GateSeq, rec.Vote.Prior, true
	case rec.Assignment != nil:
		return rec.Assignment.Gate, rec.Assignment.GateSeq, rec.Assignment.Prior, true
	}
	return "", 0, 0, false
}

// checkTrail checks that a trail refers to earlier entries only.
func (rec *Record) checkTrail(e *Entry, r *decoder) {
	if _, at, prior, ok := rec.Trail(); ok && (at == 0 || at >= e.Seq || prior >= e.Seq || prior != 0 && prior <= at) {
		r.Fail("a vote or assignment of a gate in entry %d, behind entry %d", at, prior)
	}
}

// What format [entryBound] adds: what binds a gate's answer, and what licensed a step.

// bound reports whether the record needs [entryBound].
func (rec *Record) bound() bool {
	switch {
	case rec.Step != nil:
		return rec.Step.Grant != "" || rec.Step.Unordered
	case rec.Gate != nil:
		return !rec.Gate.Content.IsZero() || rec.Gate.Supersedes != ""
	case rec.Checkpoint != nil:
		return rec.Checkpoint.Kind == KindRestartStep
	}
	return false
}

func (g *GateInfo) appendBound(b []byte) []byte {
	b = appendBool(b, !g.Content.IsZero())
	if !g.Content.IsZero() {
		b = append(b, g.Content[:]...)
	}
	return appendOptionalGateID(b, g.Supersedes)
}

func (g *GateInfo) readBound(r *decoder) {
	if readBool(r) {
		copy(g.Content[:], r.Raw(len(g.Content)))
		if r.Err() == nil && g.Content.IsZero() {
			r.Fail("no digest in its long form")
		}
	}
	g.Supersedes = readOptionalGateID(r)
}

// appendOptionalGateID writes an id that may be empty, like appendGateID.
func appendOptionalGateID(b []byte, id ID) []byte {
	b = appendBool(b, id != "")
	if id == "" {
		return b
	}
	return appendGateID(b, id)
}

func readOptionalGateID(r *decoder) ID {
	if !readBool(r) {
		return ""
	}
	id := readGateID(r)
	if r.Err() == nil && id == "" {
		r.Fail("no gate in its long form")
	}
	return id
}
