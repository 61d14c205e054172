package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// StoreThread is the thread of the runtime's own that says when the store was put back to an earlier
// state, by signals [posthouse.SignalPutBack].
const StoreThread = "$store"

// PutBackOptions are what [PutBack] puts on record. Nil is the zero value.
type PutBackOptions struct {
	By      string         // who put it back
	From    string         // where from, as the name of the file of a backup; "" if that is not known
	Missing []MissingEntry // what is known to be lost
	DryRun  bool           // writes nothing, and returns what would be
}

// A MissingEntry is an end of a thread's log that was seen before, and that the store does not have.
type MissingEntry struct {
	Thread string `json:"thread"`
	Seq    uint64 `json:"seq"` // of the entry
}

// A StorePutBack is the record of a store that was put back to an earlier state.
type StorePutBack struct {
	To        time.Time      `json:"to"` // the newest entry that it has; zero: it has no entry
	From      string         `json:"from,omitempty"`
	Missing   []MissingEntry `json:"missing,omitempty"`
	Threads   int            `json:"threads"`   // that carry the mark: with an open question, a usable approval, or a branch that has not ended
	Approvals int            `json:"approvals"` // that are asked about before an effect runs under them
}

// PutBack puts on record that the store was put back to an earlier state, as by a backup. What was
// recorded since that state is lost, and effects that were made since are not on record. So each
// thread that has not ended, or with an open question or a usable approval, gets the signal
// [posthouse.SignalPutBack]. From there on gate.Act does not run an effect under an approval from
// before unless it is Idempotent: its Reconcile is called, or people are asked whether it was done. The
// thread [StoreThread] says who put it back, where from, to which time, and what is known to be missing.
//
// No other process may use the store. A PutBack that is interrupted is called again: threads that have
// the mark may get another one.
func PutBack(ctx context.Context, led *ledger.Ledger, o *PutBackOptions) (*StorePutBack, error) {
	c := led.Core()
	if o == nil {
		o = &PutBackOptions{}
	}
	if err := posthouse.CheckPerson("by", o.By); err != nil {
		return nil, err
	}
	done := &StorePutBack{From: o.From, Missing: o.Missing}
	to, threads, err := newestEntry(ctx, c)
	if err != nil {
		return nil, err
	}
	done.To = to
	value, err := json.Marshal(threadlog.PutBack{To: to})
	if err != nil {
		return nil, err
	}
	for _, thread := range threads {
		if err := putBackThread(ctx, c, thread, o, value, done); err != nil {
			return nil, err
		}
	}
	if o.DryRun {
		return done, nil
	}
	record, err := json.Marshal(done)
	if err != nil {
		return nil, err
	}
	err = c.AppendOwn(ctx, StoreThread, func(tx *core.Tx) error {
		addMark(tx, posthouse.SignalPutBack, o.By, record)
		return nil
	})
	if err == nil {
		_, err = LastPutBack(ctx, led)
	}
	return done, err
}

// LastPutBack returns the newest record that the store was put back to an earlier state, nil if there is
// no such record. Gates that the Ledger reads from now on say in PutBack whether they were asked before.
func LastPutBack(ctx context.Context, led *ledger.Ledger) (*StorePutBack, error) {
	l := led.Core().Logs
	info, err := l.Summary(ctx, StoreThread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, nil
	}
	if err != nil || info.NewestSignal(posthouse.SignalPutBack) == 0 {
		return nil, err
	}
	s, err := l.Reader(ctx, StoreThread).Signal(info.NewestSignal(posthouse.SignalPutBack))
	if err != nil {
		return nil, err
	}
	p := &StorePutBack{}
	if err := json.Unmarshal(s.Value, p); err != nil {
		return nil, posthouse.Corrupt("the record that the store was put back, at entry %d of thread %q, does not decode: %v", s.Seq, StoreThread, err)
	}
	l.KnowPutBack(s.At, p.To)
	return p, nil
}

// newestEntry returns the time of the newest entry of the store, and its threads.
func newestEntry(ctx context.Context, c *commit.Committer) (newest time.Time, threads []string, err error) {
	for info, err := range c.Store.Threads(ctx, posthouse.ThreadQuery{}) {
		if err != nil {
			return newest, nil, err
		}
		if !time.UnixMilli(int64(info.Updated)).Add(time.Minute).Before(newest) { // it is rounded down to the minute
			for e, err := range c.Store.Read(ctx, info.Thread, posthouse.Range{From: info.Tail.Seq, Headers: true}) {
				if err != nil {
					return newest, nil, err
				}
				if at := e.Time(); at.After(newest) {
					newest = at
				}
			}
		}
		if !posthouse.IsRuntimeThread(info.Thread) && !info.Gone() {
			threads = append(threads, info.Thread)
		}
	}
	return newest, threads, nil
}

// putBackThread marks a thread in which something may continue.
func putBackThread(ctx context.Context, c *commit.Committer, thread string, o *PutBackOptions, value []byte, done *StorePutBack) error {
	info, err := c.Logs.Summary(ctx, thread)
	if err != nil {
		return err
	}
	usable, unread, err := usableApprovals(ctx, c, info)
	if err != nil {
		return err
	}
	moves := len(info.Waiting)+len(usable)+unread > 0
	for _, b := range info.Branches {
		moves = moves || !posthouse.IsOver(b.Status)
	}
	if !moves {
		return nil
	}
	if !o.DryRun {
		err = c.LockAndAppend(ctx, thread, func(tx *core.Tx) error {
			addMark(tx, posthouse.SignalPutBack, o.By, value)
			return nil
		})
	}
	if err == nil {
		done.Threads++
		done.Approvals += len(usable)
	}
	return err
}

// usableApprovals returns the approvals of a thread under which an effect may still run, and how many
// cannot be read.
func usableApprovals(ctx context.Context, c *commit.Committer, info *posthouse.ThreadInfo) (usable []posthouse.ID, unread int, err error) {
	all, sealed, err := c.Logs.Approvals(ctx, info)
	for _, a := range all {
		if a.Usable(info, c.Now()) {
			usable = append(usable, a.Gate.ID)
		}
	}
	return usable, len(sealed), err
}
