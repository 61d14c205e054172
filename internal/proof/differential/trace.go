package differential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/posthouse/posthouse"
)

// A side is one of the stores that are compared, with what it chose itself.
type side struct {
	store     posthouse.Store
	cursor    string // of the watch
	revisions map[posthouse.SlotKey]uint64
}

// traceError writes what callers may rely on in an error.
func traceError(err error) string {
	if err == nil {
		return "ok"
	}
	var e *posthouse.Error
	if !errors.As(err, &e) {
		return "error " + err.Error()
	}
	text := "error " + string(e.Code)
	if e.Field != "" {
		text += " of " + e.Field
	}
	if e.Tail != nil {
		text += fmt.Sprintf(", tail %d %.8s", e.Tail.Seq, e.Tail.Hash)
	}
	return text
}

// traceAll writes what an iterator yields, and its error.
func traceAll[V any](seq iter.Seq2[V, error], trace func(V) string) string {
	var b strings.Builder
	n := 0
	for v, err := range seq {
		if n++; err != nil {
			b.WriteString(" " + traceError(err))
			continue
		}
		b.WriteString(" " + trace(v))
	}
	return fmt.Sprint(n, ":", b.String())
}

func short(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:4])
}

func traceEntry(e *posthouse.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%d(generation %d, %.8s after %.8s, header %s, sig %s,", e.Thread, e.Seq, e.Generation, e.Hash, e.Prev, short(e.Header), short(e.Sig))
	for _, body := range e.Bodies {
		if body == nil {
			b.WriteString(" nil")
		} else {
			b.WriteString(" " + short(body))
		}
	}
	if err := e.Check(); err != nil {
		b.WriteString(", " + err.Error())
	}
	return b.String() + ")"
}

func traceHeader(h *posthouse.Header) string {
	c := *h
	c.CreatedAt = c.CreatedAt.UTC()
	if len(c.Labels) == 0 {
		c.Labels = nil
	}
	if len(c.Next) == 0 {
		c.Next = nil
	}
	text, err := json.Marshal(&c)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s/%d(%s, %s)", h.Thread, h.Seq, h.ID, short(text))
}

func traceThread(t *posthouse.ThreadInfo) string {
	text, err := t.MarshalBinary()
	if err != nil {
		return err.Error()
	}
	waiting := ""
	for _, w := range t.Waiting {
		waiting += " " + string(w.ID)
	}
	return fmt.Sprintf("%s(tail %d %.8s, %s, waits%s)", t.Thread, t.Tail.Seq, t.Tail.Hash, short(text), waiting)
}

// slot does one operation. Of the revision it says only whether it grew.
func (s *side) slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp, current bool) string {
	if current {
		op.Revision = 0
		if have, err := s.store.Slot(ctx, key, posthouse.SlotOp{}); err == nil {
			op.Revision = have.Revision
		}
	}
	got, err := s.store.Slot(ctx, key, op)
	text := traceError(err)
	if err != nil || op.Verb == posthouse.SlotDelete {
		return text
	}
	grew := got.Revision > s.revisions[key]
	s.revisions[key] = max(s.revisions[key], got.Revision)
	return fmt.Sprintf("%s %q, fence %d, revision grew: %v", text, got.Value, got.Fence, grew)
}

func (s *side) slots(ctx context.Context, thread string) string {
	l, ok := s.store.(posthouse.SlotLister)
	if !ok {
		return "does not list slots"
	}
	return traceAll(l.Slots(ctx, thread), func(i *posthouse.SlotItem) string {
		return fmt.Sprintf("%q=%q, fence %d", i.Key, i.Value, i.Fence)
	})
}

// watch writes all entries after the last watch up to one that is known to be the newest.
func (s *side) watch(ctx context.Context, thread string, seq uint64) string {
	w, ok := s.store.(posthouse.Watcher)
	if !ok {
		return "does not watch"
	}
	ctx, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	var b strings.Builder
	for e, err := range w.Watch(ctx, s.cursor) {
		if err != nil {
			b.WriteString(" " + traceError(err))
			break
		}
		s.cursor = e.Cursor
		b.WriteString(" " + traceEntry(e))
		if e.Thread == thread && e.Seq == seq {
			return b.String()
		}
	}
	return b.String() + " and nothing more"
}

// check runs the store's own check.
func (s *side) check(ctx context.Context) string {
	var b strings.Builder
	if c, ok := s.store.(posthouse.Checker); ok {
		for err := range c.Check(ctx) {
			b.WriteString(" " + err.Error())
		}
	}
	return b.String()
}
