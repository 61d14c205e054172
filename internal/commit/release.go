package commit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/text"
)

// A Closing says how a thread's generation is closed.
type Closing struct {
	Tags   []string // at most 16
	By     string
	Reason string
	Failed bool
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

// Release is Release but for what the thread waited for, whose gates it returns.
func Release(ctx context.Context, l *core.Core, claim *core.Claim, thread string, o *Closing) (r *posthouse.Release, left []posthouse.ID, err error) {
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	t, err := l.Lock(thread)
	if err != nil {
		return nil, nil, err
	}
	defer l.Unlock(t)
	var done *closed
	err = l.Append(ctx, t, func(a *core.Tx) (err error) {
		if err := a.CheckLease(claim); err != nil {
			return err
		}
		done, err = closeGeneration(a, o)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	r = done.release
	r.Hash = t.Info.Tail.Hash
	l.FreeClaim(t)
	l.Observe.Released(r, done.coordination)
	return r, done.left, nil
}

// closed is what closing a generation made.
type closed struct {
	release      *posthouse.Release
	left         []posthouse.ID // gates of threads that it waited for
	coordination string         // of its newest checkpoint
}

// closeGeneration adds the record that closes the generation, behind what else the
// entry holds. It returns the gates of threads that it waited for.
func closeGeneration(a *core.Tx, o *Closing) (*closed, error) {
	info := a.Thread.Info
	m := posthouse.ReleaseInfo{
		Version: max(info.Generation, 1), First: max(info.First, 1), Base: info.Link, Tags: slices.Clone(o.Tags),
		By: o.By, Reason: o.Reason, Failed: o.Failed, Fence: info.Lease.Fence, Checkpoints: info.Checkpoints, Heads: slices.Clone(info.Branches),
	}
	coordination := info.CoordinationName()
	if n := a.Next; n != nil {
		coordination = n.Coordination
		m.Heads = slices.DeleteFunc(m.Heads, func(b posthouse.BranchHead) bool { return b.Branch == n.Branch })
		at := len(m.Heads)
		if n.Branch == posthouse.MainBranch {
			at = 0
		}
		m.Heads = slices.Insert(m.Heads, at, posthouse.BranchHead{Branch: n.Branch, Head: n.ID, Seq: a.Seq, Status: n.Status})
		m.Checkpoints++
	}
	if len(m.Heads) == 0 {
		return nil, posthouse.NotFound("thread", a.Thread.Name)
	}
	if a.Claim != nil {
		m.Fence = a.Claim.Fence
	}
	if m.First < a.Seq {
		first, err := a.Core.Reader(a.Ctx, a.Thread.Name).Entry(m.First, false)
		if err != nil {
			return nil, err
		}
		m.Base = first.Prev
	}
	left := withdraw(a)
	a.Add(posthouse.Record{Kind: posthouse.RecordRelease, Release: &m}, nil)
	a.Sign = true
	r := &posthouse.Release{Thread: a.Thread.Name, ReleaseInfo: m, Seq: a.Seq, At: time.UnixMilli(a.At.UnixMilli()).UTC()}
	return &closed{r, left, coordination}, nil
}

// withdraw cancels the gates that a release leaves behind and that the entry
// has not decided already. It returns those of threads.
func withdraw(a *core.Tx) (left []posthouse.ID) {
	decided := func(id posthouse.ID) bool {
		return slices.ContainsFunc(a.Records, func(r posthouse.Record) bool { return r.Decision != nil && r.Decision.Gate == id })
	}
	for _, w := range a.Thread.Info.Waiting {
		if !decided(w.ID) {
			if w.Kind == posthouse.GateThread {
				left = append(left, w.ID)
			}
			AddDecision(a, &posthouse.Decision{Gate: w.ID, Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Reason: "the thread was released", At: a.At.UTC(), Trail: w.Trail}, w.Seq)
		}
	}
	return left
}
