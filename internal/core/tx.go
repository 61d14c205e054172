package core

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// MaxRetries bounds how often a commit starts over because other appends came first.
const MaxRetries = 100

// A Tx is one entry under construction, based on what is known of a thread.
type Tx struct {
	Core   *Core
	Ctx    context.Context
	Thread *Thread
	At     time.Time
	Seq    uint64

	Records []posthouse.Record
	Bodies  [][]byte
	IDs     []posthouse.IndexedID
	Drop    []posthouse.ID
	Claim   *Claim // to be marked as recorded

	Next    *Head              // the branch's new head
	Recents []threadlog.Result // step results for the branch's head
	Branch  string             // that Recents belong to
	Sign    bool               // this entry is one that is always signed

	Enc    Encoder
	sealer posthouse.Sealer
	entry  posthouse.Entry
	info   posthouse.ThreadInfo // the thread's summary with it
	Batch  posthouse.Batch
	spare  *Head // reused by the next Head
}

// NewTx returns an empty transaction based on what is known of t. Its memory is reused:
// a step would otherwise allocate kilobytes.
func (c *Core) NewTx(ctx context.Context, t *Thread) *Tx {
	a, ok := c.transactions.Get().(*Tx)
	if !ok {
		a = newTx()
	}
	a.Core, a.Ctx, a.Thread, a.At, a.Seq = c, ctx, t, c.Config.Now(), t.Info.Tail.Seq+1
	return a
}

// newTx returns a transaction with memory for a claim and a checkpoint of a few parts.
func newTx() *Tx {
	const records, parts, bytes = 2, 4, 512
	tx := &Tx{Records: make([]posthouse.Record, 0, records), Bodies: make([][]byte, 0, records)}
	tx.Enc.list.Changes = make([]posthouse.PartChange, 0, parts)
	tx.Enc.room, tx.Enc.body = make([]posthouse.Piece, 0, parts), make([]byte, 0, bytes)
	tx.entry.Header = make([]byte, 0, bytes)
	return tx
}

// maxSpare bounds a buffer that is kept for the next entry, in bytes.
const maxSpare = 64 << 10

// Recycle keeps the transaction's memory for the next one. A failed one must not be
// recycled: others may still read it.
func (tx *Tx) Recycle() {
	c := tx.Core
	tx.Core, tx.Ctx, tx.Thread, tx.Claim, tx.Next = nil, nil, nil, nil, nil
	tx.Drop, tx.Recents, tx.Branch, tx.Sign = nil, nil, "", false
	tx.Records, tx.Bodies, tx.IDs = emptied(tx.Records), emptied(tx.Bodies), emptied(tx.IDs)
	tx.Enc.clear()
	tx.sealer, tx.info, tx.Batch = posthouse.Sealer{}, posthouse.ThreadInfo{}, posthouse.Batch{}
	tx.entry = posthouse.Entry{Header: tx.entry.Header}
	if cap(tx.entry.Header) > maxSpare {
		tx.entry.Header = nil
	}
	c.transactions.Put(tx)
}

// emptied returns s without its elements, which it zeroes.
func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
}

// Add adds a record with its body, which may be nil, and returns its index in the entry.
func (tx *Tx) Add(r posthouse.Record, body []byte) int {
	tx.Records = append(tx.Records, r)
	tx.Bodies = append(tx.Bodies, body)
	return len(tx.Records) - 1
}

// Append builds an entry with build, appends it, and applies it to t. If another append
// won, or build failed on stale data, Append reloads and calls build again: build must
// check its conditions each time. With [ErrNothing] from build it appends nothing, and
// succeeds. Callers hold t.mu.
func (c *Core) Append(ctx context.Context, t *Thread, build func(*Tx) error) error {
	var last error
	for range MaxRetries {
		if err := c.Load(ctx, t); err != nil {
			return err
		}
		a := c.NewTx(ctx, t)
		if err := build(a); err != nil {
			if errors.Is(err, ErrNothing) {
				a.Recycle()
				return nil
			}
			if stale, e := c.reloadIfStale(ctx, t); e != nil || !stale {
				return err
			}
			last = err
			continue
		}
		err := c.appendTx(ctx, t, a)
		if err == nil {
			return nil
		}
		t.Invalidate()
		if !errors.Is(err, posthouse.ErrConflict) {
			return err
		}
		last = err
	}
	return last
}

// AppendOwn is [Core.Append] to a thread of the runtime's own ([posthouse.IsRuntimeThread]), which no
// caller of the Ledger gets. It keeps nothing of the thread.
func (c *Core) AppendOwn(ctx context.Context, thread string, build func(*Tx) error) error {
	return c.Append(ctx, &Thread{Name: thread}, build)
}

// LockAndAppend is [Core.Append] to a thread that it locks while it appends.
func (c *Core) LockAndAppend(ctx context.Context, thread string, build func(*Tx) error) error {
	t, err := c.Lock(thread)
	if err != nil {
		return err
	}
	defer c.Unlock(t)
	return c.Append(ctx, t, build)
}

