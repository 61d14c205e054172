package posthouse

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A GateInfo is the header of a gate; the body is the [Gate] as JSON.
type GateInfo struct {
	ID         ID        `json:"id"`
	Name       string    `json:"name"`
	Task       string    `json:"task,omitempty"`
	Occurrence uint32    `json:"occurrence,omitempty"`
	Branch     string    `json:"branch,omitempty"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"`
	Kind       string    `json:"kind,omitempty"`
	Signal     string    `json:"signal,omitempty"` // of [GateSignal]: what it waits for
	Latch      bool      `json:"latch,omitempty"`
	EscalateAt time.Time `json:"escalateAt,omitzero"`
	Content    Hash      `json:"content,omitzero"`     // digest of what is shown, salted with bytes of the body
	Supersedes ID        `json:"supersedes,omitempty"` // the gate that it replaces
	RemindAt   time.Time `json:"remindAt,omitzero"`    // the first reminder
	Settles    bool      `json:"settles,omitempty"`    // it allows the verdicts of an unknown outcome
}

func (g *GateInfo) fields(f *fields, format byte) {
	f.gateID(&g.ID)
	f.Text(&g.Name)
	f.Text(&g.Task)
	f.Number32(&g.Occurrence)
	f.branch(&g.Branch)
	f.Moment(&g.ExpiresAt)
	f.Moment(&g.EscalateAt)
	f.awaited(&g.Kind, &g.Signal, &g.Latch)
	if format >= entryBound {
		f.OptionalHash((*[32]byte)(&g.Content), "digest")
		f.optionalGateID(&g.Supersedes)
	}
	if format >= entryNotice {
		f.Moment(&g.RemindAt)
	}
	if format >= entrySettle {
		f.Flag(&g.Settles)
	}
}

// gateKindCodes are the kinds of gate that have a code; others are written as text.
var gateKindCodes = []string{GateApproval, GateTimer, GateSignal, GateThread}

// awaited is a kind of gate, and which signal one of kind [GateSignal] waits for.
func (f *fields) awaited(kind, signal *string, latch *bool) {
	f.CodeOrText(kind, gateKindCodes, "a kind of gate")
	if *kind == GateSignal {
		f.Text(signal)
		f.Flag(latch)
	}
}

// A DecideInfo is the header of a decision; the body is the [Decision] as JSON.
type DecideInfo struct {
	Gate    ID      `json:"gate"`
	GateSeq uint64  `json:"gateSeq"`
	Verdict Verdict `json:"verdict"`
	By      string  `json:"by"`
}

func (d *DecideInfo) fields(f *fields) {
	f.gateID(&d.Gate)
	f.Number(&d.GateSeq)
	canon.Code(&f.Fields, &d.Verdict, verdictCodes)
	f.Text(&d.By)
}

// A VoteInfo is the header of a vote on a gate with a [Quorum]; the body is the
// vote as JSON, a [Decision].
type VoteInfo struct {
	Gate    ID      `json:"gate"`
	GateSeq uint64  `json:"gateSeq"`
	Prior   uint64  `json:"prior,omitempty"` // the previous entry with a vote on, an assignment or a notice of the gate
	Verdict Verdict `json:"verdict"`
	By      string  `json:"by"`
}

func (v *VoteInfo) fields(f *fields) {
	f.gateID(&v.Gate)
	f.Number(&v.GateSeq)
	f.Number(&v.Prior)
	canon.Code(&f.Fields, &v.Verdict, verdictCodes)
	f.Text(&v.By)
}

// An AssignInfo is the header of an [Assignment]; the body is the assignment as JSON.
type AssignInfo struct {
	Gate       ID     `json:"gate"`
	GateSeq    uint64 `json:"gateSeq"`
	Prior      uint64 `json:"prior,omitempty"` // as in VoteInfo
	By         string `json:"by"`
	Escalation bool   `json:"escalation,omitempty"`
	TakesBack  uint64 `json:"takesBack,omitempty"` // the entry of the delegation that By takes back
}

