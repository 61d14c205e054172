package posthouse

import (
	"encoding/json"

	"github.com/posthouse/posthouse/internal/canon"
)

// A VoteInfo is the header of a vote on a gate with a [Quorum]; the body is the
// vote as JSON, a [Decision].
type VoteInfo struct {
	Gate    ID      `json:"gate"`
	GateSeq uint64  `json:"gateSeq"`
	Prior   uint64  `json:"prior,omitempty"` // the entry before that holds a vote on or assignment of the gate
	Verdict Verdict `json:"verdict"`
	By      string  `json:"by"`
}

// An AssignInfo is the header of an [Assignment]; the body is the same as JSON.
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

// trail returns what a record says of a gate's votes and assignments: its gate,
// the gate's entry and the entry before; false for other records.
func (rec *Record) trail() (gate ID, at, prior uint64, ok bool) {
	switch {
	case rec.Vote != nil:
		return rec.Vote.Gate, rec.Vote.GateSeq, rec.Vote.Prior, true
	case rec.Assignment != nil:
		return rec.Assignment.Gate, rec.Assignment.GateSeq, rec.Assignment.Prior, true
	}
	return "", 0, 0, false
}

// checkTrail keeps references to earlier entries.
func (rec *Record) checkTrail(e *Entry, r *decoder) {
	if _, at, prior, ok := rec.trail(); ok && (at == 0 || at >= e.Seq || prior >= e.Seq || prior != 0 && prior <= at) {
		r.Fail("a vote or assignment of a gate in entry %d, behind entry %d", at, prior)
	}
}

// follow reads a gate's votes and assignments back from the entry of the newest.
func (r *logReader) follow(g *Gate, newest uint64) error {
	g.trail = newest
	for seq := newest; seq != 0; {
		e, err := r.entry(seq, true)
		if err != nil {
			return err
		}
		next, found := uint64(0), false
		for i := len(e.recs) - 1; i >= 0; i-- {
			gate, at, prior, ok := e.recs[i].trail()
			if !ok || gate != g.ID || at != g.Seq {
				continue
			}
			next, found = prior, true
			if err := g.took(&e.Entry, &e.recs[i], e.Bodies[i], true); err != nil {
				return err
			}
		}
		if !found || next >= seq {
			return corrupt("entry %d of thread %q does not hold a vote or assignment of gate %s", seq, r.thread, g.ID)
		}
		seq = next
	}
	return nil
}

// took adds a vote or assignment, in front if it is an earlier one.
func (g *Gate) took(e *Entry, rec *Record, body []byte, earlier bool) error {
	if rec.Vote != nil {
		v, err := readVoteBody(e, rec, body)
		if err == nil {
			g.Votes = place(g.Votes, *v, earlier)
		}
		return err
	}
	a, err := readAssignBody(e, rec, body)
	if err == nil {
		g.Assignments = place(g.Assignments, *a, earlier)
	}
	return err
}

func place[T any](list []T, v T, front bool) []T {
	if front {
		return append([]T{v}, list...)
	}
	return append(list, v)
}

func readVoteBody(e *Entry, r *Record, body []byte) (*Decision, error) {
	d := &Decision{}
	if err := json.Unmarshal(body, d); err != nil {
		return nil, corrupt("a vote on gate %s at entry %d of thread %q does not decode: %v", r.Vote.Gate, e.Seq, e.Thread, err)
	}
	return d, nil
}

func readAssignBody(e *Entry, r *Record, body []byte) (*Assignment, error) {
	a := &Assignment{}
	if err := json.Unmarshal(body, a); err != nil || !a.Escalation && len(a.To) != 1 {
		return nil, corrupt("an assignment of gate %s at entry %d of thread %q does not decode: %v", r.Assignment.Gate, e.Seq, e.Thread, err)
	}
	return a, nil
}
