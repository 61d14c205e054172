package sqlitestore

import (
	"cmp"
	"context"
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/groupcommit"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// A request is a write on its way to the writer; at most one of its fields is
// set.
type request struct {
	batch *posthouse.Batch    // an append
	bulk  []*posthouse.Batch  // several, of one thread
	do    func(*writer) error // any other write, in the group's transaction
	alone func(*writer) error // what brings its own transactions
}

// A group is bounded so that the first in it does not wait for megabytes of
// others, and so that of a thousand callers some compute while others are
// committed.
const (
	maxGroupCost = 512
	bytesPerCost = 16 << 10
)

func (r request) cost() int {
	switch {
	case r.alone != nil:
		return maxGroupCost
	case r.batch != nil:
		return costOf(r.batch)
	}
	n := 1
	for _, b := range r.bulk {
		n += costOf(b)
	}
	return n
}

func costOf(b *posthouse.Batch) int {
	n := 0
	for _, body := range b.Entry.Bodies {
		n += len(body)
	}
	return 1 + n/bytesPerCost
}

// run does the request in the open transaction.
func (r request) run(w *writer) error {
	switch {
	case r.batch != nil:
		return w.append(r.batch, true)
	case r.bulk != nil:
		for i, b := range r.bulk {
			if err := w.append(b, i == len(r.bulk)-1); err != nil {
				return err
			}
		}
	case r.do != nil:
		return r.do(w)
	}
	return nil
}

// submit waits until the request is committed or refused.
func (s *Store) submit(ctx context.Context, doing string, r request) error {
	if err := s.writable(); err != nil {
		return err
	}
	err := s.queue.Do(ctx, r)
	if errors.Is(err, groupcommit.ErrAborted) {
		return s.unknown(err)
	}
	return s.wrap(doing, err)
}

// commit runs one group; the queue calls it, never twice at once. A panic
// leaves a transaction open, so the store takes no more writes behind one.
func (s *Store) commit(group []*groupcommit.Call[request]) {
	returned := false
	defer func() {
		if !returned {
			s.poison(errors.New("a write panicked"))
		}
	}()
	s.commitGroup(group)
	returned = true
}

func (s *Store) commitGroup(group []*groupcommit.Call[request]) {
	if err := s.writable(); err != nil {
		settle(group, err)
		return
	}
	if err := s.openWriter(); err != nil {
		settle(group, err)
		return
	}
	if f := group[0].Work.alone; f != nil {
		group[0].Err = s.judge(f(s.writer))
		return
	}
	for !s.transact(group) {
		// A request was refused after it had written; the others go again.
		s.forget()
	}
	s.news.tell()
}

// transact runs those of the group that have not failed in one transaction. It
// returns false if that was rolled back because of a single request, which now
// has its error.
func (s *Store) transact(group []*groupcommit.Call[request]) bool {
	w := s.writer
	if err := w.Run(db.Begin); err != nil {
		settle(group, s.judge(err))
		return true
	}
	w.first = w.next
	for _, call := range group {
		if call.Err != nil {
			continue
		}
		w.wrote = false
		call.Err = s.oversized(call.Work.run(w))
		switch {
		case call.Err == nil:
		case !layout.Refused(call.Err):
			settle(group, s.judge(s.rollback(call.Err)))
			return true
		case w.wrote:
			if err := s.rollback(nil); err != nil {
				settle(group, s.judge(err))
				return true
			}
			return false
		}
	}
	if err := w.Run(db.Commit); err != nil {
		settle(group, s.lost(s.rollback(err)))
		return true
	}
	s.commits.Add(1)
	return true
}

// rollback ends a failed transaction. It returns cause, joined with what went
// wrong in rolling back.
func (s *Store) rollback(cause error) error {
	s.forget()
	if s.writer.AutocommitEnabled() {
		return cause // the engine rolled back by itself
	}
	if err := s.writer.Run(db.Rollback); err != nil {
		return cmp.Or(cause, err)
	}
	return cause
}

// forget drops from memory what a transaction that is no more may have left.
func (s *Store) forget() {
	s.writer.forget()
	s.packs.clear()
}

// settle gives err to every call, also to those refused: what they were
// refused for may be gone with the transaction.
func settle(group []*groupcommit.Call[request], err error) {
	for _, call := range group {
		call.Err = err
	}
}

// oversized makes an error that a request brought upon itself a refusal.
func (s *Store) oversized(err error) error {
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultTooBig {
		return s.wrap("append to the log", err)
	}
	return err
}

// judge decides what an engine error before the commit means for the store:
// the transaction is rolled back, but after anything but a lack of space or a
// lock the file cannot be trusted with more writes.
func (s *Store) judge(err error) error {
	if err == nil || layout.Refused(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull, sqlite.ResultBusy, sqlite.ResultInterrupt:
		if s.writer.AutocommitEnabled() {
			return err
		}
	}
	return s.poison(err)
}

// lost is judge for an error of the commit itself: unless space was what it
// lacked, its outcome is not known.
func (s *Store) lost(err error) error {
	code := sqlite.ErrCode(err).ToPrimary()
	if (code == sqlite.ResultFull || code == sqlite.ResultBusy) && s.writer.AutocommitEnabled() {
		return err
	}
	s.poison(err)
	return s.unknown(err)
}

func (s *Store) unknown(err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnknown, Message: "the commit to " + s.path + " failed; it may or may not be on the disk", Err: err,
		Hint: "check the disk, open the store again and append the same entry once more",
	}
}

func (s *Store) poison(err error) error {
	e, ok := s.wrap("write", err).(*posthouse.Error)
	if !ok {
		return err
	}
	s.poisoned.CompareAndSwap(nil, e)
	return e
}
