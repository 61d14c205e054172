package overview

import (
	"context"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// MaxWalk bounds how many summaries one page of a [Filter] looks at, and how many threads one
// [Count] of open branches does.
const MaxWalk = 20_000

// MaxRead bounds for how many of these the log is read.
const MaxRead = 1000

// Saved is what people call [posthouse.StatusSaved], which is the empty text.
const Saved = "saved"

// Status returns the status that a query selects by for the word that a person gave. For [Saved] it
// is empty, which selects all: a [Filter] finds those.
func Status(word string) posthouse.Status {
	if word == Saved {
		return ""
	}
	return posthouse.Status(word)
}

// A Filter is what no store finds threads by: their summaries, or their logs, are read for it. The
// zero Filter selects all; set fields are joined by "and".
type Filter struct {
	Unknown bool // with effects of an unknown outcome

	// Saved selects threads with checkpoints and without a status: they were saved by hand, and
	// nothing runs them ([posthouse.StatusSaved]).
	Saved bool

	// Node selects threads with a branch that has not ended and is at this node: it runs next,
	// waits there, or failed there. It is written as in [posthouse.Header.Next].
	Node string

	// Version selects threads with a branch that has not ended and has a head of this version of
	// its program ([posthouse.Header.Fingerprint]). With Node it is the same branch.
	Version string

	// By selects threads that this person or token began: the first checkpoint of the current
	// generation has the name.
	By string

	// Since and Until select threads that began then or later, and before then; 0: any. A list by
	// activity ends where the older ones begin.
	Since, Until posthouse.Millis
}

// reads reports whether f needs more than a thread's summary.
func (f *Filter) reads() bool { return f.Unknown || f.Node != "" || f.Version != "" || f.By != "" }

// may reports whether f can select a thread, by its summary.
func (f *Filter) may(t *posthouse.ThreadInfo) bool {
	return t.Created >= f.Since && (f.Until == 0 || t.Created < f.Until) && (f.By == "" || len(t.Branches) > 0) &&
		(!f.Unknown || len(t.Begun) > 0) && (!f.Saved || t.Status == posthouse.StatusSaved && len(t.Branches) > 0) && (f.Node == "" && f.Version == "" || len(openBranches(t)) > 0)
}

// match reads whether f selects a thread, with a branch of a status if one is given. It reads the
// heads of branches, and of effects what [Of] reads.
func (f *Filter) match(ctx context.Context, l *ledger.Ledger, t *posthouse.ThreadInfo, status posthouse.Status) (bool, error) {
	if f.Node != "" || f.Version != "" {
		heads, err := openHeads(ctx, l, t)
		at := func(h *posthouse.Header) bool {
			return (f.Node == "" || slices.Contains(nodesOf(h), f.Node)) && (f.Version == "" || h.Fingerprint == f.Version) &&
				(status == "" || h.Status == status)
		}
		if err != nil || !slices.ContainsFunc(heads, at) {
			return false, err
		}
	}
	if f.By != "" {
		by, err := starter(ctx, l, t)
		if err != nil || by != f.By {
			return false, err
		}
	}
	if !f.Unknown {
		return true, nil
	}
	face := &Face{}
	err := (&reader{ctx: ctx, l: l, t: t}).effects(face)
	return face.Unknown > 0, err
}

// minute is how exactly threads are in the order of their activity.
const minute posthouse.Millis = 60_000

// starter returns who began the current generation of a thread, and "" where that cannot be read.
func starter(ctx context.Context, l *ledger.Ledger, t *posthouse.ThreadInfo) (string, error) {
	for e, err := range l.Store().Read(ctx, t.Thread, posthouse.Range{From: t.First, Limit: firstEntries, Headers: true}) {
		if err != nil {
			return "", unlessUnread(err)
		}
		made, err := e.Checkpoints()
		if err != nil {
			return "", unlessUnread(err)
		}
		if len(made) > 0 {
			return made[0].By, nil
		}
	}
	return "", nil
}

// firstEntries bounds how many entries of a generation are read for its first checkpoint: signals and
// claims may stand before it.
const firstEntries = 20

// Find returns at most limit threads that the query and the filter select, in the order of the query, and
// where the page after them goes on, "" at the end: a cursor for [GoOn]. A page ends early after
// [MaxWalk] summaries or [MaxRead] threads that were read, so it may be short, or empty, and have a
// next. The query's own limit counts for nothing. With Node or Version its status is that of the
// branch they select: another branch may have given the thread its own.
func Find(ctx context.Context, l *ledger.Ledger, q posthouse.ThreadQuery, f *Filter, limit int) (page []*posthouse.ThreadInfo, next string, err error) {
	q.Limit = 0
	var status posthouse.Status
	if f.Node != "" || f.Version != "" {
		status, q.Status = q.Status, ""
	}
	last, looked, read := "", 0, 0
	for t, err := range l.Threads(ctx, q) {
		switch {
		case err != nil:
			return nil, "", err
		case len(page) == limit || looked == MaxWalk || read == MaxRead:
			return page, last, nil
		case q.Newest && t.Updated+minute <= f.Since: // and so are all that follow
			return page, "", nil
		}
		last = Cursor(&q, t)
		looked++
		if posthouse.IsRuntimeThread(t.Thread) || !f.may(t) {
			continue
		}
		if f.reads() {
			read++
			found, err := f.match(ctx, l, t, status)
			if err != nil {
				return nil, "", err
			}
			if !found {
				continue
			}
		}
		page = append(page, t)
	}
	return page, "", nil
}

// OfPeople leaves the runtime's own threads out of a list.
func OfPeople(all iter.Seq2[*posthouse.ThreadInfo, error]) iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		for t, err := range all {
			if err == nil && posthouse.IsRuntimeThread(t.Thread) {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// openBranches returns the branches that have not ended.
func openBranches(t *posthouse.ThreadInfo) (open []posthouse.BranchHead) {
	for _, b := range t.Branches {
		if b.Status != "" && b.Status != posthouse.StatusDone && b.Status != posthouse.StatusCancelled {
			open = append(open, b)
		}
	}
	return open
}

// openHeads reads the heads of the branches that have not ended. It leaves out what cannot be read.
func openHeads(ctx context.Context, l *ledger.Ledger, t *posthouse.ThreadInfo) (heads []*posthouse.Header, err error) {
	open := openBranches(t)
	if len(open) == 0 {
		return nil, nil
	}
	var seqs []uint64
	for _, b := range open {
		seqs = append(seqs, b.Seq)
	}
	slices.Sort(seqs)
	for e, err := range l.Store().Read(ctx, t.Thread, posthouse.Range{Seqs: slices.Compact(seqs), Headers: true}) {
		if err != nil {
			return nil, unlessUnread(err)
		}
		made, err := e.Checkpoints()
		if err != nil {
			if err := unlessUnread(err); err != nil {
				return nil, err
			}
			continue
		}
		for i := range made {
			at := func(b posthouse.BranchHead) bool { return b.Head == made[i].ID }
			if j := slices.IndexFunc(open, at); j >= 0 {
				h := made[i]
				h.Status = open[j].Status // the head's own is that of when it was made
				heads = append(heads, &h)
			}
		}
	}
	return heads, nil
}

// nodesOf returns where a branch is.
func nodesOf(h *posthouse.Header) []string {
	if len(h.Next) == 0 && h.Node != "" {
		return []string{h.Node}
	}
	return h.Next
}