func (a *AssignInfo) fields(f *fields, format byte) {
	f.gateID(&a.Gate)
	f.Number(&a.GateSeq)
	f.Number(&a.Prior)
	f.Text(&a.By)
	f.Flag(&a.Escalation)
	if format < entryTaken {
		return
	}
	f.Number(&a.TakesBack)
	if a.TakesBack != 0 && (a.Escalation || a.TakesBack <= a.GateSeq || a.TakesBack > a.Prior) {
		f.Fail("it takes back entry %d, which has no delegation of the gate in entry %d", a.TakesBack, a.GateSeq)
	}
}

// A NoticeInfo is the header of a [Notice]; the body is the notice as JSON.
type NoticeInfo struct {
	Gate    ID         `json:"gate"`
	GateSeq uint64     `json:"gateSeq"`
	Prior   uint64     `json:"prior,omitempty"` // as in VoteInfo
	Kind    NoticeKind `json:"kind"`
	By      string     `json:"by"`
	Until   time.Time  `json:"until,omitzero"` // of a snooze; of a reminder when the next one is due
}

var noticeCodes = []string{string(NoticeReminder), string(NoticeSnooze), string(NoticeUnsnooze)}

func (n *NoticeInfo) fields(f *fields) {
	f.gateID(&n.Gate)
	f.Number(&n.GateSeq)
	f.Number(&n.Prior)
	f.CodeOrText((*string)(&n.Kind), noticeCodes, "a kind of notice")
	f.Text(&n.By)
	f.Moment(&n.Until)
}

// Trail returns what a vote, an assignment or a notice refers to: its gate, the gate's entry and
// the previous entry of the trail. ok is false for other records.
func (rec *Record) Trail() (gate ID, at, prior uint64, ok bool) {
	switch {
	case rec.Vote != nil:
		return rec.Vote.Gate, rec.Vote.GateSeq, rec.Vote.Prior, true
	case rec.Assignment != nil:
		return rec.Assignment.Gate, rec.Assignment.GateSeq, rec.Assignment.Prior, true
	case rec.Notice != nil:
		return rec.Notice.Gate, rec.Notice.GateSeq, rec.Notice.Prior, true
	}
	return "", 0, 0, false
}

// checkTrail checks that a trail refers to earlier entries only.
func (rec *Record) checkTrail(e *Entry, f *fields) {
	if _, at, prior, ok := rec.Trail(); ok && (at == 0 || at >= e.Seq || prior >= e.Seq || prior != 0 && prior <= at) {
		f.Fail("a vote, assignment or notice of a gate in entry %d, behind entry %d", at, prior)
	}
}

// ReadGateBody returns the gate of a record with its body. [ErrCorrupt] if the body
// does not decode, or its digest is not the header's.
func ReadGateBody(e *Entry, r *Record, body []byte) (*Gate, error) {
	g := &Gate{}
	b := gateBody{Gate: g}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, Corrupt("gate %s at entry %d of thread %q does not decode: %v", r.Gate.ID, e.Seq, e.Thread, err)
	}
	g.ID, g.Thread, g.Branch, g.Seq, g.Hash, g.Decision = r.Gate.ID, e.Thread, r.Gate.Branch, e.Seq, e.Hash, nil
	g.Votes, g.Assignments, g.Notices, g.Record.Followed, g.Record.Salt, g.PutBack = nil, nil, nil, b.Followed, b.Salt, time.Time{}
	if g.settles() != r.Gate.Settles {
		return nil, Corrupt("gate %s at entry %d of thread %q allows other verdicts than its header says", r.Gate.ID, e.Seq, e.Thread)
	}
	g.Record.Settles = r.Gate.Settles
	if r.Gate.Content != g.Digest() {
		return nil, Corrupt("gate %s at entry %d of thread %q does not show what its header has the digest of", r.Gate.ID, e.Seq, e.Thread)
	}
	return g, nil
}
