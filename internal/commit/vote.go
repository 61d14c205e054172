package commit

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/core"
)

// maxTrail bounds the votes and assignments of a gate.
const maxTrail = 1000

// AddVote records a vote and returns the decision that it makes, or nil if more votes
// are needed. The caller has checked that the person may vote.
func AddVote(tx *core.Tx, g *posthouse.Gate, d *posthouse.Decision) (*posthouse.Decision, error) {
	if err := checkTrailLength(tx, g); err != nil {
		return nil, err
	}
	d.Gate, d.At, d.Seq = g.ID, posthouse.ToMillis(tx.At), tx.Seq
	tx.Add(posthouse.Record{Kind: posthouse.RecordVote, Vote: &posthouse.VoteInfo{
		Gate: g.ID, GateSeq: g.Seq, Prior: g.Record.Trail, Verdict: d.Verdict, By: d.By,
	}}, mustEncode(d))
	tx.Sign = true
	g.Votes = append(slices.Clip(g.Votes), *d)
	v := deciders.Met(g, tx.At)
	if v == "" {
		AddAudience(tx, g)
		return nil, nil
	}
	final := *d
	final.Verdict = v
	return &final, nil
}

// Escalate records that a gate's escalation is due, so that the log says who may
// decide. The right depends on the time alone: a decision between the due time and the
// record counts, and records the escalation first. [posthouse.ErrConflict] before its
// time. A second call writes nothing. For a gate that does not wait it fails like
// [ledger.Ledger.Decide].
func Escalate(ctx context.Context, c *Committer, gate posthouse.ID) (*posthouse.Gate, error) {
	return Assign(ctx, c, GateRef{Gate: gate}, func(tx *core.Tx, g *posthouse.Gate) error {
		switch done, err := RecordEscalation(tx, g); {
		case err != nil || done:
			return err
		case escalated(g):
			return core.ErrNothing
		}
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "gate " + string(gate) + " has no escalation that is due"}
	})
}

