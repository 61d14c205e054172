package core

import (
	"bytes"
)

// knownParts returns what this process knows of the parts of a head, or nil. It answers
// only while a run of this process has the thread: nobody else appends then. The caller
// owns the result.
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
func (c *Core) cacheHead(b *Rebuilt) {
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
		h = &Head{Header: *b.Header.Clone(), Parts: b.parts, manifest: b.manifest, age: b.age}
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
	c.mu.Lock()
	t := c.threads[thread]
	c.mu.Unlock()
	if t == nil || !t.mu.TryLock() {
		return nil
	}
	if t.gone || t.Claim == nil {
		t.mu.Unlock()
		return nil
	}
	return t
}
