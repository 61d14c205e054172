package core

import (
	"context"
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// Get reads a checkpoint with its state, and calls the observer.
func (c *Core) Get(ctx context.Context, id posthouse.ID) (*posthouse.Checkpoint, error) {
	return c.loaded(c.ReadCheckpoint(ctx, id))
}

// GetOf reads the checkpoint of a header with its state, as [Core.Get] does.
func GetOf(ctx context.Context, c *Core, h *posthouse.Header) (*posthouse.Checkpoint, error) {
	return c.loaded(c.readCheckpoint(ctx, h.ID, posthouse.Ref{Thread: h.Thread, Seq: h.Seq}))
}

func (c *Core) loaded(found *posthouse.Checkpoint, err error) (*posthouse.Checkpoint, error) {
	if err == nil {
		c.Observe.Checkpoint(posthouse.OpLoaded, &found.Header)
	}
	return found, err
}

// ReadCheckpoint reads a checkpoint with its state.
func (c *Core) ReadCheckpoint(ctx context.Context, id posthouse.ID) (*posthouse.Checkpoint, error) {
	return c.readCheckpoint(ctx, id, posthouse.Ref{})
}

func (c *Core) readCheckpoint(ctx context.Context, id posthouse.ID, known posthouse.Ref) (found *posthouse.Checkpoint, err error) {
	if head := c.knownCheckpoint(id, known); head != nil {
		return head, nil
	}
	err = c.Logs.ReadFrom(ctx, id, known, func(r *threadlog.Reader, ref posthouse.Ref) error {
		r.Known = c.knownParts(ref.Thread, ref.Seq)
		b, err := r.Rebuild(ref.Seq)
		if err == nil && b.Header.ID != id {
			err = misplaced(id, ref, b.Header.ID)
		}
		if err != nil {
			return c.unlessGate(ctx, id, ref, err)
		}
		c.cacheHead(b)
		found, err = b.Checkpoint()
		return err
	})
	return found, err
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
	err = c.Logs.ReadFrom(ctx, id, known, func(r *threadlog.Reader, ref posthouse.Ref) error {
		e, err := r.Entry(ref.Seq, false)
		if err != nil {
			return err
		}
		rec, _, err := e.CheckpointRecord()
		if err != nil {
			return posthouse.NotFound("checkpoint", id)
		}
		h = rec.Checkpoint
		if h.ID != id {
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
	if _, e := c.Logs.Reader(ctx, ref.Thread).GateAt(id, ref.Seq); e == nil {
		return posthouse.NotFound("checkpoint", id)
	}
	if s, e := c.Logs.Reader(ctx, ref.Thread).Signal(ref.Seq); e == nil && s.ID == id {
		return posthouse.NotFound("checkpoint", id)
	}
	return err
}
