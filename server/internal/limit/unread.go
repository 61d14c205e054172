package limit

import "sync"

// Unread bounds the bytes that clients hold on to by not reading what is written to them.
// Each token has a share, so that one client cannot take the memory that others need. Of
// a token that has more, the write that waits longest is given up, and its connection with
// it; of all that have too much together, one of the token that has most, unless that is
// the new one: no token pays for another's.
type Unread struct {
	share, all int // bytes

	mu  sync.Mutex
	sum int
	of  map[string]*unread // by the token's name
}

type unread struct {
	sum    int
	writes []*write // the oldest first
}

type write struct {
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
	w := &write{size, stop}
	u.mu.Lock()
	o := u.of[name]
	if o == nil {
		o = &unread{}
		u.of[name] = o
	}
	o.writes = append(o.writes, w)
	o.sum, u.sum = o.sum+size, u.sum+size
	var stopped []*write
	for o.sum > u.share && len(o.writes) > 1 {
		stopped = append(stopped, u.take(name, o, o.writes[0]))
	}
	for u.sum > u.all {
		name, most := "", (*unread)(nil)
		for n, x := range u.of {
			if most == nil || x.sum > most.sum {
				name, most = n, x
			}
		}
		if most.writes[0] == w {
			break // the newest of all is alone
		}
		stopped = append(stopped, u.take(name, most, most.writes[0]))
	}
	u.mu.Unlock()
	for _, s := range stopped {
		s.stop()
	}
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if o := u.of[name]; o != nil {
			u.take(name, o, w)
		}
	}
}

// take forgets a write, if it is still there. Callers hold u.mu.
func (u *Unread) take(name string, o *unread, w *write) *write {
	for i, x := range o.writes {
		if x == w {
			o.writes = append(o.writes[:i:i], o.writes[i+1:]...)
			o.sum, u.sum = o.sum-w.size, u.sum-w.size
			break
		}
	}
	if len(o.writes) == 0 {
		delete(u.of, name)
	}
	return w
}
