package core

import (
	"context"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
)

// MaxRetries bounds how often a commit starts over because other appends, which
// do not stand against it, got in between.
const MaxRetries = 100

// A Tx is one entry in the making, on top of what t knows.
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

	Next    *Head    // the branch's new head
	Recents []Result // step results for the branch's head
	Branch  string   // theirs
	Sign    bool     // this entry is one that is always signed

	Enc    encoder
	sealer posthouse.Sealer
	entry  posthouse.Entry
	info   posthouse.ThreadInfo // the thread's summary with it
	Batch  posthouse.Batch
	spare  *Head // memory for next
}

// NewTx returns an empty appending on top of what is known of t. Appendings are
// used again, since a step would otherwise cost kilobytes of garbage.
func (l *Core) NewTx(ctx context.Context, t *Thread) *Tx {
	a, ok := l.appendings.Get().(*Tx)
	if !ok {
		a = &Tx{}
	}
	a.Core, a.Ctx, a.Thread, a.At, a.Seq = l, ctx, t, l.Config.Now(), t.Info.Tail.Seq+1
	return a
}

// maxSpare is how many bytes of a buffer are kept for the next entry.
const maxSpare = 64 << 10

// Recycle gives the appending's memory up for the next one. An append that failed
// is left alone: somebody may still look at it.
func (a *Tx) Recycle() {
	l := a.Core
	a.Core, a.Ctx, a.Thread, a.Claim, a.Next = nil, nil, nil, nil, nil
	a.Drop, a.Recents, a.Branch, a.Sign = nil, nil, "", false
	a.Records, a.Bodies, a.IDs = emptied(a.Records), emptied(a.Bodies), emptied(a.IDs)
	a.Enc.clear()
	a.sealer, a.info, a.Batch = posthouse.Sealer{}, posthouse.ThreadInfo{}, posthouse.Batch{}
	a.entry = posthouse.Entry{Header: a.entry.Header}
	if cap(a.entry.Header) > maxSpare {
		a.entry.Header = nil
	}
	l.appendings.Put(a)
}

// emptied returns s without its elements and what those held.
func emptied[T any](s []T) []T {
	clear(s)
	return s[:0]
}

func (a *Tx) Add(r posthouse.Record, body []byte) int {
	a.Records = append(a.Records, r)
	a.Bodies = append(a.Bodies, body)
	return len(a.Records) - 1
}

// Append builds an entry by calling build, appends it, and takes t over it.
// When another append won, or build refused on the strength of what is no
// longer so, it reloads and builds again: build must check its conditions each
// time. Callers hold t.mu.
func (l *Core) Append(ctx context.Context, t *Thread, build func(*Tx) error) error {
	var last error
	for range MaxRetries {
		if err := l.Load(ctx, t); err != nil {
			return err
		}
		a := l.NewTx(ctx, t)
		if err := build(a); err != nil {
			if errors.Is(err, ErrNothing) {
				a.Recycle()
				return err
			}
			if stale, e := l.outdated(ctx, t); e != nil || !stale {
				return err
			}
			last = err
			continue
		}
		err := l.put(ctx, t, a)
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

// outdated forgets what is known of t, since a failed build may have spliced
// the head's bytes already, and reports whether the log had gone on without it.
func (l *Core) outdated(ctx context.Context, t *Thread) (bool, error) {
	known := t.Info.Tail
	t.Invalidate()
	err := l.Load(ctx, t)
	return err == nil && t.Info.Tail != known, err
}

// put seals, signs and appends what a holds.
func (l *Core) put(ctx context.Context, t *Thread, a *Tx) error {
	if err := a.Seal(t); err != nil {
		return err
	}
	if err := appendTo(ctx, l.Store, &a.Batch); err != nil {
		return err
	}
	a.Apply(t)
	a.Recycle()
	return nil
}

// Seal seals and signs what a holds, and makes the batch of it.
func (a *Tx) Seal(t *Thread) error {
	if err := a.protect(); err != nil {
		return err
	}
	e := &a.entry
	a.sealer.Seal(e, t.Info, a.At, a.Records, a.Bodies)
	if err := a.Core.signEntry(t, e, a); err != nil {
		return err
	}
	a.info = a.sealer.Apply(*t.Info, e)
	a.Batch = posthouse.Batch{After: t.Info.Tail, Entry: e, IDs: a.IDs, Drop: a.Drop, Thread: &a.info}
	return nil
}

// appendTo appends a batch, and again while the outcome is not known.
func appendTo(ctx context.Context, s posthouse.Store, b *posthouse.Batch) error {
	return settled(ctx, func() error { return s.Append(ctx, b) })
}

// Seals reports whether the bodies are to be sealed.
func (a *Tx) Seals() bool { return a.Core.Config.Cipher != nil || a.Thread.Info.Sealed }

// Apply takes what is known of t over the entry, which is on record.
func (a *Tx) Apply(t *Thread) {
	if a.info.Generation != t.Info.Generation {
		clear(t.Heads)
	}
	*t.Info = a.info
	t.notifyCancelled()
	if len(a.entry.Sig) > 0 || a.entry.Seq == 1 {
		t.since = a.At
	}
	if a.Next != nil {
		if b, _ := t.Info.Branch(a.Next.Branch); b.Head == a.Next.ID {
			a.spare = t.Heads[a.Next.Branch]
			t.Heads[a.Next.Branch] = a.Next
			a.Next.count()
		}
	}
	if len(a.Recents) > 0 {
		if hd := t.Heads[a.Branch]; hd != nil {
			hd.record(a.Recents...)
		}
	}
	if a.Claim != nil {
		a.Claim.Recorded = true
	}
}

// signEvery is how long entries of a thread go unsigned; the entries in
// between are covered by the next signature, since the chain runs through it.
const signEvery = time.Second

func (l *Core) signEntry(t *Thread, e *posthouse.Entry, a *Tx) error {
	if l.Config.Signer == nil {
		return nil
	}
	recently := a.At.Sub(t.since) < signEvery && !a.At.Before(t.since)
	if !a.Sign && (e.Seq == 1 || recently) {
		return nil
	}
	sig, err := l.Config.Signer.Sign(posthouse.SignatureMessage(e.Hash))
	if err != nil {
		return &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "the entry could not be signed", Hint: "check the signing key", Err: err}
	}
	e.Sig = posthouse.JoinSignature(l.Config.Signer.KeyID(), sig)
	return nil
}

// Encoder returns what encodes the entry's checkpoint against a parent, nil for a
// root. It takes the parent's parts over: if the append fails, the thread is
// forgotten.
func (a *Tx) Encoder(base *Head, fresh bool) *encoder {
	e := &a.Enc
	e.l, e.ctx, e.thread, e.seq, e.Base, e.fresh = a.Core, a.Ctx, a.Thread.Name, a.Seq, base, fresh
	if base != nil {
		e.Parts = base.Parts
	}
	return e
}

// NewHead returns an empty head, in memory that an earlier one had.
func (a *Tx) NewHead() *Head {
	next := a.spare
	if next == nil {
		next = &Head{}
	}
	a.spare = nil
	*next = Head{}
	return next
}
