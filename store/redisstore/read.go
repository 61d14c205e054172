package redisstore

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// An iterator takes one page at a time. These limits bound a page; scripts end one after a
// megabyte too. A list looks at more than it returns, since the server is idle between
// pages.
const (
	maxRows = 256
	maxLook = 4096
)

// pages yields what next returns, page by page, until there is no more. It holds no
// connection while the caller's code runs.
func pages[T any](limit int, next func(left int) (page []T, more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := limit
		if left <= 0 {
			left = math.MaxInt
		}
		for more := true; more && left > 0; {
			var page []T
			var err error
			page, more, err = next(left)
			for _, item := range page { // also those before one that cannot be read
				if left--; !yield(item, nil) || left == 0 {
					return
				}
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
		}
	}
}

// Read implements [posthouse.Store].
func (s *Store) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	if r.To == 0 || r.To > valid.MaxSeq {
		r.To = valid.MaxSeq
	}
	return func(yield func(*posthouse.Entry, error) bool) {
		at := r
		for e, err := range pages(r.Limit, func(left int) ([]*posthouse.Entry, bool, error) {
			stored, more, err := s.readPage(ctx, thread, &at, min(left, maxRows))
			page := make([]*posthouse.Entry, len(stored))
			for i, e := range stored {
				page[i] = e.Entry
			}
			return page, more, err
		}) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// readPage reads up to n entries and moves the range past them.
func (s *Store) readPage(ctx context.Context, thread string, r *posthouse.Range, n int) (page []*storedEntry, more bool, err error) {
	if r.Seqs == nil && r.From > r.To {
		return nil, false, s.lifecycle.Usable(ctx)
	}
	args := []string{thread, "1", ">", "[" + key64(r.From), "[" + key64(r.To), strconv.Itoa(n)}
	if r.Headers {
		args[1] = "0"
	}
	switch {
	case r.Seqs != nil:
		args = append(args[:2], "=")
		for _, seq := range r.Seqs[:min(n, len(r.Seqs))] {
			args = append(args, key64(seq))
		}
	case r.Reverse:
		args[2] = "<"
	}
	answer, err := s.ask(ctx, fmt.Sprintf("read thread %q", thread), readScript, args...)
	if err != nil {
		return nil, false, err
	}
	for i := 2; i+2 < len(answer); i += 3 {
		seq := number64(answer.text(i))
		e, err := entryOf(thread, seq, answer.text(i+1), answer.text(i+2), r.Headers)
		if err != nil {
			return page, false, err
		}
		page = append(page, e)
		switch {
		case r.Seqs != nil:
		case r.Reverse:
			r.To = seq - 1
			if seq == 0 {
				r.From = 1 // and nothing is left
			}
		default:
			r.From = seq + 1
		}
	}
	more = answer.number(1) == 1
	if r.Seqs != nil {
		r.Seqs = r.Seqs[answer.number(0):]
		more = len(r.Seqs) > 0
	}
	return page, more, nil
}

// entryOf decodes an entry with its bodies.
func entryOf(thread string, seq uint64, value, joined string, headers bool) (*storedEntry, error) {
	e, err := decodeEntry(thread, seq, value)
	if err == nil && !headers {
		err = bodies.Split(e.Entry, []byte(joined), e.gone)
	}
	return e, err
}

// Find implements [posthouse.Store].
func (s *Store) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	m, err := s.get(ctx, fmt.Sprintf("find %q", id), "HGET", s.prefix+"i", string(id))
	switch {
	case err != nil:
		return posthouse.Ref{}, err
	case m.IsNil():
		return posthouse.Ref{}, posthouse.NotFound("checkpoint or gate", id)
	}
	at, _ := m.Text()
	ref, ok := readPlace(at)
	if !ok {
		return ref, posthouse.Corrupt("the index leads from %q to no place", id)
	}
	return ref, nil
}

// fold makes a summary from a log.
func (s *Store) fold(ctx context.Context, thread string, to uint64) (*posthouse.ThreadInfo, error) {
	info := &posthouse.ThreadInfo{Thread: thread}
	for e, err := range s.Read(ctx, thread, posthouse.Range{To: to, Headers: true}) {
		if err == nil {
			err = info.Apply(e)
		}
		if err != nil {
			return nil, err
		}
	}
	if info.Tail.Seq == 0 {
		return nil, posthouse.Corrupt("the summary of thread %q does not decode, and its log is gone", thread)
	}
	info.Waiting = slices.Clip(info.Waiting)
	return info, nil
}