// Assign appends what build makes of an open gate, and returns the gate after it.
func Assign(ctx context.Context, c *Committer, at GateRef, build func(*core.Tx, *posthouse.Gate) error) (*posthouse.Gate, error) {
	id, thread := at.Gate, at.Thread
	if thread == "" {
		ref, err := c.Logs.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		thread = ref.Thread
	}
	var g *posthouse.Gate
	var trail uint64 // the entry's number, if it holds a vote, an assignment or a notice
	err := c.LockAndAppend(ctx, thread, func(tx *core.Tx) (err error) {
		g, err = openGate(tx, &at)
		if err != nil {
			return err
		}
		if err := build(tx, g); err != nil {
			return err
		}
		trail = 0
		if hasTrail(tx) {
			trail = tx.Seq
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if trail > 0 {
		g.Record.Trail = trail
	}
	return g, nil
}

// hasTrail reports whether the entry has a vote, an assignment or a notice.
func hasTrail(tx *core.Tx) bool {
	return slices.ContainsFunc(tx.Records, func(r posthouse.Record) bool { return r.Vote != nil || r.Assignment != nil || r.Notice != nil })
}

// Remind records that reminders of a gate are due: once for all that are, so that a clock that
// jumps reminds once. [posthouse.ErrConflict] if no reminder is due. For a gate that does not wait it fails
// like [ledger.Ledger.Decide].
func Remind(ctx context.Context, c *Committer, gate posthouse.ID) (*posthouse.Gate, error) {
	return Assign(ctx, c, GateRef{Gate: gate}, func(tx *core.Tx, g *posthouse.Gate) error {
		w := tx.Thread.Info.WaitingFor(gate)
		if w == nil || w.RemindAt.IsZero() || tx.At.Before(w.RemindAt) {
			return &posthouse.Error{Code: posthouse.CodeConflict, Message: "gate " + string(gate) + " has no reminder that is due"}
		}
		return AddNotice(tx, g, posthouse.Notice{Kind: posthouse.NoticeReminder, By: posthouse.RuntimeActor, Until: nextReminder(g, tx.At)})
	})
}

// nextReminder returns the first reminder of a gate after a time, zero if there is no other.
func nextReminder(g *posthouse.Gate, after time.Time) time.Time {
	for _, at := range g.Remind {
		if at.After(after) {
			return at
		}
	}
	return time.Time{}
}

// The limits of a gate's notices. Reminders count among all, of which they are at most
// [posthouse.MaxReminders].
const (
	maxNotices       = 1000
	maxPersonNotices = 100
)

// AddNotice adds a notice of a gate.
func AddNotice(tx *core.Tx, g *posthouse.Gate, n posthouse.Notice) error {
	if n.Kind != posthouse.NoticeReminder {
		own := 0
		for i := range g.Notices {
			if g.Notices[i].By == n.By {
				own++
			}
		}
		if own >= maxPersonNotices || len(g.Notices) >= maxNotices {
			return &posthouse.Error{
				Code: posthouse.CodeTooLarge, Field: "gate", Message: "was set aside and had back " + strconv.Itoa(own) + " times by " + n.By + ", " + strconv.Itoa(len(g.Notices)) + " times in all",
				Hint: "the limits are " + strconv.Itoa(maxPersonNotices) + " and " + strconv.Itoa(maxNotices) + ": decide it, delegate it, or leave it",
			}
		}
	}
	n.Gate, n.At, n.Seq = g.ID, posthouse.ToMillis(tx.At), tx.Seq
	tx.Add(posthouse.Record{Kind: posthouse.RecordNotice, Notice: &posthouse.NoticeInfo{
		Gate: g.ID, GateSeq: g.Seq, Prior: g.Record.Trail, Kind: n.Kind, By: n.By, Until: n.Until,
	}}, mustEncode(&n))
	tx.Sign = true
	g.Notices = append(slices.Clip(g.Notices), n)
	return nil
}

func escalated(g *posthouse.Gate) bool {
	return slices.ContainsFunc(g.Assignments, func(a posthouse.Assignment) bool { return a.Escalation })
}

// RecordEscalation records the gate's escalation if that is due and not on record.
func RecordEscalation(tx *core.Tx, g *posthouse.Gate) (bool, error) {
	e := g.Escalation
	if e == nil || tx.At.Before(e.At) || escalated(g) {
		return false, nil
	}
	return true, AddAssignment(tx, g, posthouse.Assignment{
		By: "posthouse", To: e.To, Escalation: true, Replace: e.Replace, Reason: "no decision by " + e.At.Format(time.RFC3339),
	})
}

// AddAssignment adds a delegation of a gate, one that is taken back, or its escalation.
func AddAssignment(tx *core.Tx, g *posthouse.Gate, as posthouse.Assignment) error {
	if err := checkTrailLength(tx, g); err != nil {
		return err
	}
	as.Gate, as.At, as.Seq = g.ID, posthouse.ToMillis(tx.At), tx.Seq
	tx.Add(posthouse.Record{Kind: posthouse.RecordAssignment, Assignment: &posthouse.AssignInfo{
		Gate: g.ID, GateSeq: g.Seq, Prior: g.Record.Trail, By: as.By, Escalation: as.Escalation, TakesBack: as.TakesBack,
	}}, mustEncode(&as))
	tx.Sign = true
	g.Assignments = append(slices.Clip(g.Assignments), as)
	AddAudience(tx, g)
	return nil
}

func checkTrailLength(tx *core.Tx, g *posthouse.Gate) error {
	if len(g.Votes)+len(g.Assignments) >= maxTrail {
		return &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "gate", Message: "has had " + strconv.Itoa(maxTrail) + " votes and assignments", Hint: "cancel it and ask again"}
	}
	return nil
}

// mustEncode encodes a value with validated JSON.
func mustEncode(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic("posthouse: a record does not encode: " + err.Error())
	}
	return body
}
