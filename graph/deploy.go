package graph

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
)

// CheckOptions narrow [App.Check]. Nil is the zero value: all open branches
// that another version of the graph left.
type CheckOptions struct {
	Thread string // only this one
	Prefix string // only threads with names that start so
	Ended  bool   // also branches that are done or cancelled: whether a new input could go on with their state
	All    bool   // also those that this version left
}

// A FindingKind says what would become of a branch.
type FindingKind string

// The kinds of finding.
const (
	FindingSame     FindingKind = "same"     // this version left it
	FindingFits     FindingKind = "fits"     // another version left it, and this one can go on with it as it is
	FindingMigrates FindingKind = "migrates" // another version left it, and this one can go on once it is migrated
	FindingFails    FindingKind = "fails"    // it would be refused with Err
)

// A Finding is what [App.Check] found out about a branch.
type Finding struct {
	Kind       FindingKind
	Thread     string
	Branch     string
	Checkpoint posthouse.ID
	Status     posthouse.Status
	From       string        // the fingerprint of the version that left it
	Next       []string      // what would run next, by the names that this version has for it
	Err        *ChangedError // of FindingFails; otherwise nil
}

// Check reports what this version would do with the open threads of the graph. Run it
// before a deploy, against the store of production. It is a dry run: it calls
// migrations and writes nothing. Released threads are not open. An error is the last
// element.
func (a *App[S]) Check(ctx context.Context, o *CheckOptions) iter.Seq2[*Finding, error] {
	return a.core.findMisfits(ctx, *cmp.Or(o, &CheckOptions{}))
}

func (a *core) findMisfits(ctx context.Context, o CheckOptions) iter.Seq2[*Finding, error] {
	return func(yield func(*Finding, error) bool) {
		for t, err := range a.ledger.Threads(ctx, posthouse.ThreadQuery{Graph: a.name, Thread: o.Thread, Prefix: o.Prefix}) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, b := range t.Branches {
				f, err := a.findMisfit(ctx, &o, b)
				switch {
				case errors.Is(err, posthouse.ErrNotFound):
					continue // removed since
				case err == nil && f == nil:
				case !yield(f, err) || err != nil:
					return
				}
			}
		}
	}
}

// findMisfit looks at one branch. It returns nil if the options leave the branch out.
func (a *core) findMisfit(ctx context.Context, o *CheckOptions, b posthouse.BranchHead) (*Finding, error) {
	ended := posthouse.IsOver(b.Status)
	if ended && !o.Ended {
		return nil, nil
	}
	h, err := a.ledger.GetHeader(ctx, b.Head)
	if err != nil {
		return nil, err
	}
	f := &Finding{
		Kind: FindingSame, Thread: h.Thread, Branch: h.Branch, Checkpoint: h.ID, Status: b.Status, From: h.Fingerprint, Next: h.Next,
	}
	switch same := h.Fingerprint == a.fingerprint; {
	case h.Graph != a.name, same && !o.All: // another program's branch of the thread, or this version's
		return nil, nil
	case same:
		return f, nil
	}
	c, err := a.ledger.Get(ctx, b.Head)
	if err != nil {
		return nil, err
	}
	t, err := a.version().Of(ctx, c, true)
	if err != nil {
		return nil, err
	}
	f.Kind, f.Next = FindingFits, t.Frontier.Nodes()
	if len(t.Used) > 0 {
		f.Kind = FindingMigrates
	}
	if r := t.Refusal(!ended); r != nil {
		f.Kind, f.Err = FindingFails, changedError(r)
	}
	return f, nil
}
