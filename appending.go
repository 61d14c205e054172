package posthouse

import (
	"context"
	"errors"
	"time"
)

// maxRetries bounds how often a commit starts over because other appends, which
// do not stand against it, got in between.
const maxRetries = 100

// An appending is one entry in the making, on top of what t knows.
type appending struct {
	l   *Core
	ctx context.Context
	t   *thread
	at  time.Time
	seq uint64

	records []Record
	bodies  [][]byte
	ids     []IndexedID
	drop    []ID
	claim   *Claim // to be marked as recorded

	next    *head    // the branch's new head
	recents []recent // step results for the branch's head
	branch  string   // theirs
	sign    bool     // this entry is one that is always signed

	enc    encoder
	header entryHeader
	entry  Entry
	info   ThreadInfo // the thread's summary with it
	batch  Batch
	spare  *head // memory for next
}

// begin returns an empty appending on top of what is known of t. Appendings are
// used again, since a step would otherwise cost kilobytes of garbage.
func (l *Core) begin(ctx context.Context, t *thread) *appending {
	a, ok := l.appendings.Get().(*appending)
	if !ok {
		a = &appending{}
	}
	a.l, a.ctx, a.t, a.at, a.seq = l, ctx, t, l.opt.Now(), t.info.Tail.Seq+1
	return a
}

// maxSpare is how many bytes of a buffer are kept for the next entry.
const maxSpare = 64 << 10

// end gives the appending's memory up for the next one. An append that failed
// is left alone: somebody may still look at it.
func (a *appending) end() {
	l := a.l
	a.l, a.ctx, a.t, a.claim, a.next = nil, nil, nil, nil, nil
	a.drop, a.recents, a.branch, a.sign = nil, nil, "", false
	a.records, a.bodies, a.ids = emptied(a.records), emptied(a.bodies), emptied(a.ids)
	a.enc.clear()
	a.header, a.info, a.batch = entryHeader{}, ThreadInfo{}, Batch{}
	a.entry = Entry{Header: a.entry.Header}
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

func (a *appending) add(r Record, body []byte) int {
	a.records = append(a.records, r)
	a.bodies = append(a.bodies, body)
	return len(a.records) - 1
}

// append builds an entry by calling build, appends it, and takes t over it.
// When another append won, or build refused on the strength of what is no
// longer so, it reloads and builds again: build must check its conditions each
// time. Callers hold t.mu.
func (l *Core) append(ctx context.Context, t *thread, build func(*appending) error) error {
	var last error
	for range maxRetries {
		if err := l.load(ctx, t); err != nil {
			return err
		}
		a := l.begin(ctx, t)
		if err := build(a); err != nil {
			if errors.Is(err, errNothing) {
				a.end()
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
		t.forget()
		if !errors.Is(err, ErrConflict) {
			return err
		}
		last = err
	}
	return last
}

// outdated forgets what is known of t, since a failed build may have spliced
// the head's bytes already, and reports whether the log had gone on without it.
func (l *Core) outdated(ctx context.Context, t *thread) (bool, error) {
	known := t.info.Tail
	t.forget()
	err := l.load(ctx, t)
	return err == nil && t.info.Tail != known, err
}

// put seals, signs and appends what a holds.
func (l *Core) put(ctx context.Context, t *thread, a *appending) error {
	if err := a.prepare(t); err != nil {
		return err
	}
	if err := appendTo(ctx, l.store, &a.batch); err != nil {
		return err
	}
	a.settle(t)
	a.end()
	return nil
}

// prepare seals and signs what a holds, and makes the batch of it.
func (a *appending) prepare(t *thread) error {
	if err := a.protect(); err != nil {
		return err
	}
	e := &a.entry
	seal(e, &a.header, t.info, a.at, a.records, a.bodies)
	if err := a.l.signEntry(t, e, a); err != nil {
		return err
	}
	a.info = *t.info
	a.info.apply(e, &a.header)
	a.batch = Batch{After: t.info.Tail, Entry: e, IDs: a.ids, Drop: a.drop, Thread: &a.info}
	return nil
}

// appendTo appends a batch, and again while the outcome is not known.
func appendTo(ctx context.Context, s Store, b *Batch) error {
	return settled(ctx, func() error { return s.Append(ctx, b) })
}

// seals reports whether the bodies are to be sealed.
func (a *appending) seals() bool { return a.l.opt.Cipher != nil || a.t.info.Sealed }

// settle takes what is known of t over the entry, which is on record.
func (a *appending) settle(t *thread) {
	if a.info.Generation != t.info.Generation {
		clear(t.heads)
	}
	*t.info = a.info
	t.tell()
	if len(a.entry.Sig) > 0 || a.entry.Seq == 1 {
		t.since = a.at
	}
	if a.next != nil {
		if b, _ := t.info.Branch(a.next.Branch); b.Head == a.next.ID {
			a.spare = t.heads[a.next.Branch]
			t.heads[a.next.Branch] = a.next
			a.next.count()
		}
	}
	if len(a.recents) > 0 {
		if hd := t.heads[a.branch]; hd != nil {
			hd.record(a.recents...)
		}
	}
	if a.claim != nil {
		a.claim.recorded = true
	}
}

// signEvery is how long entries of a thread go unsigned; the entries in
// between are covered by the next signature, since the chain runs through it.
const signEvery = time.Second

func (l *Core) signEntry(t *thread, e *Entry, a *appending) error {
	if l.opt.Signer == nil {
		return nil
	}
	recently := a.at.Sub(t.since) < signEvery && !a.at.Before(t.since)
	if !a.sign && (e.Seq == 1 || recently) {
		return nil
	}
	sig, err := l.opt.Signer.Sign(SignatureMessage(e.Hash))
	if err != nil {
		return &Error{Code: CodeReadOnly, Message: "the entry could not be signed", Hint: "check the signing key", Err: err}
	}
	e.Sig = JoinSignature(l.opt.Signer.KeyID(), sig)
	return nil
}

// encoder returns what encodes the entry's checkpoint against a parent, nil for a
// root. It takes the parent's parts over: if the append fails, the thread is
// forgotten.
func (a *appending) encoder(base *head, fresh bool) *encoder {
	e := &a.enc
	e.l, e.ctx, e.thread, e.seq, e.base, e.fresh = a.l, a.ctx, a.t.name, a.seq, base, fresh
	if base != nil {
		e.parts = base.parts
	}
	return e
}

// newHead returns an empty head, in memory that an earlier one had.
func (a *appending) newHead() *head {
	next := a.spare
	if next == nil {
		next = &head{}
	}
	a.spare = nil
	*next = head{}
	return next
}
