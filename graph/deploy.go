package graph

import (
	"context"
	"errors"
	"iter"

	"github.com/posthouse/posthouse"
)

// CheckOptions narrow [App.Check]. Nil is the zero value: all open branches
// that another version of the graph left.
type CheckOptions struct {
	Thread string // only this one
	Prefix string // only threads whose names start so
	Ended  bool   // also branches that are done or cancelled: whether a new input could go on with their state
	All    bool   // also those that this version left
}

// A FindingKind says what would become of a branch.
type FindingKind string

// The kinds of finding.
const (
	FindingSame     FindingKind = "same"     // this version left it
	FindingFits     FindingKind = "fits"     // another version left it, and this one can go on with it as it is
	FindingMigrates FindingKind = "migrates" // behind its migrations
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

// Check goes through the threads of this graph that are not over, before a
// deploy, and finds out what this version would do with them. It is a dry run:
// migrations are called, and nothing is written. Released threads are over.
// Run it against the store of production, where the new version is not in use
// yet. An error is the last element.
func (a *App[S]) Check(ctx context.Context, o *CheckOptions) iter.Seq2[*Finding, error] {
	if o == nil {
		o = &CheckOptions{}
	}
	return func(yield func(*Finding, error) bool) {
		for t, err := range a.ledger.Threads(ctx, posthouse.ThreadQuery{Graph: a.name, Thread: o.Thread, Prefix: o.Prefix}) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, b := range t.Branches {
				f, err := a.find(ctx, o, b)
				switch {
				case errors.Is(err, posthouse.ErrNotFound):
					continue // removed meanwhile
				case err == nil && f == nil:
				case !yield(f, err) || err != nil:
					return
				}
			}
		}
	}
}

// find looks at one branch; nil if it is not to be told of.
func (a *App[S]) find(ctx context.Context, o *CheckOptions, b posthouse.BranchHead) (*Finding, error) {
	ended := b.Status == posthouse.StatusDone || b.Status == posthouse.StatusCancelled
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
	switch {
	case h.Graph != a.name:
		return nil, nil // another program's branch of the thread
	case h.Fingerprint == a.fingerprint && !o.All:
		return nil, nil
	case h.Fingerprint == a.fingerprint:
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
	if e := t.Err(!ended); e != nil {
		f.Kind, f.Err = FindingFails, e
	}
	return f, nil
}
