package core

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
)

// Get reads a checkpoint with its state, and calls the observer.
func (l *Core) Get(ctx context.Context, id posthouse.ID) (*posthouse.Checkpoint, error) {
	return l.loaded(l.ReadCheckpoint(ctx, id))
}

// GetOf reads the checkpoint of a header with its state, as [Core.Get] does.
func GetOf(ctx context.Context, l *Core, h *posthouse.Header) (*posthouse.Checkpoint, error) {
	return l.loaded(l.readCheckpoint(ctx, h.ID, posthouse.Ref{Thread: h.Thread, Seq: h.Seq}))
}

func (l *Core) loaded(c *posthouse.Checkpoint, err error) (*posthouse.Checkpoint, error) {
	if err == nil {
		l.Observe.Checkpoint(posthouse.OpLoaded, &c.Header)
	}
	return c, err
}

// ReadCheckpoint reads a checkpoint with its state.
func (l *Core) ReadCheckpoint(ctx context.Context, id posthouse.ID) (*posthouse.Checkpoint, error) {
	return l.readCheckpoint(ctx, id, posthouse.Ref{})
}

func (l *Core) readCheckpoint(ctx context.Context, id posthouse.ID, known posthouse.Ref) (c *posthouse.Checkpoint, err error) {
	if c := l.knownCheckpoint(id, known); c != nil {
		return c, nil
	}
	err = l.readFrom(ctx, id, known, func(r *Reader, ref posthouse.Ref) error {
		r.known = l.knownParts(ref.Thread, ref.Seq)
		b, err := r.Rebuild(ref.Seq)
		if err == nil && b.Header.ID != id {
			err = misplaced(id, ref, b.Header.ID)
		}
		if err != nil {
			return l.unlessGate(ctx, id, ref, err)
		}
		l.cacheHead(b)
		c, err = b.Checkpoint()
		return err
	})
	return c, err
}

// Find returns the place of a checkpoint, gate or signal by its id.
func (c *Core) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	if err := id.Validate(); err != nil {
		return posthouse.Ref{}, err
	}
	return c.Store.Find(ctx, id)
}

// ReadAt reads at an id's place. An error that looks like damage may be a removal or a
// replacement since the place was found: then it reads again.
func (c *Core) ReadAt(ctx context.Context, id posthouse.ID, read func(*Reader, posthouse.Ref) error) error {
	ref, err := c.Find(ctx, id)
	for err == nil {
		was := ref
		if err = read(c.Reader(ctx, ref.Thread), ref); !MayBeGone(err) {
			return err
		}
		damage := err
		if ref, err = c.Find(ctx, id); ref == was {
			return damage
		}
	}
	return err
}

// readFrom is [Core.ReadAt] for an id whose place may be known, which spares a call. If it cannot
// be read there, it is looked for.
func (c *Core) readFrom(ctx context.Context, id posthouse.ID, known posthouse.Ref, read func(*Reader, posthouse.Ref) error) error {
	if known.Seq != 0 && read(c.Reader(ctx, known.Thread), known) == nil {
		return nil
	}
	return c.ReadAt(ctx, id, read)
}

// MayBeGone reports whether a removal in the middle of a read may have caused an error:
// bodies are missing, or nothing opens them any more.
func MayBeGone(err error) bool {
	return errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrSealed)
}

// GetHeader reads a checkpoint without its state.
func (c *Core) GetHeader(ctx context.Context, id posthouse.ID) (*posthouse.Header, error) {
	return c.getHeader(ctx, id, posthouse.Ref{})
}

// HeadOf reads a branch's head, which a summary names, without its state.
func HeadOf(ctx context.Context, c *Core, in *posthouse.ThreadInfo, b posthouse.BranchHead) (*posthouse.Header, error) {
	if h := c.knownHeader(in, b); h != nil {
		return h, nil
	}
	return c.getHeader(ctx, b.Head, posthouse.Ref{Thread: in.Thread, Seq: b.Seq})
}

func (c *Core) getHeader(ctx context.Context, id posthouse.ID, known posthouse.Ref) (h *posthouse.Header, err error) {
	err = c.readFrom(ctx, id, known, func(r *Reader, ref posthouse.Ref) error {
		e, err := r.Entry(ref.Seq, false)
		if err != nil {
			return err
		}
		rec, _, err := e.checkpoint()
		if err != nil {
			return posthouse.NotFound("checkpoint", id)
		}
		if h = rec.Checkpoint; h.ID != id {
			return c.unlessGate(ctx, id, ref, misplaced(id, ref, h.ID))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

func misplaced(id posthouse.ID, ref posthouse.Ref, holds posthouse.ID) error {
	return posthouse.Corrupt("the index has %s at entry %d of thread %q, which holds %s", id, ref.Seq, ref.Thread, holds)
}

// unlessGate returns why a checkpoint could not be read, after a look whether the id is
// a gate's.
func (c *Core) unlessGate(ctx context.Context, id posthouse.ID, ref posthouse.Ref, err error) error {
	if _, e := c.Reader(ctx, ref.Thread).GateAt(id, ref.Seq); e == nil {
		return posthouse.NotFound("checkpoint", id)
	}
	if s, e := c.Reader(ctx, ref.Thread).Signal(ref.Seq); e == nil && s.ID == id {
		return posthouse.NotFound("checkpoint", id)
	}
	return err
}

// Summary returns a thread's summary, even if the thread has ended.
func (c *Core) Summary(ctx context.Context, thread string) (*posthouse.ThreadInfo, error) {
	if err := posthouse.ValidateName("thread", thread); err != nil {
		return nil, err
	}
	for t, err := range c.Store.Threads(ctx, posthouse.ThreadQuery{Thread: thread}) {
		return t, err
	}
	return nil, posthouse.NotFound("thread", thread)
}

// Thread returns the summary of an existing thread; see [Core.Summary].
func (c *Core) Thread(ctx context.Context, thread string) (*posthouse.ThreadInfo, error) {
	t, err := c.Summary(ctx, thread)
	if err == nil && t.Gone() {
		return nil, t.Absent()
	}
	return t, err
}
