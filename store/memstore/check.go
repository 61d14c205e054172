package memstore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
)

// Check implements [posthouse.Checker]. It verifies each entry, folds the log into a
// summary, and compares the summary and the index with the stored ones.
func (s *Store) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		after := ""
		for {
			t, err := s.checkNext(ctx, after)
			if err != nil {
				yield(err)
			}
			if t == nil {
				return
			}
			after = t.info.Thread
			for _, err := range t.check() {
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
	entries []*entry
	ids     map[posthouse.ID]uint64
}

// checkNext returns the first thread after a name, nil if there are no more.
func (s *Store) checkNext(ctx context.Context, after string) (*snapshot, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	for t := range s.names.from(func(t *thread) bool { return t.info.Thread > after }, false).all() {
		snap := &snapshot{cloneInfo(&t.info), slices.Clone(t.entries), map[posthouse.ID]uint64{}}
		snap.entries = slices.DeleteFunc(snap.entries, func(e *entry) bool { return e == nil })
		for _, e := range snap.entries {
			for _, id := range e.ids {
				if p := s.ids[id]; p.thread == t {
					snap.ids[id] = p.seq
				}
			}
		}
		return snap, nil
	}
	return nil, nil
}

func (t *snapshot) check() (errs []error) {
	differs := func(format string, args ...any) {
		errs = append(errs, &posthouse.Error{
			Code: posthouse.CodeCorrupt, Message: fmt.Sprintf("thread %q: ", t.info.Thread) + fmt.Sprintf(format, args...),
		})
	}
	var fold posthouse.ThreadInfo
	for i, e := range t.entries {
		if err := e.Check(); err != nil {
			errs = append(errs, err)
		}
		if i == 0 && e.Seq > 1 { // what came before was removed
			fold.Tail.Seq, fold.Link, fold.Generation = e.Seq-1, e.Prev, e.Generation
		}
		if err := fold.Apply(&e.Entry); err != nil {
			errs = append(errs, err)
		}
		for _, id := range e.ids {
			if seq, ok := t.ids[id]; ok && seq == e.Seq && !mentions(&e.Entry, id) {
				differs("the index leads from %q to entry %d, which does not have it", id, seq)
			}
		}
	}
	if len(t.entries) == 0 {
		return errs
	}
	if fold.Tail != t.info.Tail {
		differs("the summary ends at entry %d, the log at %d", t.info.Tail.Seq, fold.Tail.Seq)
		return errs
	}
	if t.entries[0].Seq == 1 {
		have, _ := t.info.MarshalBinary()
		if want, _ := fold.MarshalBinary(); !bytes.Equal(have, want) {
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
