package ledger

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// removed reports that an entry is not there any more.
func removed(ctx context.Context, c *core.Core, e *posthouse.Entry) bool {
	for range c.Store.Read(ctx, e.Thread, posthouse.Range{Seqs: []uint64{e.Seq}, Headers: true}) {
		return false
	}
	return true
}

// eventsOf opens only the bodies that events show.
func eventsOf(ctx context.Context, c *core.Core, e *posthouse.Entry, recs []posthouse.Record) ([]*posthouse.Event, error) {
	var body []byte
	var err error
	evs := make([]*posthouse.Event, 0, len(recs))
	for i := range recs {
		r := &recs[i]
		if r.Audience != nil || r.Note != nil {
			continue // it says what the gate, the assignment or the step beside it says
		}
		ev := &posthouse.Event{
			Cursor: e.Cursor, Kind: r.Kind, Thread: e.Thread, Seq: e.Seq, At: e.Time(),
			Checkpoint: r.Checkpoint, Step: r.Step, Claim: r.Claim, Removal: r.Removal, Release: r.Release, Take: r.Take,
		}
		if n := threadlog.NoteOn(recs, i); n > 0 && e.Bodies[n] != nil {
			var s posthouse.Story
			body, err = c.Vault.OpenBody(ctx, e, recs, n)
			if err == nil {
				err = story.Read(e, body, &s)
			}
			if err != nil {
				return nil, err
			}
			ev.LastError, ev.Notes = s.Error, s.Notes
		}
		switch {
		case r.Signal != nil:
			body, err = c.Vault.OpenBody(ctx, e, recs, i)
			if err == nil {
				ev.Signal = r.Signal.Signal(e, body)
			}
		case r.Gate != nil && e.Bodies[i] == nil:
			ev.Gate = &posthouse.Gate{ID: r.Gate.ID, Name: r.Gate.Name, Kind: r.Gate.Kind, Thread: e.Thread, Branch: r.Gate.Branch, Seq: e.Seq, Hash: e.Hash}
		case r.Gate != nil:
			body, err = c.Vault.OpenBody(ctx, e, recs, i)
			if err == nil {
				ev.Gate, err = posthouse.ReadGateBody(e, r, body)
			}
		case r.Decision != nil && e.Bodies[i] == nil:
			ev.Decision = &posthouse.Decision{Gate: r.Decision.Gate, Verdict: r.Decision.Verdict, By: r.Decision.By, Seq: e.Seq}
		case r.Decision != nil:
			body, err = c.Vault.OpenBody(ctx, e, recs, i)
			if err == nil {
				ev.Decision, err = threadlog.ReadDecisionBody(e, r, body)
			}
		case r.Vote != nil && e.Bodies[i] == nil:
			ev.Vote = &posthouse.Decision{Gate: r.Vote.Gate, Verdict: r.Vote.Verdict, By: r.Vote.By, Seq: e.Seq}
		case r.Vote != nil:
			body, err = c.Vault.OpenBody(ctx, e, recs, i)
			if err == nil {
				ev.Vote, err = threadlog.ReadVoteBody(e, r, body)
			}
		case r.Assignment != nil && e.Bodies[i] == nil:
			ev.Assignment = &posthouse.Assignment{Gate: r.Assignment.Gate, By: r.Assignment.By, Escalation: r.Assignment.Escalation, TakesBack: r.Assignment.TakesBack, Seq: e.Seq}
		case r.Assignment != nil:
			body, err = c.Vault.OpenBody(ctx, e, recs, i)
			if err == nil {
				ev.Assignment, err = threadlog.ReadAssignBody(e, r, body)
			}
		case r.Notice != nil && e.Bodies[i] == nil:
			ev.Notice = &posthouse.Notice{Gate: r.Notice.Gate, Kind: r.Notice.Kind, By: r.Notice.By, Until: r.Notice.Until, Seq: e.Seq}
		case r.Notice != nil:
			body, err = c.Vault.OpenBody(ctx, e, recs, i)
			if err == nil {
				ev.Notice, err = threadlog.ReadNoticeBody(e, r, body)
			}
		}
		if err != nil {
			return nil, err
		}
		evs = append(evs, ev)
	}
	return evs, nil
}
