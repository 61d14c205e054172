package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/bodies"
	"github.com/posthouse/posthouse/store/internal/valid"
)

// removeChunk is how many entries one call of the script removes: other calls wait for it.
const removeChunk = 500

// Remove implements [posthouse.Store]. The server rewrites its files by and by; until then
// they keep removed bytes.
func (s *Store) Remove(ctx context.Context, r posthouse.Removal) (done posthouse.Removed, err error) {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return done, err
	}
	if r.Thread == "" {
		return done, posthouse.Invalid("thread", "is empty")
	}
	from, below := "", ""
	switch {
	case r.All:
	case r.Below > 0:
		from, below = key64(min(r.From, valid.MaxSeq)), key64(min(r.Below, valid.MaxSeq+1))
	default:
		return s.removeBodies(ctx, &r)
	}
	for {
		n, _, err := s.write(ctx, fmt.Sprintf("remove from thread %q", r.Thread), removeScript, r.Thread, from, below, strconv.Itoa(removeChunk))
		if err != nil {
			return done, err
		}
		done.Entries += n.number(0)
		done.Bodies += n.number(1)
		done.Bytes += int64(n.number(2))
		if n.number(3) == 0 {
			return done, nil
		}
	}
}

func (s *Store) removeBodies(ctx context.Context, r *posthouse.Removal) (done posthouse.Removed, err error) {
	bySeq := map[uint64][]int{}
	for _, ref := range r.Bodies {
		bySeq[ref.Seq] = append(bySeq[ref.Seq], ref.Record)
	}
	for seq, records := range bySeq {
		for again := true; again; {
			again, err = s.removeFrom(ctx, r.Thread, seq, records, &done)
			if err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// removeFrom removes bodies of one entry. It reports true if the entry changed
// since it was read.
func (s *Store) removeFrom(ctx context.Context, thread string, seq uint64, records []int, done *posthouse.Removed) (again bool, err error) {
	doing := fmt.Sprintf("remove bodies of thread %q", thread)
	old, joined, err := s.entry(ctx, doing, thread, seq)
	if err != nil || old == "" {
		return false, err
	}
	e, err := entryOf(thread, seq, old, joined, false)
	if err != nil {
		return false, err
	}
	var cut posthouse.Removed
	for i, body := range e.Bodies {
		if body == nil || !slices.Contains(records, i) {
			continue
		}
		cut.Bodies++
		cut.Bytes += int64(len(body))
		e.gone.Set(i)
		e.Bodies[i] = nil
	}
	if cut.Bodies == 0 {
		return false, nil
	}
	left, kept := bodies.Join(e.Bodies)
	if err := s.lifecycle.Writable(ctx); err != nil {
		return false, err
	}
	value := encodeEntry(e.Entry, e.joinedIDs(), kept, e.gone)
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout)
	defer cancel()
	n, err := s.count(within, bodiesScript, thread, key64(seq), old, value, string(left))
	if err != nil || n == 0 {
		return err == nil, s.wrap(doing, err)
	}
	done.Bodies += cut.Bodies
	done.Bytes += cut.Bytes
	return false, nil
}

// entry reads the values of one entry, "" if it is not there.
func (s *Store) entry(ctx context.Context, doing, thread string, seq uint64) (value, joined string, err error) {
	err = s.retryUnknown(ctx, doing, func(ctx context.Context) error {
		m, err := s.run(ctx, readScript, thread, "1", "=", key64(seq))
		if err != nil {
			return err
		}
		r, err := m.List()
		value, joined = "", ""
		if err == nil && len(r) > 2 {
			value, joined = reply(r).text(3), reply(r).text(4)
		}
		return err
	})
	return value, joined, err
}
