package threadlog

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// Gate reads a gate, with its decision or its votes, assignments and notices.
func (l *Logs) Gate(ctx context.Context, id posthouse.ID) (g *posthouse.Gate, err error) {
	err = l.ReadAt(ctx, id, func(_ *Reader, ref posthouse.Ref) error {
		g, err = l.Reader(ctx, ref.Thread).GateAt(id, ref.Seq)
		if err != nil || g.Decision != nil || g.Quorum == nil && len(g.Assignees) == 0 && !posthouse.InInbox(g.Kind) {
			return err
		}
		return l.trailOf(ctx, g)
	})
	return g, err
}

func (l *Logs) trailOf(ctx context.Context, g *posthouse.Gate) error {
	t, err := l.Thread(ctx, g.Thread)
	if err != nil {
		return err
	}
	for _, w := range t.Waiting {
		if w.ID == g.ID {
			return l.Reader(ctx, g.Thread).readTrail(g, w.Trail)
		}
	}
	return posthouse.Corrupt("the summary of thread %q does not hold the open gate %s", g.Thread, g.ID)
}

// WaitingGate reads a gate that a summary lists.
func (r *Reader) WaitingGate(w *posthouse.WaitingGate) (*posthouse.Gate, error) {
	g, err := r.GateAt(w.ID, w.Seq)
	if err == nil && g.Decision == nil {
		err = r.readTrail(g, w.Trail)
	}
	return g, err
}

// GateAt reads a gate from its indexed place: its own entry, or that of its decision,
// which refers to the gate.
func (r *Reader) GateAt(id posthouse.ID, seq uint64) (*posthouse.Gate, error) {
	e, err := r.Entry(seq, true)
	if err != nil {
		return nil, err
	}
	d, at, err := decisionIn(e, id)
	if err != nil {
		return nil, err
	}
	signed := len(e.Sig) > 0
	if d != nil && at != e.Seq {
		e, err = r.Entry(at, true)
		if err != nil {
			return nil, err
		}
	}
	for i := range e.Recs {
		if g := e.Recs[i].Gate; g != nil && g.ID == id {
			gate, err := r.gate(e, i)
			if err == nil {
				gate.Decision, gate.Record.AnswerSigned = d, signed
			}
			if err == nil && d != nil {
				err = r.readTrail(gate, d.Trail)
			}
			return gate, err
		}
	}
	if d != nil {
		return nil, posthouse.Corrupt("entry %d of thread %q does not hold gate %s", e.Seq, r.Thread, id)
	}
	return nil, posthouse.NotFound("gate", id)
}

// decisionIn returns the gate's decision if the entry holds it, and the entry of the
// gate.
func decisionIn(e *ReadEntry, gate posthouse.ID) (*posthouse.Decision, uint64, error) {
	for i := range e.Recs {
		if rec := &e.Recs[i]; rec.Decision != nil && rec.Decision.Gate == gate {
			d, err := ReadDecisionBody(&e.Entry, rec, e.Bodies[i])
			return d, rec.Decision.GateSeq, err
		}
	}
	return nil, 0, nil
}

// gate reads a gate's record. One that was removed with its checkpoint is not found.
func (r *Reader) gate(e *ReadEntry, i int) (*posthouse.Gate, error) {
	rec, lost := &e.Recs[i], MissingBodies{}
	if lost.Note(&e.Entry, i, rec) {
		if err := r.Account(lost); err != nil {
			return nil, err
		}
		return nil, posthouse.NotFound("gate", rec.Gate.ID)
	}
	return r.Logs.known(&e.Entry, rec, e.Bodies[i])
}

// readTrail reads a gate's votes, assignments and notices, back from the newest.
func (r *Reader) readTrail(g *posthouse.Gate, newest uint64) error {
	g.Record.Trail = newest
	for seq := newest; seq != 0; {
		e, err := r.Entry(seq, true)
		if err != nil {
			return err
		}
		next, found := uint64(0), false
		for i := len(e.Recs) - 1; i >= 0; i-- {
			gate, at, prior, ok := e.Recs[i].Trail()
			if !ok || gate != g.ID || at != g.Seq {
				continue
			}
			next, found = prior, true
			if err := addTrail(g, &e.Entry, &e.Recs[i], e.Bodies[i], true); err != nil {
				return err
			}
		}
		g.Record.AnswerSigned = g.Record.AnswerSigned && len(e.Sig) > 0
		if !found || next >= seq {
			return posthouse.Corrupt("entry %d of thread %q does not hold a vote, assignment or notice of gate %s", seq, r.Thread, g.ID)
		}
		seq = next
	}
	return nil
}

// addTrail adds a vote, an assignment or a notice in front of later ones.
func addTrail(g *posthouse.Gate, e *posthouse.Entry, rec *posthouse.Record, body []byte, earlier bool) error {
	switch {
	case rec.Vote != nil:
		v, err := ReadVoteBody(e, rec, body)
		if err == nil {
			g.Votes = push(g.Votes, *v, earlier)
		}
		return err
	case rec.Notice != nil:
		n, err := ReadNoticeBody(e, rec, body)
		if err == nil {
			g.Notices = push(g.Notices, *n, earlier)
		}
		return err
	}
	a, err := ReadAssignBody(e, rec, body)
	if err == nil {
		g.Assignments = push(g.Assignments, *a, earlier)
	}
	return err
}

func push[T any](list []T, v T, front bool) []T {
	if front {
		return append([]T{v}, list...)
	}
	return append(list, v)
}

// ReadVoteBody returns the vote of a record with its body.
func ReadVoteBody(e *posthouse.Entry, r *posthouse.Record, body []byte) (*posthouse.Decision, error) {
	d := &posthouse.Decision{}
	if err := json.Unmarshal(body, d); err != nil {
		return nil, posthouse.Corrupt("a vote on gate %s at entry %d of thread %q does not decode: %v", r.Vote.Gate, e.Seq, e.Thread, err)
	}
	return d, nil
}

// ReadAssignBody returns the assignment of a record with its body.
func ReadAssignBody(e *posthouse.Entry, r *posthouse.Record, body []byte) (*posthouse.Assignment, error) {
	a := &posthouse.Assignment{}
	if err := json.Unmarshal(body, a); err != nil || !a.Escalation && len(a.To) != 1 {
		return nil, posthouse.Corrupt("an assignment of gate %s at entry %d of thread %q does not decode: %v", r.Assignment.Gate, e.Seq, e.Thread, err)
	}
	return a, nil
}

// ReadNoticeBody returns the notice of a record with its body.
func ReadNoticeBody(e *posthouse.Entry, r *posthouse.Record, body []byte) (*posthouse.Notice, error) {
	n := &posthouse.Notice{}
	if err := json.Unmarshal(body, n); err != nil {
		return nil, posthouse.Corrupt("a notice of gate %s at entry %d of thread %q does not decode: %v", r.Notice.Gate, e.Seq, e.Thread, err)
	}
	return n, nil
}
