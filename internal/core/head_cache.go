package core

import (
	"bytes"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// knownHeader returns a branch's head without its state, or nil if this process does not have
// it. The summary says that the log ends where this process knows it to, by its hash.
func (c *Core) knownHeader(in *posthouse.ThreadInfo, b posthouse.BranchHead) *posthouse.Header {
	t := c.lockKnown(in.Thread)
	if t == nil {
		return nil
	}
	defer t.mu.Unlock()
	if h := t.Heads[b.Branch]; h != nil && h.ID == b.Head && h.Seq == b.Seq && t.Info != nil && t.Info.Tail == in.Tail {
		return h.asRead()
	}
	return nil
}

// asRead returns a copy of the header as it would be read.
func (h *Head) asRead() *posthouse.Header {
	c := h.Header.Clone()
	c.CreatedAt = c.CreatedAt.Round(0)
	if len(c.Labels) == 0 {
		c.Labels = nil
	}
	if len(c.Next) == 0 {
		c.Next = nil
	}
	return c
}

// knownCheckpoint returns a head with its state, or nil unless this process knows all of it. It
// answers as [Core.knownParts] does.
func (c *Core) knownCheckpoint(id posthouse.ID, at posthouse.Ref) *posthouse.Checkpoint {
	t := c.lockClaimed(at.Thread)
	if t == nil {
		return nil
	}
	defer t.mu.Unlock()
	for _, h := range t.Heads {
		if h.Seq == at.Seq && h.ID == id {
			return h.checkpoint()
		}
	}
	return nil
}

// checkpoint returns the head as it would be read, or nil if a part's value is not known.
func (h *Head) checkpoint() *posthouse.Checkpoint {
	b := threadlog.Rebuilt{Header: *h.asRead(), State: make(posthouse.State, len(h.Parts))}
	for i := range h.Parts {
		p := &h.Parts[i]
		if !p.Known {
			return nil
		}
		b.State[p.Name] = posthouse.Value{Codec: p.Codec, Data: p.Data}
	}
	c, err := b.Checkpoint()
	if err != nil {
		return nil // reading it says more
	}
	return c
}

// knownParts returns what this process knows of the parts of a head, or nil. It answers
// only while a run of this process has the thread: no other process appends then. The
// caller owns the result.
func (c *Core) knownParts(thread string, seq uint64) map[string][]byte {
	t := c.lockClaimed(thread)
	if t == nil {
		return nil
	}
	defer t.mu.Unlock()
	for _, h := range t.Heads {
		if h.Seq != seq {
			continue
		}
		known := make(map[string][]byte, len(h.Parts))
		for i := range h.Parts {
			if p := &h.Parts[i]; p.Known {
				known[p.Name] = bytes.Clone(p.Data) // an append grows them in place
			}
		}
		return known
	}
	return nil
}

// cacheHead keeps the values of a head that the thread's run has read. The next commit
// is encoded against them, and the next run begins with them.
func (c *Core) cacheHead(b *threadlog.Rebuilt) {
	t := c.lockClaimed(b.Header.Thread)
	if t == nil {
		return
	}
	defer c.Unlock(t)
	if t.Info == nil {
		return
	}
	if bh, ok := t.Info.Branch(b.Header.Branch); !ok || bh.Seq != b.Header.Seq {
		return
	}
	h := t.Heads[b.Header.Branch]
	if h == nil {
		h = &Head{Header: *b.Header.Clone(), Parts: b.Parts, manifest: b.Manifest, age: b.Age}
		for i := range h.Parts {
			p := &h.Parts[i]
			p.Data, p.Known = nil, false
		}
		t.Heads[b.Header.Branch] = h
	}
	for i := range h.Parts {
		p := &h.Parts[i]
		if v, ok := b.State[p.Name]; ok && !p.Known && len(v.Data) <= maxCached {
			p.Data, p.Known = bytes.Clone(v.Data), true
		}
	}
	h.count()
}

// lockClaimed locks and returns a thread that a run of this process has. It returns nil
// if there is no such run, or the thread is being written: callers then read the log.
func (c *Core) lockClaimed(thread string) *Thread {
	t := c.lockKnown(thread)
	if t != nil && t.Claim == nil {
		t.mu.Unlock()
		return nil
	}
	return t
}

// lockKnown locks and returns a thread that this process knows of, or nil if it does not, or the
// thread is being written.
func (c *Core) lockKnown(thread string) *Thread {
	c.mu.Lock()
	t := c.threads[thread]
	c.mu.Unlock()
	if t == nil || !t.mu.TryLock() {
		return nil
	}
	if t.evicted {
		t.mu.Unlock()
		return nil
	}
	return t
}
