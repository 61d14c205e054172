package core

import (
	"container/list"
	"slices"

	"github.com/posthouse/posthouse"
)

// Lock returns what is known of a thread, for one caller at a time. The caller
// unlocks it.
func (l *Core) Lock(name string) (*Thread, error) {
	for {
		t, err := l.thread(name)
		if err != nil {
			return nil, err
		}
		t.mu.Lock()
		if !t.gone {
			return t, nil
		}
		t.mu.Unlock() // let go since: there may be another by now
	}
}

func (l *Core) Unlock(t *Thread) {
	size := 0
	for _, h := range t.Heads {
		size += h.cached
	}
	if t.asks != nil {
		if t.Info == nil || !slices.ContainsFunc(t.Info.Waiting, func(w posthouse.WaitingGate) bool { return w.Seq == t.asks.Seq }) {
			t.asks = nil
		} else {
			size += t.asks.size()
		}
	}
	held := t.Claim != nil
	if size == t.counted && held == t.held {
		t.mu.Unlock()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.threads[t.Name] == t { // else the Ledger was closed
		l.cached += size - t.counted
		t.counted = size
		if held != t.held {
			l.list(t).Remove(t.place)
			t.held = held
			t.place = l.list(t).PushFront(t)
		}
	}
	t.mu.Unlock()
	l.evict(maxThreads, maxMemory)
}

// list returns the list that a thread is in. Callers hold l.mu.
func (l *Core) list(t *Thread) *list.List {
	if t.held {
		return l.held
	}
	return l.idle
}

func (l *Core) thread(name string) (*Thread, error) {
	if err := posthouse.ValidateName("thread", name); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "the ledger is closed"}
	}
	if t := l.threads[name]; t != nil {
		l.list(t).MoveToFront(t.place)
		return t, nil
	}
	l.evict(maxThreads-1, maxMemory)
	t := &Thread{Name: name}
	t.place = l.idle.PushFront(t)
	l.threads[name] = t
	return t, nil
}

// maxPassed bounds the threads in use that are passed over to let one go.
const maxPassed = 16

// evict drops the idle threads that were not used for longest, until there are
// so many and all hold so many bytes; then, for the bytes, what the held threads
// keep of states and results. Threads in use are passed over. It takes the time
// of what it drops. Callers hold l.mu.
func (l *Core) evict(threads, bytes int) {
	for passed := 0; passed < maxPassed && l.idle.Len() > 0 && (l.idle.Len() > threads || l.cached > bytes); {
		t := l.idle.Back().Value.(*Thread)
		if !t.mu.TryLock() {
			l.idle.MoveToFront(t.place)
			passed++
			continue
		}
		if t.Claim == nil {
			t.Invalidate()
			t.gone = true
			delete(l.threads, t.Name)
			l.idle.Remove(t.place)
			l.drop(t)
		} else { // claimed this moment: its unlock moves it
			l.idle.MoveToFront(t.place)
			passed++
		}
		t.mu.Unlock()
	}
	for n := 0; n < maxPassed && l.held.Len() > 0 && l.cached > bytes; n++ {
		t := l.held.Back().Value.(*Thread)
		if t.mu.TryLock() {
			if t.Heads != nil {
				t.Heads = map[string]*Head{}
			}
			t.asks = nil
			l.drop(t)
			t.mu.Unlock()
		}
		l.held.MoveToFront(t.place)
	}
}

// drop counts the bytes of a thread no more.
func (l *Core) drop(t *Thread) {
	l.cached -= t.counted
	t.counted = 0
}
