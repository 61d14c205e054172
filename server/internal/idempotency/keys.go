package idempotency

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

const (
	keep        = 24 * time.Hour   // how long a key stands for its request
	keepRefused = 10 * time.Minute // the same, after an answer with 4xx
	lease       = 30 * time.Second // how long a server holds a request without renewing
	saveTime    = 10 * time.Second // to put on record what became of a request
)

// Keys are the requests that clients named. Make them with [New]. They are safe for concurrent use.
type Keys struct {
	store  posthouse.Store
	ledger *ledger.Ledger
	now    func() time.Time
}

// New returns the keys on record in a Ledger's store. The time of keys goes by now.
func New(l *ledger.Ledger, now func() time.Time) *Keys { return &Keys{l.Store(), l, now} }

// A Request is one that a key names.
type Request struct {
	api.Reserved
	Thread string // a new name of a thread, that only this request has
	After  uint64 // the thread's end before it, for a request that begins on a thread

	keys  *Keys
	named named
	rec   record
}

// An Intent is what a key shall stand for.
type Intent struct {
	Principal string   // who sends it
	Key       string   // as [Key] returns it
	Sent      []string // all that makes it this request

	// Attach lets a request that runs be taken up by its sender: it is answered by a caller who
	// knows it, and is held by no server. Otherwise it is refused while it runs.
	Attach bool
	Thread string // with Attach, for Request.After; empty: no thread
}

func (k *Keys) millis() posthouse.Millis { return posthouse.Millis(k.now().UnixMilli()) }

// Begin finds the request that a key stands for, or has it stand for this one. Where that request
// has an answer on record, it returns the answer.
//
// It fails with [problem.CodeKeyReused] if the key stands for another request, with
// [problem.CodeInProgress] if a server works on the request, and with [problem.CodeTooMany] if the
// principal, or all together, have too many keys.
func (k *Keys) Begin(ctx context.Context, in *Intent) (*Request, *Answer, error) {
	q := &Request{keys: k, named: named{in.Principal, in.Key}}
	step, name := q.named.place()
	digest := q.named.digest(in.Sent...)
	fresh, err := k.fresh(ctx, in, digest)
	if err != nil {
		return nil, nil, err
	}
	fresh.By = q.named.owner()
	err = k.update(ctx, step, func(b *bucket) (bool, error) {
		now := k.millis()
		rec := b.records[name]
		switch {
		case rec == nil || now >= rec.Until:
		case rec.Digest != digest && rec.Phase != refused:
			return false, reused()
		case rec.Digest != digest:
		case rec.Phase == answered:
			q.take(rec, true)
			return false, nil
		case rec.Phase == running && now < rec.Held:
			return false, inProgress()
		default:
			q.Again = true
			if in.Attach {
				q.take(rec, true)
				return false, nil
			}
			rec.Phase, rec.Holder, rec.Held = running, fresh.Holder, fresh.Held
			q.take(rec, true)
			return true, nil
		}
		b.remove(name)
		b.sweep(now)
		if !b.hasRoom(fresh.By, now) {
			return false, tooMany()
		}
		fresh.Slot = b.freeSlot()
		b.records[name] = fresh
		q.take(fresh, false)
		return true, nil
	})
	if err != nil {
		return nil, nil, err
	}
	if q.rec.Phase != answered {
		return q, nil, nil
	}
	a, err := q.answer(ctx)
	if err != nil || a != nil {
		return q, a, err
	}
	return k.reopen(ctx, in, q)
}

func (q *Request) take(rec *record, again bool) {
	q.rec, q.Again = *rec, again
	q.ID, q.At, q.Thread, q.After = rec.ID, time.UnixMilli(int64(rec.At)), rec.Thread, rec.After
}

// reopen has a request run again that lost its answer.
func (k *Keys) reopen(ctx context.Context, in *Intent, q *Request) (*Request, *Answer, error) {
	err := q.update(ctx, func(_ *bucket, rec *record) bool {
		rec.Phase = open
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	return k.Begin(ctx, in)
}

// fresh returns the record of a key that was never sent.
func (k *Keys) fresh(ctx context.Context, in *Intent, digest string) (*record, error) {
	now := k.millis()
	rec := &record{
		Digest: digest, ID: k.ledger.Core().NewID(), At: posthouse.Millis(k.ledger.Now().UnixMilli()), Until: now + posthouse.Millis(keep.Milliseconds()),
		Phase: running, Holder: k.ledger.Core().NewID(), Held: now + posthouse.Millis(lease.Milliseconds()),
	}
	if !in.Attach {
		return rec, nil
	}
	rec.Phase, rec.Holder, rec.Held = open, "", 0
	if in.Thread == "" {
		rec.Thread = string(k.ledger.Core().NewID())
		return rec, nil
	}
	t, err := k.ledger.Thread(ctx, in.Thread)
	if err == nil {
		rec.After = t.Tail.Seq
	} else if errors.Is(err, posthouse.ErrNotFound) {
		err = nil
	}
	return rec, err
}

// update changes the record of a request that is still this one.
func (q *Request) update(ctx context.Context, change func(*bucket, *record) bool) error {
	step, name := q.named.place()
	return q.keys.update(ctx, step, func(b *bucket) (bool, error) {
		rec := b.records[name]
		if rec == nil || rec.ID != q.ID || rec.Holder != q.rec.Holder || rec.Phase == answered && q.rec.Phase != answered {
			return false, nil
		}
		return change(b, rec), nil
	})
}

// renew holds a request that runs for another while.
func (q *Request) renew(ctx context.Context) error {
	return q.update(ctx, func(_ *bucket, rec *record) bool {
		rec.Held = q.keys.millis() + posthouse.Millis(lease.Milliseconds())
		return true
	})
}

// End puts on record that a request was answered with an error of this status. After 4xx the key
// may be sent with a corrected request; after others it stands for this one, since that may be on
// record.
func (q *Request) End(ctx context.Context, status int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return q.update(ctx, func(_ *bucket, rec *record) bool {
		rec.Phase, rec.Held = open, 0
		if status < 500 {
			rec.Phase, rec.Until = refused, q.keys.millis()+posthouse.Millis(keepRefused.Milliseconds())
		}
		return true
	})
}

func reused() error {
	return &posthouse.Error{
		Code: problem.CodeKeyReused, Field: api.KeyHeader, Message: "was sent with another request before",
		Hint: "send that request again, or give this one a key of its own",
	}
}

func inProgress() error {
	return &posthouse.Error{
		Code: problem.CodeInProgress, Field: api.KeyHeader, Message: "is of a request that is still being worked on",
		Hint: "send it again in a moment; where its server is gone it runs again after " + lease.String(),
	}
}
