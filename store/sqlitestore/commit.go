package sqlitestore

import (
	"cmp"
	"context"
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/db"
	"github.com/posthouse/posthouse/store/sqlitestore/internal/layout"
)

// A request is a write that waits for the writer. At most one of its fields is set.
type request struct {
	batch   *posthouse.Batch    // an append
	batches []*posthouse.Batch  // appends to one thread
	do      func(*writer) error // any other write, in the group's transaction
	alone   func(*writer) error // a write that begins its own transactions
}

// The cost of a group is bounded. So its first caller does not wait for megabytes of
// others, and of a thousand callers some compute while others commit.
const (
	maxGroupCost = 512
	bytesPerCost = 16 << 10
)

func (r request) cost() (n int) {
	if r.alone != nil {
		return maxGroupCost
	}
	if r.batch != nil {
		return costOf(r.batch)
	}
	for _, b := range r.batches {
		n += costOf(b)
	}
	return max(n, 1)
}

func costOf(b *posthouse.Batch) int {
	size := 0
	for _, body := range b.Entry.Bodies {
		size += len(body)
	}
	return 1 + size/bytesPerCost
}

// run does the request in the open transaction.
func (r request) run(w *writer) error {
	switch {
	case r.do != nil:
		return r.do(w)
	case r.batch != nil:
		return w.append(r.batch, true)
	}
	for i, b := range r.batches {
		if err := w.append(b, i == len(r.batches)-1); err != nil {
			return err
		}
	}
	return nil
}

// submit waits until the request is committed or refused.
func (s *Store) submit(ctx context.Context, doing string, r request) error {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return err
	}
	err := s.queue.Do(ctx, r)
	if errors.Is(err, groupcommit.ErrAborted) {
		return s.unknown(err)
	}
	return s.wrap(doing, err)
}

// commit runs one group. The queue never calls it twice at once. A panic leaves a
// transaction open, so the store takes no more writes after one.
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
	err := s.lifecycle.Writable(context.Background())
	if err == nil {
		err = s.openWriter()
	}
	if err != nil {
		failAll(group, err)
		return
	}
	if f := group[0].Work.alone; f != nil {
		group[0].Err = s.classify(f(s.writer))
		return
	}
	for !s.transact(group) {
		// A request was refused after it had written: run the others again.
		s.forget()
	}
	s.news.Tell()
}

// transact runs the requests of the group that have not failed in one transaction. It
// returns false if a single request made it roll back. That request then has its error.
func (s *Store) transact(group []*groupcommit.Call[request]) bool {
	w := s.writer
	if err := w.Run(db.Begin); err != nil {
		failAll(group, s.classify(err))
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
			failAll(group, s.classify(s.rollback(call.Err)))
			return true
		case w.wrote:
			if err := s.rollback(nil); err != nil {
				failAll(group, s.classify(err))
				return true
			}
			return false
		}
	}
	if err := w.Run(db.Commit); err != nil {
		failAll(group, s.lost(s.rollback(err)))
		return true
	}
	s.commits.Add(1)
	return true
}

// Commits returns how many transactions the store has committed since it was opened.
// With [SyncFull] each was one sync of the write-ahead log, so appends divided by
// commits is how many appends shared a sync.
func (s *Store) Commits() uint64 { return s.commits.Load() }

// rollback ends a failed transaction. It returns cause, or the error of rolling back if
// cause is nil.
func (s *Store) rollback(cause error) error {
	s.forget()
	if s.writer.AutocommitEnabled() {
		return cause // SQLite has rolled back itself
	}
	return cmp.Or(cause, s.writer.Run(db.Rollback))
}

// forget drops what a transaction that was rolled back may have left in memory.
func (s *Store) forget() {
	s.writer.forget()
	s.packs.cache.clear()
}

// failAll gives err to every call, also to calls refused before: the reason may be gone
// with the transaction.
func failAll(group []*groupcommit.Call[request], err error) {
	for _, call := range group {
		call.Err = err
	}
}

// oversized turns the error for an entry that is too large for SQLite into a refusal.
func (s *Store) oversized(err error) error {
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultTooBig {
		return s.wrap("append to the log", err)
	}
	return err
}

// classify decides what an error before the commit means for the store. The transaction is
// rolled back. Unless the error was a full disk, a lock or an interrupt, the store takes
// no more writes, because the file cannot be trusted.
func (s *Store) classify(err error) error {
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

// lost is judge for an error of the commit itself. Its outcome is unknown unless the disk
// was full or the database locked.
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
	s.lifecycle.Poison(e)
	return e
}
