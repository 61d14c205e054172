package posthouse

import "bytes"

// knownParts returns the values of parts that this process knows of the head at
// seq, while a run of it has the thread: nobody else appends then. They are the
// caller's own; nil for none.
func (l *Core) knownParts(thread string, seq uint64) map[string][]byte {
	t := l.running(thread)
	if t == nil {
		return nil
	}
	defer t.mu.Unlock()
	for _, h := range t.heads {
		if h.Seq != seq {
			continue
		}
		known := make(map[string][]byte, len(h.parts))
		for i := range h.parts {
			if p := &h.parts[i]; p.known {
				known[p.name] = bytes.Clone(p.data) // an append grows them in place
			}
		}
		return known
	}
	return nil
}

// learn keeps the values of a head that was read for the run that has its thread:
// the next commit is encoded against them, and the next run begins with them.
func (l *Core) learn(b *rebuilt) {
	t := l.running(b.header.Thread)
	if t == nil {
		return
	}
	defer l.unlock(t)
	if t.info == nil {
		return
	}
	if bh, ok := t.info.Branch(b.header.Branch); !ok || bh.Seq != b.header.Seq {
		return
	}
	h := t.heads[b.header.Branch]
	if h == nil {
		h = &head{Header: *b.header.clone(), parts: b.parts, manifest: b.manifest, age: b.age}
		for i := range h.parts {
			p := &h.parts[i]
			p.data, p.known = nil, false
		}
		t.heads[b.header.Branch] = h
	}
	for i := range h.parts {
		p := &h.parts[i]
		if v, ok := b.state[p.name]; ok && !p.known && len(v.Data) <= maxCached {
			p.data, p.known = bytes.Clone(v.Data), true
		}
	}
	h.count()
}

// running returns a thread that a run of this process has, locked; nil if there
// is none, or it is being written: its log can be read as well.
func (l *Core) running(thread string) *thread {
	l.mu.Lock()
	t := l.threads[thread]
	l.mu.Unlock()
	if t == nil || !t.mu.TryLock() {
		return nil
	}
	if t.gone || t.claim == nil {
		t.mu.Unlock()
		return nil
	}
	return t
}