// AddRemoval adds a signed removal record with the list of what it removes.
func (tx *Tx) AddRemoval(info *posthouse.RemovalInfo, list posthouse.RemovedList) error {
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	tx.Sign = true
	tx.Add(posthouse.Record{Kind: posthouse.RecordRemoval, Removal: info}, body)
	return nil
}

// reloadIfStale reads the thread again and reports whether its log had grown. It drops
// what was known: a failed build may have changed the head's bytes.
func (c *Core) reloadIfStale(ctx context.Context, t *Thread) (bool, error) {
	known := t.Info.Tail
	t.Invalidate()
	err := c.Load(ctx, t)
	return err == nil && t.Info.Tail != known, err
}

// appendTx seals, signs and appends the transaction.
func (c *Core) appendTx(ctx context.Context, t *Thread, tx *Tx) error {
	if err := tx.Seal(t); err != nil {
		return err
	}
	var begun time.Time
	if c.Config.Appended != nil {
		begun = c.Now()
	}
	err := putEntry(ctx, c.Store, &tx.Batch)
	if c.Config.Appended != nil {
		c.Config.Appended(tx.Records, c.Now().Sub(begun), err)
	}
	if err != nil {
		return err
	}
	tx.Apply(t)
	if c.Config.Reached != nil {
		c.Config.Reached(t.Name, t.Info.Tail, t.Info.Link)
	}
	tx.Recycle()
	return nil
}

// Seal seals and signs the transaction's entry, and makes its batch.
func (tx *Tx) Seal(t *Thread) error {
	if err := tx.protect(); err != nil {
		return err
	}
	e := &tx.entry
	tx.sealer.Seal(e, t.Info, tx.At, tx.Records, tx.Bodies)
	if err := tx.Core.signEntry(t, e, tx); err != nil {
		return err
	}
	tx.info = tx.sealer.Apply(*t.Info, e)
	tx.Batch = posthouse.Batch{After: t.Info.Tail, Entry: e, IDs: tx.IDs, Drop: tx.Drop, Thread: &tx.info, First: true}
	return nil
}

// putEntry appends a batch, again while the outcome is not known. Only the first attempt is
// b.First: a later one may find the entry of the first.
func putEntry(ctx context.Context, s posthouse.Store, b *posthouse.Batch) error {
	return retryUnknown(ctx, func() error {
		err := s.Append(ctx, b)
		if b.First && err != nil {
			again := *b // the store may still have the other
			again.First = false
			b = &again
		}
		return err
	})
}

// Apply brings what is known of t up to date with the entry, which is on record.
func (tx *Tx) Apply(t *Thread) {
	if tx.info.Generation != t.Info.Generation {
		clear(t.Heads)
		t.unfinished = nil
	}
	*t.Info = tx.info
	t.notifyCancelled()
	if len(tx.entry.Sig) > 0 || tx.entry.Seq == 1 {
		t.lastSignedAt = tx.At
	}
	if tx.Next != nil {
		if b, _ := t.Info.Branch(tx.Next.Branch); b.Head == tx.Next.ID {
			tx.spare = t.Heads[tx.Next.Branch]
			t.Heads[tx.Next.Branch] = tx.Next
			tx.Next.count()
		}
	}
	if len(tx.Recents) > 0 {
		if hd := t.Heads[tx.Branch]; hd != nil {
			hd.record(tx.Recents...)
		}
	}
	if tx.Claim != nil {
		tx.Claim.Recorded = true
		if tx.Claim.over {
			tx.Claim.over = false
			tx.Core.leases.taken.Add(1)
		}
		tx.Claim.sure.Store(tx.Claim.seen)
	}
}

// signEvery is how long entries of a thread may go unsigned. The next signature covers
// them, since the chain runs through it.
const signEvery = time.Second

func (c *Core) signEntry(t *Thread, e *posthouse.Entry, tx *Tx) error {
	if c.Config.Signer == nil {
		return nil
	}
	recently := tx.At.Sub(t.lastSignedAt) < signEvery && !tx.At.Before(t.lastSignedAt)
	if !tx.Sign && (e.Seq == 1 || recently) {
		return nil
	}
	sig, err := c.Config.Signer.Sign(posthouse.SignatureMessage(e.Hash))
	if err != nil {
		return &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "the entry could not be signed", Hint: "check the signing key", Err: err}
	}
	e.Sig = posthouse.JoinSignature(c.Config.Signer.KeyID(), sig)
	return nil
}

// BeginCheckpoint returns the encoder of the entry's checkpoint against a parent; nil is
// a root. Stages after it find the encoder in tx.Enc. It takes over the parent's parts:
// after a failed append the thread is invalidated.
func (tx *Tx) BeginCheckpoint(base *Head, fresh bool) *Encoder {
	e := &tx.Enc
	e.core, e.ctx, e.thread, e.seq, e.Base, e.fresh = tx.Core, tx.Ctx, tx.Thread.Name, tx.Seq, base, fresh
	if base != nil {
		e.Parts = base.Parts
	}
	return e
}

// NewHead returns an empty head, in reused memory.
func (tx *Tx) NewHead() *Head {
	next := tx.spare
	if next == nil {
		next = &Head{}
	}
	tx.spare = nil
	*next = Head{}
	return next
}
