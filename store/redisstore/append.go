package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// The answers of the append script.
const (
	appended = iota
	conflicts
	isTaken
	alreadyThere
)

// Append implements [posthouse.Store]. Appends of many goroutines share round trips. Where
// the connection is lost it asks again, and fails with [posthouse.ErrUnknown] after
// Options.Timeout.
func (s *Store) Append(ctx context.Context, b *posthouse.Batch) error {
	if err := valid.Batch(b); err != nil {
		return err
	}
	return s.append(ctx, []*posthouse.Batch{b})
}

// AppendAll implements [posthouse.BulkAppender], with one call of the script.
func (s *Store) AppendAll(ctx context.Context, bs []*posthouse.Batch) error {
	if err := valid.Batches(bs); err != nil {
		return err
	}
	if len(bs) == 0 {
		return s.lifecycle.Writable(ctx)
	}
	return s.append(ctx, bs)
}

func (s *Store) append(ctx context.Context, bs []*posthouse.Batch) error {
	last := bs[len(bs)-1].Thread
	summary, err := record(last)
	if err != nil {
		return err
	}
	args := make([]string, 0, 16)
	args = append(args, last.Thread, summary, due(last))
	for _, b := range bs {
		value, joined, err := entryValue(b)
		if err != nil {
			return err
		}
		args = append(args, position(b.After), key64(b.Entry.Seq), value, joined, strconv.Itoa(len(b.Drop)))
		for _, id := range b.Drop {
			args = append(args, string(id))
		}
		args = append(args, strconv.Itoa(len(b.IDs)))
		for i := range b.IDs {
			id := &b.IDs[i]
			replace := "0"
			if id.Replace {
				replace = "1"
			}
			args = append(args, string(id.ID), place(id, b.Entry.Thread, b.Entry.Seq), replace)
		}
	}
	r, tries, err := s.write(ctx, fmt.Sprintf("append to thread %q", last.Thread), appendScript, args...)
	if err != nil {
		return err
	}
	switch r.number(0) {
	case alreadyThere:
		if bs[0].First && tries == 1 {
			return valid.Conflict(bs[0], readPosition(r.text(1)))
		}
	case conflicts:
		return valid.Conflict(bs[0], readPosition(r.text(1)))
	case isTaken:
		return taken(r.text(1), r.text(2), last.Thread)
	}
	s.news.Tell()
	return nil
}

// due returns when something is due in the thread, as the score of a list.
func due(t *posthouse.ThreadInfo) string {
	if t.Due == 0 {
		return ""
	}
	return strconv.FormatInt(int64(t.Due), 10)
}

// taken is the error for an id that has a place, "" if an entry of the same call brings it.
func taken(id, at, thread string) error {
	ref, ok := readPlace(at)
	e := &posthouse.Error{
		Code: posthouse.CodeExists, Hint: "choose another id",
		Message: fmt.Sprintf("%q is already entry %d of thread %q", id, ref.Seq, ref.Thread),
	}
	switch {
	case !ok:
		e.Message = fmt.Sprintf("%q is brought twice to thread %q", id, thread)
	case ref.Thread == thread:
		e.Hint = "choose another id, or save with Replace"
	}
	return e
}
