package limit

import "sync"

// Unread bounds the bytes that clients hold on to by not reading what is written to them.
// Each token has a share, so that one client cannot take the memory that others need. Of
// a token that has more, the write that waits longest is given up, and its connection with
// it; of all that have too much together, one of the token that has most, unless that is
// the new one: no token pays for another's.
type Unread struct {
	share, all int  // bytes
	free       bool // the name "" has no share of its own, but is one among all

	mu  sync.Mutex
	sum int
	of  map[string]*unread // by the token's name
}

type unread struct {
	sum    int
	writes []*write // the oldest first
}

type write struct {
	name string
	size int
	stop func()
}

// NewUnread returns the bounds for each token and for all together, in bytes. A single
// write may have more.
func NewUnread(share, all int) *Unread {
	return &Unread{share: share, all: all, of: map[string]*unread{}}
}

// Begin notes that so many bytes are being written to a client of the named token. stop
// gives the write up; it must not wait. Call end once the write has returned.
func (u *Unread) Begin(name string, size int, stop func()) (end func()) {
	w := u.open(name, stop)
	u.grow(w, size)
	return func() { u.end(w) }
}

// open notes a write without bytes, which must be ended.
func (u *Unread) open(name string, stop func()) *write {
	w := &write{name: name, stop: stop}
	u.mu.Lock()
	defer u.mu.Unlock()
	o := u.of[name]
	if o == nil {
		o = &unread{}
		u.of[name] = o
	}
	o.writes = append(o.writes, w)
	return w
}

// grow adds bytes to a write, unless it was given up.
func (u *Unread) grow(w *write, size int) {
	u.mu.Lock()
	o := u.of[w.name]
	if o == nil || !o.has(w) {
		u.mu.Unlock()
		return
	}
	w.size += size
	o.sum, u.sum = o.sum+size, u.sum+size
	var stopped []*write
	for (w.name != "" || !u.free) && o.sum > u.share && o.oldest(w) != nil {
		stopped = append(stopped, u.take(o.oldest(w)))
	}
	for u.sum > u.all {
		var most *unread
		for _, x := range u.of {
			if most == nil || x.sum > most.sum {
				most = x
			}
		}
		out := most.oldest(w)
		if out == nil {
			break // the newest of all is alone
		}
		stopped = append(stopped, u.take(out))
	}
	u.mu.Unlock()
	for _, s := range stopped {
		s.stop()
	}
}

func (o *unread) has(w *write) bool {
	for _, x := range o.writes {
		if x == w {
			return true
		}
	}
	return false
}

// oldest returns the write with bytes that waits longest, other than w; nil if there is no such write.
func (o *unread) oldest(w *write) *write {
	for _, x := range o.writes {
		if x != w && x.size > 0 {
			return x
		}
	}
	return nil
}

// end forgets a write.
func (u *Unread) end(w *write) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.take(w)
}

// take forgets a write, if it is still there. Callers hold u.mu.
func (u *Unread) take(w *write) *write {
	o := u.of[w.name]
	if o == nil {
		return w
	}
	for i, x := range o.writes {
		if x == w {
			o.writes = append(o.writes[:i:i], o.writes[i+1:]...)
			o.sum, u.sum = o.sum-w.size, u.sum-w.size
			break
		}
	}
	if len(o.writes) == 0 {
		delete(u.of, w.name)
	}
	return w
}
