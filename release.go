package posthouse

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"time"
)

// ReleaseOptions refine a release. Nil is the zero value.
type ReleaseOptions struct {
	Tags   []string // names for the version, at most 16, formed like ids; not numbers. A later release may have the same
	By     string   // at most 200 bytes
	Reason string   // at most 4,000 bytes
	Failed bool     // the work failed: says so in the record, and changes nothing else
	Claim  *Claim   // the caller's own hold on the thread, which ends with the release
}

const maxTags = 16

func (o *ReleaseOptions) check() (*ReleaseOptions, error) {
	if o == nil {
		return &ReleaseOptions{}, nil
	}
	if len(o.Tags) > maxTags {
		return nil, invalid("tags", "are more than %d", maxTags)
	}
	for i, t := range o.Tags {
		if err := validateID("tags", t); err != nil {
			return nil, err
		}
		if slices.Contains(o.Tags[:i], t) {
			return nil, invalid("tags", "have %q twice", t)
		}
		if _, err := strconv.ParseUint(t, 10, 64); err == nil {
			return nil, invalid("tags", "%q is a number: it would be taken for a version", t)
		}
	}
	if len(o.Reason) > maxText || !validText(o.Reason) {
		return nil, invalid("reason", "must be at most %d bytes of text without control characters", maxText)
	}
	return o, CheckPerson("by", o.By)
}

// A Release is a closed generation of a thread: its version. What it holds can
// be read, listed and forked for as long as it is not dropped, and never changes.
type Release struct {
	Thread string `json:"thread"`
	ReleaseInfo
	Seq  uint64    `json:"seq"`  // of the record that says so, the generation's last entry
	Hash Hash      `json:"hash"` // of that entry
	At   time.Time `json:"at"`

	coordination string // of its newest checkpoint, for observers
}

// Release closes a thread's current generation as a version, whose number is
// the generation's, and frees the thread's name: there is no head any more,
// lists of the thread are empty, and what is saved under the name next begins
// anew. The old checkpoints still load by their ids, [Query].Generation lists
// them, and [Ledger.Fork] takes one up again. Open gates are cancelled, on
// record. [ErrNotFound] if there is nothing to release; [ErrBusy] while
// somebody else runs the thread. Threads whose end it waited for ([GateThread])
// are cancelled; an error with a result says that this failed, and the release
// stands.
func (l *Ledger) Release(ctx context.Context, thread string, o *ReleaseOptions) (*Release, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	r, left, err := l.release(ctx, thread, o)
	if err != nil {
		return nil, err
	}
	return r, l.forsake(ctx, thread, left, o.By)
}

