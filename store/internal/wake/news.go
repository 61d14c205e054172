package wake

import "sync"

// News are told to all who wait for them. The zero value is ready.
type News struct {
	mu     sync.Mutex
	next   chan struct{} // closed at the next news; nil while no one waits
	closed bool
}

// Wait returns a channel that is closed at the next news, or when News is closed.
func (n *News) Wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
		if n.closed {
			close(n.next)
		}
	}
	return n.next
}

// Tell wakes all who wait.
func (n *News) Tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell()
}

// Close wakes all who wait, now and later. They then find the store closed.
func (n *News) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell()
	n.closed, n.next = true, nil
}

func (n *News) tell() {
	if n.next != nil && !n.closed {
		close(n.next)
		n.next = nil
	}
}
