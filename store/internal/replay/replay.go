// Package replay builds an index in memory from the frames of a log.
package replay

import (
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/framelog"
	"github.com/posthouse/posthouse/store/internal/memindex"
)

// Follow applies an entry to the summary of its log. [posthouse.ErrCorrupt] if it does not
// follow the entry that the summary ends with.
func Follow(info *posthouse.ThreadInfo, e *framelog.Entry) error {
	if e.After != info.Tail.Seq {
		return posthouse.Corrupt("entry %d of thread %q follows entry %d, and the one before is %d", e.Entry.Seq, e.Entry.Thread, e.After, info.Tail.Seq)
	}
	if len(e.Summary) == 0 {
		return info.Apply(&e.Entry)
	}
	if err := info.UnmarshalBinary(e.Summary); err != nil {
		return err
	}
	if info.Thread != e.Entry.Thread || info.Tail != (posthouse.Position{Seq: e.Entry.Seq, Hash: e.Entry.Hash}) {
		return posthouse.Corrupt("the summary with entry %d of thread %q is of another entry", e.Entry.Seq, e.Entry.Thread)
	}
	return nil
}

// Add indexes an entry, which shares nothing with the index then. info is the summary
// with it, which the index keeps, or nil. Callers hold the index's lock.
func Add[D any](index *memindex.Index, headers *posthouse.HeaderReader, e *framelog.Entry, data D, info *posthouse.ThreadInfo) error {
	in := memindex.Incoming{Entry: memindex.NewEntry(data), Info: info, Keep: true, Drop: e.Drop}
	at := in.Entry
	at.Thread, at.Seq, at.Hash, at.Commit = e.Entry.Thread, e.Entry.Seq, e.Entry.Hash, e.Commit
	var found []*posthouse.Header
	if slices.Contains(e.Headers, true) {
		var err error
		found, err = headers.Read(&e.Entry)
		if err != nil {
			return err
		}
	}
	ids, heads := make([]posthouse.ID, len(e.IDs)), make([]*posthouse.Header, len(e.IDs))
	for i, id := range e.IDs {
		if e.Headers[i] {
			at := slices.IndexFunc(found, func(h *posthouse.Header) bool { return h.ID == id })
			if at < 0 {
				return posthouse.Corrupt("entry %d of thread %q does not have checkpoint %q", e.Entry.Seq, e.Entry.Thread, id)
			}
			ids[i], heads[i] = found[at].ID, found[at]
			continue
		}
		ids[i] = posthouse.ID(strings.Clone(string(id)))
	}
	in.SetIDs(ids, heads)
	index.Add(in)
	return nil
}