// release is Release but for what the thread waited for, whose gates it returns.
func (l *Core) release(ctx context.Context, thread string, o *ReleaseOptions) (r *Release, left []ID, err error) {
	t, err := l.lock(thread)
	if err != nil {
		return nil, nil, err
	}
	defer l.unlock(t)
	err = l.append(ctx, t, func(a *appending) error {
		if err := a.checkLease(o.Claim); err != nil {
			return err
		}
		r, left, err = a.release(o)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	r.Hash = t.info.Tail.Hash
	l.unclaim(t)
	l.observeReleased(r)
	return r, left, nil
}

// release adds the record that closes the generation, behind what else the
// entry holds. It returns the gates of threads that it waited for.
func (a *appending) release(o *ReleaseOptions) (*Release, []ID, error) {
	info := a.t.info
	m := ReleaseInfo{
		Version: max(info.Generation, 1), First: max(info.First, 1), Base: info.Link, Tags: slices.Clone(o.Tags),
		By: o.By, Reason: o.Reason, Failed: o.Failed, Fence: info.Lease.Fence, Checkpoints: info.Checkpoints, Heads: slices.Clone(info.Branches),
	}
	coordination := info.coordination()
	if n := a.next; n != nil {
		coordination = n.Coordination
		m.Heads = slices.DeleteFunc(m.Heads, func(b BranchHead) bool { return b.Branch == n.Branch })
		at := len(m.Heads)
		if n.Branch == MainBranch {
			at = 0
		}
		m.Heads = slices.Insert(m.Heads, at, BranchHead{n.Branch, n.ID, a.seq, n.Status})
		m.Checkpoints++
	}
	if len(m.Heads) == 0 {
		return nil, nil, notFound("thread", a.t.name)
	}
	if a.claim != nil {
		m.Fence = a.claim.fence
	}
	if m.First < a.seq {
		first, err := a.l.reader(a.ctx, a.t.name).entry(m.First, false)
		if err != nil {
			return nil, nil, err
		}
		m.Base = first.Prev
	}
	left := a.withdraw()
	a.add(Record{Kind: RecordRelease, Release: &m}, nil)
	a.sign = true
	return &Release{Thread: a.t.name, ReleaseInfo: m, Seq: a.seq, At: time.UnixMilli(a.at.UnixMilli()).UTC(), coordination: coordination}, left, nil
}

// withdraw cancels the gates that a release leaves behind and that the entry
// has not decided already. It returns those of threads.
func (a *appending) withdraw() (left []ID) {
	decided := func(id ID) bool {
		return slices.ContainsFunc(a.records, func(r Record) bool { return r.Decision != nil && r.Decision.Gate == id })
	}
	for _, w := range a.t.info.Waiting {
		if !decided(w.ID) {
			if w.Kind == GateThread {
				left = append(left, w.ID)
			}
			a.decision(&Decision{Gate: w.ID, Verdict: Cancel, By: byLedger, Reason: "the thread was released", At: a.at.UTC(), Trail: w.Trail}, w.Seq)
		}
	}
	return left
}

// Releases yields a thread's releases, newest first; none is no error. Those
// that were dropped are among them: their checkpoints are not found.
func (l *Core) Releases(ctx context.Context, thread string) iter.Seq2[*Release, error] {
	return func(yield func(*Release, error) bool) {
		info, err := l.summary(ctx, thread)
		if errors.Is(err, ErrNotFound) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		seq := info.First - 1
		for range info.Releases {
			r, err := l.releaseAt(ctx, thread, seq)
			if err == nil {
				seq = r.First - 1 // before r is the caller's
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (l *Core) releaseAt(ctx context.Context, thread string, seq uint64) (*Release, error) {
	e, err := l.reader(ctx, thread).entry(seq, false)
	if err != nil {
		return nil, err
	}
	if n := len(e.recs); n > 0 && e.recs[n-1].Release != nil {
		return &Release{Thread: thread, ReleaseInfo: *e.recs[n-1].Release, Seq: seq, Hash: e.Hash, At: e.Time()}, nil
	}
	return nil, corrupt("entry %d of thread %q is no release", seq, thread)
}

// LastRelease returns a thread's newest release. [ErrNotFound] if it has none.
func (l *Core) LastRelease(ctx context.Context, thread string) (*Release, error) {
	for r, err := range l.Releases(ctx, thread) {
		return r, err
	}
	return nil, notFound("release of thread", thread)
}

// ReleaseOf returns the release that has a version, told by its number in
// decimal, or the newest that has a tag. [ErrNotFound]. It looks at each newer
// one first.
func (l *Core) ReleaseOf(ctx context.Context, thread, versionOrTag string) (*Release, error) {
	version, notNumber := strconv.ParseUint(versionOrTag, 10, 32)
	for r, err := range l.Releases(ctx, thread) {
		if err != nil {
			return nil, err
		}
		if notNumber == nil && uint64(r.Version) == version || slices.Contains(r.Tags, versionOrTag) {
			return r, nil
		}
	}
	return nil, &Error{
		Code: CodeNotFound, Message: "thread " + thread + " has no release " + strconv.Quote(versionOrTag),
		Hint: "list them: posthouse thread versions " + thread,
	}
}
