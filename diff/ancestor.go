package diff

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// maxSources bounds how many forks back an ancestor is searched, because a checkpoint's
// source is not verified.
const maxSources = 1000

// ancestor returns the newest kept checkpoint from which a and b derive, "" if they
// share no ancestor. A fork or copy derives from its source.
func ancestor(ctx context.Context, l *core.Core, a, b *posthouse.Header) (posthouse.ID, error) {
	c := &ancestorWalk{l: l, ctx: ctx, readers: map[string]*threadlog.Reader{}, ahead: climbAhead}
	if a.Thread == b.Thread && a.Generation == b.Generation { // the sources of the thread may not matter
		if h, err := c.meet(a, b); err != nil || h != nil {
			return kept(h), err
		}
	}
	la, err := c.line(a)
	if err != nil {
		return "", err
	}
	lb, err := c.line(b)
	if err != nil {
		return "", err
	}
	for _, hb := range lb {
		for _, ha := range la {
			if ha.Thread != hb.Thread || ha.Generation != hb.Generation {
				continue
			}
			h, err := c.meet(ha, hb)
			if err != nil || h != nil {
				return kept(h), err
			}
		}
	}
	return "", nil
}

func kept(h *posthouse.Header) posthouse.ID {
	if h == nil {
		return ""
	}
	return h.ID
}

type ancestorWalk struct {
	l       *core.Core
	ctx     context.Context
	readers map[string]*threadlog.Reader
	ahead   uint64 // entries to read at once, which grows with the distance
}

// line returns a checkpoint, then the source of its ancestry, the source of that, and so
// on.
func (c *ancestorWalk) line(h *posthouse.Header) ([]*posthouse.Header, error) {
	out := []*posthouse.Header{h}
	seen := map[posthouse.ID]bool{h.ID: true}
	for len(out) < maxSources {
		s, err := c.source(out[len(out)-1])
		if err != nil || s == nil || seen[s.ID] {
			return out, err
		}
		src, err := c.l.GetHeader(c.ctx, s.ID)
		if errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, posthouse.ErrInvalid) {
			return out, nil // it was removed
		}
		if err != nil {
			return nil, err
		}
		seen[src.ID] = true
		out = append(out, src)
	}
	return out, nil
}

// source returns the source of the nearest ancestor that was copied or forked from another
// thread, or of the root.
func (c *ancestorWalk) source(h *posthouse.Header) (*posthouse.Source, error) {
	for h.ParentSeq != 0 && (h.Source == nil || h.Source.Thread == h.Thread) {
		p, err := c.parent(h)
		if err != nil {
			return nil, err
		}
		h = p
	}
	return h.Source, nil
}

// How many entries are read at once, at first and at most.
const (
	climbAhead    = 64
	maxClimbAhead = 1024
)

func (c *ancestorWalk) parent(h *posthouse.Header) (*posthouse.Header, error) {
	r := c.readers[h.Thread]
	if r == nil {
		r = c.l.Logs.Reader(c.ctx, h.Thread)
		c.readers[h.Thread] = r
	}
	if r.Have[h.ParentSeq] == nil {
		if len(r.Have) > threadlog.KeepEntries {
			clear(r.Have)
		}
		from := h.ParentSeq - min(h.ParentSeq-1, c.ahead)
		c.ahead = min(2*c.ahead, maxClimbAhead)
		if err := r.Fetch(posthouse.Range{From: from, To: h.ParentSeq, Headers: true}); err != nil {
			return nil, err
		}
	}
	return r.Header(h.ParentSeq)
}

// meet follows two checkpoints of one generation to their newest kept common ancestor,
// always from the later one. It returns nil if they share no ancestor.
func (c *ancestorWalk) meet(a, b *posthouse.Header) (*posthouse.Header, error) {
	for {
		if a.Seq < b.Seq {
			a, b = b, a
		}
		same := a.Seq == b.Seq
		if same {
			ref, err := c.l.Store.Find(c.ctx, a.ID)
			if err == nil && ref == (posthouse.Ref{Thread: a.Thread, Seq: a.Seq}) {
				return a, nil
			}
			if err != nil && !errors.Is(err, posthouse.ErrNotFound) {
				return nil, err
			}
		}
		if a.ParentSeq == 0 {
			return nil, nil
		}
		var err error
		a, err = c.parent(a)
		if err != nil {
			return nil, err
		}
		if same {
			b = a
		}
	}
}
