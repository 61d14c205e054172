package memstore

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// Remove implements [posthouse.Store].
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	s.index.Lock()
	defer s.index.Unlock()
	if err := s.index.Usable(ctx); err != nil {
		return done, err
	}
	switch {
	case r.All:
		delete(s.slots, r.Thread) // slots may exist without a log
		done = counted(s.index.RemoveAll(r.Thread))
	case r.Below > 0:
		done = counted(s.index.RemoveEntries(r.Thread, r.From, r.Below))
	default:
		done = s.removeBodies(r.Thread, r.Bodies)
	}
	return done, nil
}

// counted counts removed entries.
func counted(gone []*entry) (done posthouse.Removed) {
	for _, e := range gone {
		done.Entries++
		done.Bytes += int64(len(contentOf(e).Header) + len(contentOf(e).Sig))
		for _, b := range contentOf(e).Bodies {
			count(&done, b)
		}
	}
	return done
}

func (s *Store) removeBodies(thread string, bodies []posthouse.BodyRef) (done posthouse.Removed) {
	for _, ref := range bodies {
		e := s.index.Entry(thread, ref.Seq)
		if e == nil || ref.Record < 0 || ref.Record >= len(contentOf(e).Bodies) || contentOf(e).Bodies[ref.Record] == nil {
			continue
		}
		count(&done, contentOf(e).Bodies[ref.Record])
		without := *contentOf(e)
		without.Bodies = slices.Clone(without.Bodies)
		without.Bodies[ref.Record] = nil
		memindex.Swap(s.index, e, cloneEntry(&without, true)) // a clone frees the removed bytes
	}
	return done
}

func count(done *posthouse.Removed, body []byte) {
	if body != nil {
		done.Bodies++
		done.Bytes += int64(len(body))
	}
}
