package memindex

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// Check verifies each entry, folds each log into a summary, and compares the summary and
// the index with it. load makes an entry of what the store keeps of it; nil if it is gone.
func (ix *Index) Check(ctx context.Context, load func(*Entry) (*posthouse.Entry, error)) iter.Seq[error] {
	return func(yield func(error) bool) {
		after := ""
		for {
			t, err := ix.checkNext(ctx, after)
			if err != nil {
				yield(err)
			}
			if t == nil {
				return
			}
			after = t.info.Thread
			for _, err := range t.check(load) {
				if !yield(err) {
					return
				}
			}
		}
	}
}

// A snapshot is a thread as it was at one moment.
type snapshot struct {
	info    *posthouse.ThreadInfo
	entries []*Entry
	ids     map[posthouse.ID]uint64
}

// checkNext returns the first thread after a name, nil if there are no more.
func (ix *Index) checkNext(ctx context.Context, after string) (*snapshot, error) {
	if err := ix.read(ctx); err != nil {
		return nil, err
	}
	defer ix.RUnlock()
	for t := range ix.names.from(func(t *thread) bool { return t.info.Thread > after }, false).all() {
		snap := &snapshot{CloneInfo(&t.info), slices.Clone(t.entries), map[posthouse.ID]uint64{}}
		snap.entries = slices.DeleteFunc(snap.entries, func(e *Entry) bool { return e == nil })
		for _, e := range snap.entries {
			for _, id := range e.IDs {
				if p := ix.ids[id]; p.thread == t {
					snap.ids[id] = p.seq
				}
			}
		}
		return snap, nil
	}
	return nil, nil
}

func (t *snapshot) check(load func(*Entry) (*posthouse.Entry, error)) (errs []error) {
	differs := func(format string, args ...any) {
		errs = append(errs, &posthouse.Error{
			Code: posthouse.CodeCorrupt, Message: fmt.Sprintf("thread %q: ", t.info.Thread) + fmt.Sprintf(format, args...),
		})
	}
	var fold posthouse.ThreadInfo
	begun, whole := false, false
	for _, have := range t.entries {
		e, err := load(have)
		if err == nil && e == nil {
			return errs // removed since
		}
		if err == nil {
			err = e.Check()
		}
		if err != nil {
			errs = append(errs, err)
		}
		if e == nil {
			return errs // what follows cannot be folded
		}
		if !begun && e.Seq > 1 { // what came before was removed
			fold.Tail.Seq, fold.Link, fold.Generation = e.Seq-1, e.Prev, e.Generation
		}
		begun, whole = true, whole || e.Seq == 1
		if err := fold.Apply(e); err != nil {
			errs = append(errs, err)
		}
		for _, id := range have.IDs {
			if seq, ok := t.ids[id]; ok && seq == e.Seq && !mentions(e, id) {
				differs("the index leads from %q to entry %d, which does not have it", id, seq)
			}
		}
	}
	if !begun {
		return errs
	}
	if fold.Tail != t.info.Tail {
		differs("the summary ends at entry %d, the log at %d", t.info.Tail.Seq, fold.Tail.Seq)
		return errs
	}
	if whole {
		if !lists.Same(t.info, &fold) {
			differs("the summary is not what its log says")
		}
	}
	return errs
}

// mentions reports whether the entry brought the id.
func mentions(e *posthouse.Entry, id posthouse.ID) bool {
	recs, err := e.Records()
	return err == nil && slices.ContainsFunc(recs, func(r posthouse.Record) bool {
		return r.Checkpoint != nil && r.Checkpoint.ID == id || r.Gate != nil && r.Gate.ID == id ||
			r.Decision != nil && r.Decision.Gate == id || r.Signal != nil && r.Signal.ID == id
	})
}
