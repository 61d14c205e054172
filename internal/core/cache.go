package core

import (
	"container/list"
	"slices"

	"github.com/posthouse/posthouse"
)

// Lock returns what is known of a thread, locked for one caller. See [Core.Unlock].
func (c *Core) Lock(name string) (*Thread, error) {
	for {
		t, err := c.thread(name)
		if err != nil {
			return nil, err
		}
		t.mu.Lock()
		if !t.evicted {
			return t, nil
		}
		t.mu.Unlock() // let go since: there may be another by now
	}
}

// Unlock gives back a thread that [Core.Lock] returned, and counts what it holds.
func (c *Core) Unlock(t *Thread) {
	size := 0
	for _, h := range t.Heads {
		size += h.cached
	}
	for _, u := range t.unfinished {
		size += u.Size()
	}
	if t.lastGateEntry != nil {
		if t.Info == nil || !slices.ContainsFunc(t.Info.Waiting, func(w posthouse.WaitingGate) bool { return w.Seq == t.lastGateEntry.Seq }) {
			t.lastGateEntry = nil
		} else {
			size += t.lastGateEntry.Bytes()
		}
	}
	held := t.Claim != nil
	if size == t.counted && held == t.held {
		t.mu.Unlock()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads[t.Name] == t { // else the Ledger was closed
		c.cached += size - t.counted
		t.counted = size
		if held != t.held {
			c.listOf(t).Remove(t.element)
			t.held = held
			t.element = c.listOf(t).PushFront(t)
		}
	}
	t.mu.Unlock()
	c.evict(maxThreads, maxMemory)
}

// listOf returns the list that a thread is in. Callers hold c.mu.
func (c *Core) listOf(t *Thread) *list.List {
	if t.held {
		return c.held
	}
	return c.idle
}

// thread returns what is known of a thread. A name is checked before it becomes known.
func (c *Core) thread(name string) (*Thread, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.threads[name]; t != nil {
		c.listOf(t).MoveToFront(t.element)
		return t, nil
	}
	if err := posthouse.CheckThread("thread", name); err != nil {
		return nil, err
	}
	if c.closed {
		return nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "the ledger is closed"}
	}
	c.evict(maxThreads-1, maxMemory)
	t := &Thread{Name: name}
	t.element = c.idle.PushFront(t)
	c.threads[name] = t
	return t, nil
}

// maxPassed bounds the threads in use that are passed over to evict one.
const maxPassed = 16

// evict drops the least recently used idle threads, down to a number of threads and of
// bytes. Then, for the bytes, it drops what held threads keep of states and results. It
// passes over threads in use. Its cost grows with what it drops. Callers hold c.mu.
func (c *Core) evict(threads, bytes int) {
	for passed := 0; passed < maxPassed && c.idle.Len() > 0 && (c.idle.Len() > threads || c.cached > bytes); {
		t := c.idle.Back().Value.(*Thread)
		if !t.mu.TryLock() {
			c.idle.MoveToFront(t.element)
			passed++
			continue
		}
		if t.Claim == nil {
			t.Invalidate()
			t.unfinished, t.evicted = nil, true
			delete(c.threads, t.Name)
			c.idle.Remove(t.element)
			c.uncount(t)
		} else { // claimed this moment: its unlock moves it
			c.idle.MoveToFront(t.element)
			passed++
		}
		t.mu.Unlock()
	}
	for n := 0; n < maxPassed && c.held.Len() > 0 && c.cached > bytes; n++ {
		t := c.held.Back().Value.(*Thread)
		if t.mu.TryLock() {
			if t.Heads != nil {
				t.Heads = map[string]*Head{}
			}
			t.unfinished, t.lastGateEntry = nil, nil
			c.uncount(t)
			t.mu.Unlock()
		}
		c.held.MoveToFront(t.element)
	}
}

func (c *Core) uncount(t *Thread) {
	c.cached -= t.counted
	t.counted = 0
}
