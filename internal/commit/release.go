package commit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/core"
)

// A Closing says how a thread's generation is closed.
type Closing struct {
	Tags   []string // at most 16
	By     string
	Reason string
	Failed bool
	DryRun bool // check, and write nothing
}

const maxTags = 16

func (o *Closing) check() error {
	if len(o.Tags) > maxTags {
		return posthouse.Invalid("tags", "are more than %d", maxTags)
	}
	for i, t := range o.Tags {
		if err := posthouse.ValidateID("tags", t); err != nil {
			return err
		}
		if slices.Contains(o.Tags[:i], t) {
			return posthouse.Invalid("tags", "have %q twice", t)
		}
		if _, err := strconv.ParseUint(t, 10, 64); err == nil {
			return posthouse.Invalid("tags", "%q is a number: it would be taken for a version", t)
		}
	}
	if len(o.Reason) > posthouse.MaxText || !text.Valid(o.Reason) {
		return posthouse.Invalid("reason", "must be at most %d bytes of text without control characters", posthouse.MaxText)
	}
	return posthouse.CheckPerson("by", o.By)
}

// Release closes a thread's generation, and returns the gates of threads that it waited
// for.
func Release(ctx context.Context, c *Committer, claim *core.Claim, thread string, o *Closing) (r *posthouse.Release, left []posthouse.ID, err error) {
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	caller := ""
	defer func() { WakeCaller(ctx, c, caller, thread) }() // after the thread is unlocked
	t, err := c.Lock(thread)
	if err != nil {
		return nil, nil, err
	}
	defer c.Unlock(t)
	var done *closedGeneration
	err = c.Append(ctx, t, func(tx *core.Tx) (err error) {
		if err := tx.CheckLease(claim); err != nil {
			return err
		}
		if err := CheckSettled(tx, ""); err != nil {
			return err
		}
		was := CallerOf(tx.Thread.Info)
		done, err = closeGeneration(tx, o)
		if err == nil && !o.DryRun {
			caller = was
		}
		if err == nil && o.DryRun {
			return core.ErrNothing
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	r = done.release
	if o.DryRun {
		return r, nil, nil
	}
	r.Hash = t.Info.Tail.Hash
	c.FreeClaim(t)
	c.Observe.Released(r, done.coordination)
	return r, done.left, nil
}

// A closedGeneration describes what closing a generation made.
type closedGeneration struct {
	release      *posthouse.Release
	left         []posthouse.ID // gates of threads that it waited for
	coordination string         // of its newest checkpoint
}

// closeGeneration adds the record that closes the generation, last in its entry. It
// returns the gates of threads that it waited for.
func closeGeneration(tx *core.Tx, o *Closing) (*closedGeneration, error) {
	info := tx.Thread.Info
	m := posthouse.ReleaseInfo{
		Version: max(info.Generation, 1), First: max(info.First, 1), Base: info.Link, Tags: slices.Clone(o.Tags),
		By: o.By, Reason: o.Reason, Failed: o.Failed, Fence: info.Lease.Fence, Checkpoints: info.Checkpoints, Heads: slices.Clone(info.Branches),
	}
	coordination := info.CoordinationName()
	if n := tx.Next; n != nil {
		coordination = n.Coordination
		m.Heads = slices.DeleteFunc(m.Heads, func(b posthouse.BranchHead) bool { return b.Branch == n.Branch })
		at := len(m.Heads)
		if n.Branch == posthouse.MainBranch {
			at = 0
		}
		m.Heads = slices.Insert(m.Heads, at, posthouse.BranchHead{Branch: n.Branch, Head: n.ID, Seq: tx.Seq, Status: n.Status})
		m.Checkpoints++
	}
	if len(m.Heads) == 0 {
		return nil, posthouse.NotFound("thread", tx.Thread.Name)
	}
	if tx.Claim != nil {
		m.Fence = tx.Claim.Fence
	}
	if m.First < tx.Seq {
		first, err := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name).Entry(m.First, false)
		if err != nil {
			return nil, err
		}
		m.Base = first.Prev
	}
	ended, err := endApprovals(tx)
	if err != nil {
		return nil, err
	}
	left := cancelOpenGates(tx)
	tx.Add(posthouse.Record{Kind: posthouse.RecordRelease, Release: &m}, nil)
	tx.Sign = true
	r := &posthouse.Release{Thread: tx.Thread.Name, ReleaseInfo: m, Seq: tx.Seq, At: time.UnixMilli(tx.At.UnixMilli()).UTC(), Ended: ended}
	return &closedGeneration{r, left, coordination}, nil
}

// endApprovals lists the gates with approvals that the release ends before they were
// used.
func endApprovals(tx *core.Tx) (ended []posthouse.ID, err error) {
	if tx.Thread.Info.Tail.Seq == 0 {
		return nil, nil // the release's own entry is the first
	}
	all, _, err := tx.Core.Logs.Approvals(tx.Ctx, tx.Thread.Info)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		for i := range tx.Records { // what ran is in the same entry
			a.Uses = append(a.Uses, usesIn(tx, i, a.Gate.ID)...)
		}
		if a.Approval(tx.Thread.Info, tx.At).Kept() {
			ended = append(ended, a.Gate.ID)
		}
	}
	return ended, nil
}

// usesIn returns the effect under a gate that a record of the entry is about.
func usesIn(tx *core.Tx, i int, gate posthouse.ID) []grants.Use {
	s := tx.Records[i].Step
	if s == nil || s.Grant != gate {
		return nil
	}
	g := grants.Gather()
	g.Add(&posthouse.Entry{Seq: tx.Seq, Generation: tx.Thread.Info.Generation}, i, &tx.Records[i])
	return g.Uses(false)
}

// cancelOpenGates cancels the gates that a release leaves open, and that the entry has
// not decided. It returns those of threads.
func cancelOpenGates(tx *core.Tx) (left []posthouse.ID) {
	decided := func(id posthouse.ID) bool {
		return slices.ContainsFunc(tx.Records, func(r posthouse.Record) bool { return r.Decision != nil && r.Decision.Gate == id })
	}
	for _, w := range tx.Thread.Info.Waiting {
		if !decided(w.ID) {
			if w.Kind == posthouse.GateThread {
				left = append(left, w.ID)
			}
			AddDecision(tx, &posthouse.Decision{Gate: w.ID, Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: "the thread was released", At: tx.At.UTC(), Trail: w.Trail}, w.Seq)
		}
	}
	return left
}
