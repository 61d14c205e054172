package authlog

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/tokens"
)

const (
	waitTime   = 2 * time.Second  // for a record before its request is answered all the same
	appendTime = 10 * time.Second // for one append
	retryTime  = 5 * time.Second  // after an append that failed
	entryLimit = 50               // records of one entry
	maxWhy     = 300              // bytes of the reason of a refusal
)

// Options configure [New]. All are required.
type Options struct {
	Ledger *ledger.Ledger
	Tokens *tokens.List
	Life   *limit.Lifetime
	Log    *slog.Logger
	Now    func() time.Time
}

// A Log puts on record. A nil Log does nothing. It is safe for concurrent use.
type Log struct {
	o Options

	mu      sync.Mutex
	refused bound
	logins  map[Kind]*bound
	queue   []*record   // that wait for the store
	writing bool        // a goroutine writes the queue
	timer   *time.Timer // ends the sums; nil: nothing is summed
	closed  bool

	known known
}

// New returns the record of a server's logins and tokens.
func New(o *Options) *Log {
	l := &Log{o: *o, refused: bound{all: maxRefused, each: maxRefusedFrom}, logins: map[Kind]*bound{}}
	for _, k := range []Kind{Login, Logout} {
		l.logins[k] = &bound{all: maxLogins, each: maxLoginsOf}
	}
	return l
}

// LoggedIn records that a browser logged in. It returns when that is on record, or after two
// seconds.
func (l *Log) LoggedIn(t tokens.Token, v Visit) { l.came(Login, t, v) }

// LoggedOut is [Log.LoggedIn] for a browser that logged out.
func (l *Log) LoggedOut(t tokens.Token, v Visit) { l.came(Logout, t, v) }

func (l *Log) came(k Kind, t tokens.Token, v Visit) {
	if l == nil {
		return
	}
	r := &record{kind: k, by: t.Name, act: Act{Person: t.Name, Role: string(t.Role), Method: v.By, Address: v.Address}, done: make(chan struct{})}
	if l.put(r, l.logins[k], t.Name) {
		await(r)
	}
}

// Refused records that a credential was not accepted. It does not wait. The token is one that
// has expired, or zero.
func (l *Log) Refused(t tokens.Token, v Visit, why string) {
	if l != nil {
		if len(why) > maxWhy {
			why = text.Cut(why, maxWhy)
		}
		r := &record{kind: Refused, act: Act{Person: t.Name, Method: v.By, Address: v.Address, Why: why}}
		l.put(r, &l.refused, limit.Network(v.Address))
	}
}

// put has a record written, or adds it to the sum of its bound. It reports whether it is written.
func (l *Log) put(r *record, b *bound, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	now := l.o.Now()
	if len(l.queue) < maxQueue && b.take(now, name) {
		l.queue = append(l.queue, r)
		l.write()
		return true
	}
	b.add(now, name)
	if l.timer == nil {
		l.timer = time.AfterFunc(sumTime, l.endSums)
	}
	return false
}

// endSums has the sums written. While the store does not take what waits already, they go on.
func (l *Log) endSums() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if len(l.queue) >= maxQueue {
		l.timer = time.AfterFunc(sumTime, l.endSums)
		return
	}
	l.timer = nil
	l.sumUp()
	l.write()
}

// sumUp puts the sums into the queue. Callers hold l.mu.
func (l *Log) sumUp() {
	sum := func(k Kind, b *bound) {
		if act := b.flush(); act.Count > 0 {
			l.queue = append(l.queue, &record{kind: k, act: act})
		}
	}
	sum(Refused, &l.refused)
	for _, k := range []Kind{Login, Logout} {
		sum(k, l.logins[k])
	}
}

// write has the queue written in the background. Callers hold l.mu.
func (l *Log) write() {
	if !l.writing && len(l.queue) > 0 {
		l.writing = true
		l.o.Life.Go(l.drain)
	}
}

// drain writes the queue until it is empty. Where the store fails it tries again until the server
// closes.
func (l *Log) drain() {
	ended := l.o.Life.Context().Done()
	for ended != nil {
		batch := l.next()
		if len(batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(l.o.Life.Work(), appendTime)
		err := l.append(ctx, batch)
		cancel()
		if err == nil {
			continue
		}
		l.restore(batch)
		l.o.Log.Error("logins and refused credentials cannot be put on record", "records", len(batch), "error", err)
		wait := time.NewTimer(retryTime)
		select {
		case <-wait.C:
		case <-ended:
			ended = nil
		}
		wait.Stop()
	}
	l.mu.Lock()
	l.writing = false
	l.mu.Unlock()
}

// next takes records out of the queue. With an empty queue the writer ends.
func (l *Log) next() []*record {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), entryLimit)
	batch := l.queue[:n:n]
	l.queue = l.queue[n:]
	l.writing = n > 0
	return batch
}

func (l *Log) restore(batch []*record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(batch, l.queue...)
}

// append puts records into one entry.
func (l *Log) append(ctx context.Context, batch []*record) error {
	c := l.o.Ledger.Core()
	err := c.AppendOwn(ctx, Thread, func(tx *core.Tx) error {
		for _, r := range batch {
			id := c.NewID()
			tx.Add(posthouse.Record{Kind: posthouse.RecordSignal, Signal: &posthouse.SignalInfo{
				ID: id, Name: string(r.kind), By: r.by,
			}}, r.value())
			tx.IDs = append(tx.IDs, posthouse.IndexedID{ID: id})
		}
		tx.Sign = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, r := range batch {
		if r.done != nil {
			close(r.done)
		}
	}
	return nil
}

// await waits until a record is in the log, but not for long.
func await(r *record) {
	wait := time.NewTimer(waitTime)
	defer wait.Stop()
	select {
	case <-r.done:
	case <-wait.C:
	}
}

// Close writes what is summed and what waits, once the server's lifetime is over. Later calls of the
// other methods record nothing.
func (l *Log) Close(ctx context.Context) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.sumUp()
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	for batch := l.next(); len(batch) > 0; batch = l.next() {
		if err := l.append(ctx, batch); err != nil {
			l.o.Log.Error("logins and refused credentials were not put on record", "records", len(batch), "error", err)
			return
		}
	}
}
