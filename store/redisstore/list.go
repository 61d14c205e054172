package redisstore

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// List implements [posthouse.Store]. Within a thread it walks the thread's own list,
// otherwise the shortest list that has all matches; the server looks at the other lists.
// Each result is matched with the query. A header that was changed ends the list with
// [posthouse.ErrCorrupt], after the results before it.
func (s *Store) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	l := &listing{Query: q, lists: listsIn(&q)}
	bad := l.begin()
	return func(yield func(*posthouse.Header, error) bool) {
		if bad != nil {
			yield(nil, bad)
			return
		}
		l := *l
		for h, err := range pages(q.Limit, func(left int) ([]*posthouse.Header, bool, error) { return l.page(ctx, s, left) }) {
			if !yield(h, err) {
				return
			}
		}
	}
}

// A listing is a query and its position: members of a list between two others, both
// excluded.
type listing struct {
	posthouse.Query
	lists    []string
	min, max string
	reader   *posthouse.HeaderReader
}

// Members of lists across threads are order key, sequence, thread. Members of a thread's
// list are sequence and order key. No member begins with behind.
const behind = "\xff"

// after begins what follows all members with a prefix of up to 24 bytes.
var after = strings.Repeat(behind, 24)

// begin sets the bounds.
func (l *listing) begin() error {
	l.max = after + behind
	if l.Thread != "" {
		l.min = key64(l.From) // members are longer
		if l.To != 0 {
			l.max = key64(l.To) + after
		}
	}
	if l.After == "" {
		return nil
	}
	order, seq, err := posthouse.ParseCursor(l.After)
	if err != nil {
		return err
	}
	at := key64(seq)
	if l.Thread == "" {
		at = string(order[:]) + at
	}
	if l.Descending {
		l.max = min(l.max, at)
	} else {
		l.min = max(l.min, at+after)
	}
	return nil
}

// page reads candidates until some match, and moves the listing past them.
func (l *listing) page(ctx context.Context, s *Store, left int) (page []*posthouse.Header, more bool, err error) {
	if l.min >= l.max {
		return nil, false, s.lifecycle.Usable(ctx)
	}
	if l.reader == nil {
		l.reader = &posthouse.HeaderReader{}
	}
	down := "0"
	if l.Descending {
		down = "1"
	}
	args := append([]string{l.Thread, down, "(" + l.min, "(" + l.max, strconv.Itoa(min(left, maxRows)), strconv.Itoa(maxLook)}, l.lists...)
	r, err := s.ask(ctx, "list checkpoints", listScript, args...)
	if err != nil {
		return nil, false, err
	}
	for i := 1; i+3 < len(r); i += 4 {
		h, err := l.header(r.text(i), number64(r.text(i+1)), r.text(i+2), r.text(i+3))
		if err != nil {
			return page, false, err
		}
		if l.Match(h) {
			page = append(page, h)
		}
	}
	last := r.text(0)
	if l.Descending {
		l.max = last
	} else {
		l.min = last
	}
	return page, last != "", nil
}

// header reads the checkpoint with an order key from its entry.
func (l *listing) header(order string, seq uint64, thread, value string) (*posthouse.Header, error) {
	if value == "" {
		return nil, posthouse.Corrupt("the index leads to entry %d of thread %q, which is not there", seq, thread)
	}
	e, err := decodeEntry(thread, seq, value)
	if err != nil {
		return nil, err
	}
	if e.Sum() != e.Hash {
		return nil, posthouse.Corrupt("entry %d of thread %q is not what was written there", seq, thread)
	}
	heads, err := l.reader.Read(e.Entry)
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		if string(h.Order[:]) == order {
			return h, nil
		}
	}
	return nil, posthouse.Corrupt("the index leads from order key %x to entry %d of thread %q, which does not have it", order, seq, thread)
}
