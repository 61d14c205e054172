package threadlog

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/encryption"
)

// Logs are the logs of a store's threads, to be read.
type Logs struct {
	Store posthouse.Store
	Vault *encryption.Vault // opens bodies

	people  atomic.Pointer[posthouse.People]
	putBack atomic.Pointer[storePutBack]
}

// A storePutBack says that the store was put back to an earlier state, and when.
type storePutBack struct{ at, to time.Time }

// KnowPutBack has all gates that are read from now on say whether they were asked before the store was
// put back, at a time, to another.
func (l *Logs) KnowPutBack(at, to time.Time) { l.putBack.Store(&storePutBack{at, to}) }

// Know has all gates that are read from now on say which names are one person's.
func (l *Logs) Know(p posthouse.People) { l.people.Store(&p) }

// known reads a gate, and says what is known of it beside its record.
func (l *Logs) known(e *posthouse.Entry, rec *posthouse.Record, body []byte) (*posthouse.Gate, error) {
	g, err := posthouse.ReadGateBody(e, rec, body)
	if err != nil {
		return nil, err
	}
	g.Record.Signed = len(e.Sig) > 0
	g.Record.AnswerSigned = g.Record.Signed // until an entry with an answer follows
	if p := l.people.Load(); p != nil {
		g.Record.People = *p
	}
	if p := l.putBack.Load(); p != nil && g.CreatedAt.Before(p.at) {
		g.PutBack = p.to
	}
	return g, nil
}

// Find returns the place of a checkpoint, gate or signal by its id.
func (l *Logs) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	if err := id.Validate(); err != nil {
		return posthouse.Ref{}, err
	}
	return l.Store.Find(ctx, id)
}

// ReadAt reads at an id's place. An error that looks like damage may be a removal or a
// replacement since the place was found: then it reads again.
func (l *Logs) ReadAt(ctx context.Context, id posthouse.ID, read func(*Reader, posthouse.Ref) error) error {
	ref, err := l.Find(ctx, id)
	for err == nil {
		was := ref
		err = read(l.Reader(ctx, ref.Thread), ref)
		if !MayBeGone(err) {
			return err
		}
		damage := err
		ref, err = l.Find(ctx, id)
		if ref == was {
			return damage
		}
	}
	return err
}

// ReadFrom is [Logs.ReadAt] for an id with a place that may be known, which spares a call. If it cannot
// be read there, it is looked for.
func (l *Logs) ReadFrom(ctx context.Context, id posthouse.ID, known posthouse.Ref, read func(*Reader, posthouse.Ref) error) error {
	if known.Seq != 0 && read(l.Reader(ctx, known.Thread), known) == nil {
		return nil
	}
	return l.ReadAt(ctx, id, read)
}

// MayBeGone reports whether a removal in the middle of a read may have caused an error:
// bodies are missing, or nothing opens them any more.
func MayBeGone(err error) bool {
	return errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrSealed)
}

// Summary returns a thread's summary, even if the thread has ended.
func (l *Logs) Summary(ctx context.Context, thread string) (*posthouse.ThreadInfo, error) {
	if err := posthouse.ValidateName("thread", thread); err != nil {
		return nil, err
	}
	for t, err := range l.Store.Threads(ctx, posthouse.ThreadQuery{Thread: thread}) {
		return t, err
	}
	return nil, posthouse.NotFound("thread", thread)
}

// Thread returns the summary of an existing thread; see [Logs.Summary].
func (l *Logs) Thread(ctx context.Context, thread string) (*posthouse.ThreadInfo, error) {
	t, err := l.Summary(ctx, thread)
	if err == nil && t.Gone() {
		return nil, t.Absent()
	}
	return t, err
}
